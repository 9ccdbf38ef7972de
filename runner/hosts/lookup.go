package hosts

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/symphony-runner/symphony/codex/proxy"
	"github.com/symphony-runner/symphony/internal/parallel"
)

// Lookup returns the addresses of a host.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// SystemLookup asks the resolver of this machine.
func SystemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// The bounds of a check.
const (
	lookupTime = 5 * time.Second
	lookups    = 8 // lookups at once
)

// Refusal is a host whose addresses the sandbox does not let commands reach.
type Refusal struct {
	Host    string
	Address netip.Addr
	Own     bool // it is this machine, or a service of its network that answers it alone
}

// Reason returns the reason why the host is refused, with a remedy. private is the key that allows
// private addresses; empty for none.
func (r Refusal) Reason(private string) string {
	if r.Own {
		return r.Host + " is " + r.Address.String() + ", this machine or a service of its own: every port of it would be open; remove it"
	}
	remedy := "remove it"
	if private != "" {
		remedy = "write `" + private + ": true` if it is a mirror of yours, or remove it"
	}
	return r.Host + " is " + r.Address.String() + ", an address that is not public, which the sandbox refuses: " + remedy
}

// Check looks hosts up and returns those that are this machine, and, unless private is set,
// those that have an address which is not public. A host that cannot be looked up is passed
// over: it may be known to the machine that runs the sessions.
func (l Lookup) Check(ctx context.Context, hosts []string, private bool) []Refusal {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found := make([]Refusal, len(hosts))
	_ = parallel.Each(ctx, lookups, hosts, func(ctx context.Context, i int, host string) error {
		addresses, _ := l(ctx, host) // none for a host that is not known
		for _, a := range addresses {
			if own := isOwn(a.Unmap()); own || !private && !proxy.IsPublic(a) {
				found[i] = Refusal{Host: host, Address: a.Unmap(), Own: own}
				break
			}
		}
		return nil
	})
	var refused []Refusal
	for _, r := range found {
		if r != (Refusal{}) {
			refused = append(refused, r)
		}
	}
	return refused
}

// isOwn reports whether an address is the machine itself, or one that is valid on its link
// alone, such as the address of a cloud's metadata.
func isOwn(a netip.Addr) bool {
	return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsMulticast()
}
