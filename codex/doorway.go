package codex

import (
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/codex/proxy"
)

// doorway opens the doors of the commands that reach hosts or services.
type doorway struct {
	*core
	doors   door.Doors
	proxies []*proxy.Proxy
	silent  sync.Map // the ports of services that did not answer
}

// open makes the proxies of the networks, writes their certificate, and begins to open doors.
func (d *doorway) open() error {
	if !d.o.hasDoors() {
		return nil
	}
	authority, err := proxy.NewAuthority()
	if err == nil {
		// The files exist, so that the profile can name them. They are the session's own.
		err = os.WriteFile(d.o.Certificates, authority.PEM(), 0o600)
	}
	if err == nil {
		err = os.WriteFile(trustStorePath(d.o.Certificates), authority.TrustStore(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the certificate of the proxy: %w", err)
	}
	networks := map[string]map[int]door.Behind{}
	for name, network := range d.o.networks() {
		value := d.o.variables(name)[door.Variable]
		if value == "" {
			continue
		}
		behind := d.bridges()
		networks[value] = behind
		if network.hasHosts() {
			p := proxy.New(proxy.Rules(network), authority, d.o.Roots)
			d.proxies, behind[door.Port] = append(d.proxies, p), p.Serve
		}
	}
	d.doors = door.Doors{
		Dir: d.o.Bubblewrap.Dir, Self: d.o.Bubblewrap.self, Networks: networks,
		Refused: func(network, command, host string) {
			if network == withHosts {
				e := Event{Kind: Notification, Summary: "a command was refused the host " + host, Blocked: []Blocked{{Host: host, Command: command}}}
				d.emit(e)
			}
		},
		Failed: func(err error) { d.warn("a command reaches no hosts and no services: " + err.Error()) },
	}
	if err := d.doors.Open(); err != nil {
		return fmt.Errorf("%w: commands reach no hosts and no services: %w", ErrNoSandbox, err)
	}
	return nil
}

// bridges returns the servers of the services by their ports.
func (d *doorway) bridges() map[int]door.Behind {
	all := map[int]door.Behind{}
	for _, port := range d.o.Services {
		all[port] = func(l net.Listener, _ func(string)) {
			proxy.Bridge(l, port, func() {
				if _, said := d.silent.LoadOrStore(port, true); !said {
					d.warn(fmt.Sprintf("the service localhost:%d does not answer", port))
				}
			})
		}
	}
	return all
}

func (d *doorway) close() {
	_ = d.doors.Close() // its folder is removed with the session
	for _, p := range d.proxies {
		p.Close()
	}
}
