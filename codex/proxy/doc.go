// Package proxy is the HTTP proxy by which commands in a sandbox reach named hosts. A command has
// a network namespace of its own; a listener in it is the only way out, and [Proxy.Serve] answers
// there. The commands are hostile. The proxy runs in the trusted process, so it reads what they
// send with the servers of package net/http alone, and within bounds.
//
// # Hosts
//
// A command names a host by CONNECT, or by a request for a URL of http. The name must be exactly
// one of [Rules].Hosts; only the case of ASCII letters is ignored. So no address passes, no dot at
// the end, and no other spelling. Every port of a named host is open. Any other host is answered
// with 403 and reported. What follows, in the tunnel too, can only go to that host: the proxy
// dials the name of the rules, and never a name out of the request.
//
// # Limited and full
//
// In the limited mode the proxy ends TLS with a certificate of [Authority] for that host, reads
// each request, and sends GET, HEAD and OPTIONS on, without a body. The request must name the host
// of the tunnel, and so must the server name in TLS. No connection changes its protocol: Upgrade
// is removed, and an answer 101 becomes 502. Answers before the final one are dropped. The
// certificate of the host itself is verified. A command can still send text to a named host, in
// the path of a GET; that is why a person names the hosts.
//
// In the full mode a CONNECT becomes a tunnel that nobody reads, and every method passes.
//
// Connections to a host are kept and shared by all commands of one [Proxy]; that is what makes it
// fast. They speak HTTP/1, as do the tunnels that are read: the program is released without HTTP/2.
// Headers pass as they are, apart from those that concern one connection, Proxy-*, Forwarded, and
// X-Forwarded-For, -Host and -Proto. Bodies of answers pass as the host has encoded them.
//
// # Addresses
//
// A named host may resolve to any address, and to another one each time. So the address is
// checked where it is dialed. It must be public, see [IsPublic]. With [Rules].Private, which is
// for a company's mirror, it must not be link-local, where clouds have their metadata, nor
// multicast or unspecified; loopback is allowed.
//
// If the operator has a proxy, by the usual variables of the environment, it is asked for the
// connections, and its own address is not checked. It resolves the names, so a name is refused
// here only if it resolves to an address that is not public.
//
// # Services
//
// [Bridge] is no proxy: it connects a command to one port of this machine's loopback, whatever it
// sends.
package proxy
