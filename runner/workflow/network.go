package workflow

import (
	"runtime"
)

// checkNetworks records a problem for hosts and services that no sandbox holds commands to.
func (d *decoder) checkNetworks() {
	s := &d.settings
	for _, n := range []struct {
		key   string
		total int
	}{{"codex.network", len(s.Network.Hosts)}, {"hooks.network", len(s.HookNetwork.Hosts)}, {"setup.network", len(s.SetupNetwork.Hosts)}, {"services", len(s.Services)}} {
		v := d.written[n.key]
		switch {
		case n.total == 0:
		case runtime.GOOS != "linux":
			d.reject(v, "only Linux gives commands a network of their own; remove the key")
		case !s.Loopback:
			d.reject(v, "needs the network that sandbox.loopback gives; remove one of the two keys")
		case (n.key == "codex.network" || n.key == "services") && !s.Codex.UsesProfile():
			d.reject(v, "has no effect beside codex.thread_sandbox or codex.turn_sandbox_policy, which are a sandbox of their own; remove one of the keys")
		case n.key == "hooks.network" && !s.SandboxHooks:
			d.warn(v, "%s has no effect: hooks run outside the sandbox, with the network of this machine; remove the key", v.key)
			s.HookNetwork.Hosts = nil
		}
	}
}
