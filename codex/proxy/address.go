package proxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// reserved are the networks that are not public besides those that package netip knows.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("fec0::/10"),
}

// The networks of IPv6 addresses that stand for an IPv4 address.
var (
	translated = netip.MustParsePrefix("64:ff9b::/96") // a gateway turns them into the last four bytes
	relayed    = netip.MustParsePrefix("2002::/16")    // the next four bytes are the address of the relay
)

// ipv4 returns the IPv4 address that an address stands for; other addresses as they are.
func ipv4(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	bytes := a.As16()
	switch {
	case translated.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[12:]))
	case relayed.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	return a
}

// IsPublic reports whether an address can be reached from everywhere. The proxy refuses to dial
// any other one, unless [Rules].Private is set.
func IsPublic(a netip.Addr) bool {
	a = ipv4(a)
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isNowhere reports whether an address is none of a host, or of one on its own link alone, such
// as a cloud's metadata.
func isNowhere(a netip.Addr) bool {
	a = ipv4(a)
	return a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast()
}

// addressError is an address that a host has and that the rules refuse.
type addressError struct {
	address netip.Addr
	private bool // Rules.Private
}

func (e *addressError) Error() string {
	if e.private {
		return fmt.Sprintf("its address %s is link-local, multicast or unspecified: remove the host from the key network in WORKFLOW.md", e.address)
	}
	return fmt.Sprintf("its address %s is not public: if it is a mirror of yours, write network_private: true beside the key network in WORKFLOW.md", e.address)
}

// check returns an error if the rules refuse an address.
func (u *upstream) check(a netip.Addr) error {
	if u.private && !isNowhere(a) || !u.private && IsPublic(a) {
		return nil
	}
	return &addressError{a.Unmap(), u.private}
}

// control returns an error if the rules refuse an address that is about to be dialed.
func (u *upstream) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return u.check(a.Addr())
}
