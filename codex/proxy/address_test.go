package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"8.8.8.8", "1.0.0.1", "100.128.0.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700::1", "64:ff9b::8.8.8.8", "2002:808:808::1"} {
		if !IsPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%eth0", "2001:db8::1%eth0",
		"fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
	} {
		if IsPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	if IsPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// resolving has all names resolve to addresses.
func resolving(texts ...string) func(*upstream) {
	var addresses []netip.Addr
	for _, text := range texts {
		addresses = append(addresses, netip.MustParseAddr(text))
	}
	return func(u *upstream) { u.resolver = resolver(func() []netip.Addr { return addresses }) }
}

func TestAddressesAreCheckedWhereTheyAreDialed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	for _, isPrivate := range []bool{false, true} {
		refused := []string{"127.0.0.1", "10.1.2.3", "::1", "fd00::1", "192.0.2.1"}
		why := "is not public: if it is a mirror of yours, write network_private: true beside the key network in WORKFLOW.md\n"
		if isPrivate {
			refused = []string{"169.254.169.254", "0.0.0.0", "224.0.0.1", "::", "fe80::1", "ff02::1", "64:ff9b::a9fe:a9fe"}
			why = "is link-local, multicast or unspecified: remove the host from the key network in WORKFLOW.md\n"
		}
		for _, address := range refused {
			for _, full := range []bool{false, true} {
				s := serve(t, Rules{Hosts: []string{host}, Private: isPrivate, Full: full}, nil, resolving(address))
				want := "403 symphony: the host registry.example is refused: its address " + address + " " + why
				if got := get(s.client(false), "GET", o.url("/")); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				if full {
					if got := ask(s.dial(), "CONNECT "+host+":"+o.port()+" HTTP/1.1\r\nHost: x\r\n\r\n"); got != want {
						t.Errorf("%q, want %q", got, want)
					}
				}
				if reported := s.refusedHosts(); reported != nil {
					t.Errorf("reported: %q", reported)
				}
			}
		}
	}
}

// TestANameThatChangesItsAddressIsRefused has a name whose address is public when it is looked up,
// and this machine when it is dialed.
func TestANameThatChangesItsAddressIsRefused(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello)
	var now atomic.Pointer[netip.Addr]
	public := netip.MustParseAddr("8.8.8.8")
	now.Store(&public)
	s := serve(t, Rules{Hosts: []string{host}}, nil, func(u *upstream) {
		u.resolver = resolver(func() []netip.Addr { return []netip.Addr{*now.Load()} })
	})
	if err := s.upstream.checkName(t.Context(), host); err != nil {
		t.Error(err)
	}
	now.Store(&loopback)
	if got := get(s.client(false), "GET", o.url("/")); !strings.HasPrefix(got, "403 ") || o.connections.Load() > 0 {
		t.Errorf("%q; %d connections", got, o.connections.Load())
	}
}

// operator is a proxy of the test that stands in for the operator's. It leads everything to one
// server.
type operator struct {
	*httptest.Server
	asked atomic.Pointer[string] // the last request: method, host and credentials
}

func newOperator(t *testing.T, encrypted bool, to string) *operator {
	t.Helper()
	p := &operator{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := fmt.Sprint(r.Method, " ", r.Host, " ", r.Header.Get("Proxy-Authorization"))
		p.asked.Store(&said)
		if r.Method != http.MethodConnect {
			fmt.Fprint(w, "hello from the proxy")
			return
		}
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		if c := accept(w, "", ""); c != nil {
			join(t.Context(), c, out)
		}
	}))
	if encrypted {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Listener.Close()
	})
	return p
}

// TestTheProxyOfTheOperatorIsAsked has a name that is not known here, or is public, or not.
func TestTheProxyOfTheOperatorIsAsked(t *testing.T) {
	t.Parallel()
	clear, encrypted := newOrigin(t, hello), newOrigin(t, hello, "h2")
	for name, test := range map[string]struct {
		addresses []string
		private   bool
		refused   bool
	}{
		"unknown":          {},
		"public":           {addresses: []string{"8.8.8.8", "2606:4700::1"}},
		"not public":       {addresses: []string{"8.8.8.8", "10.0.0.1"}, refused: true},
		"private, allowed": {addresses: []string{"10.0.0.1"}, private: true},
	} {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprint(name, full), func(t *testing.T) {
				t.Parallel()
				p := newOperator(t, false, encrypted.Listener.Addr().String())
				at, _ := url.Parse("http://name:pass@" + p.Listener.Addr().String())
				s := serve(t, Rules{Hosts: []string{host}, Private: test.private, Full: full}, encrypted.roots, resolving(test.addresses...),
					func(u *upstream) { u.operator = func(*http.Request) (*url.URL, error) { return at, nil } })
				client := s.client(true)
				if full {
					client.Transport.(*http.Transport).TLSClientConfig.RootCAs = encrypted.roots
				}
				for _, request := range []struct {
					origin       *origin
					answer, asks string
				}{{clear, "200 hello from the proxy", "GET"}, {encrypted, "200 hello from the host", "CONNECT"}} {
					p.asked.Store(nil)
					got := get(client, "GET", request.origin.url("/"))
					asked := p.asked.Load()
					if test.refused {
						if !strings.HasPrefix(got, "403 ") && !strings.HasSuffix(got, "Forbidden") || asked != nil {
							t.Errorf("%s: %q; the proxy was asked %v", request.asks, got, asked)
						}
						continue
					}
					if want := request.asks + " " + host + ":" + request.origin.port() + " Basic bmFtZTpwYXNz"; got != request.answer || asked == nil || *asked != want {
						t.Errorf("%s: %q; the proxy was asked %v, want %s", request.asks, got, asked, want)
					}
				}
			})
		}
	}
}

func TestAProxyOfTheOperatorThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello, "h2")
	plain, encrypted := newOperator(t, false, o.Listener.Addr().String()), newOperator(t, true, o.Listener.Addr().String())
	roots := o.roots
	roots.AddCert(encrypted.Certificate())
	for at, want := range map[string]string{
		"http://" + plain.Listener.Addr().String():                "502 symphony: the host registry.example gives no answer: the proxy of this machine answers 407 Proxy Authentication Required\n",
		"https://a:b@" + encrypted.Listener.Addr().String():       "200 ",
		"socks5://" + plain.Listener.Addr().String():              "502 symphony: the host registry.example gives no answer: the proxy of this machine has the scheme \"socks5\": give it one of http or https\n",
		"http://a:b@" + strings.Replace(o.URL, "https://", "", 1): "502 ",
	} {
		parsed, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, Rules{Hosts: []string{host}, Private: true, Full: true}, roots, func(u *upstream) { u.operator = func(*http.Request) (*url.URL, error) { return parsed, nil } })
		if got := ask(s.dial(), "CONNECT "+host+":"+o.port()+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}
