package workflow

import (
	"runtime"

	"github.com/symphony-runner/symphony/runner/hosts"
)

// hosts decodes a list of hosts that commands in the sandbox reach, by names of sets and of
// hosts. The result is sorted, and has each host once.
func (d *decoder) hosts(to *[]string) form {
	return form{func(v value) {
		var words []string
		sound := true
		d.list(v, func(item value, word string) {
			if _, err := hosts.Expand([]string{word}); err != nil {
				d.reject(item, "%s", hosts.Reason(word))
				sound = false
				return
			}
			words = append(words, word)
		})
		if !sound {
			return
		}
		found, err := hosts.Expand(words)
		if err != nil {
			d.reject(v, "%s", err)
			return
		}
		*to = found
	}, listSchema(nonemptySchema())}
}

// checkNetworks records a problem for hosts that no sandbox holds commands to.
func (d *decoder) checkNetworks() {
	s := &d.settings
	for _, n := range []struct {
		key   string
		hosts []string
	}{{"codex.network", s.Network.Hosts}, {"hooks.network", s.HookNetwork.Hosts}, {"setup.network", s.SetupNetwork.Hosts}} {
		v := d.written[n.key]
		switch {
		case len(n.hosts) == 0:
		case runtime.GOOS != "linux":
			d.reject(v, "only Linux gives commands a network of their own; remove the key")
		case !s.Loopback:
			d.reject(v, "needs the network that sandbox.loopback gives; remove one of the two keys")
		case n.key == "codex.network" && !s.Codex.UsesProfile():
			d.reject(v, "has no effect beside codex.thread_sandbox or codex.turn_sandbox_policy, which are a sandbox of their own; remove one of the keys")
		case n.key == "hooks.network" && !s.SandboxHooks:
			d.warn(v, "%s has no effect: hooks run outside the sandbox, with the network of this machine; remove the key", v.key)
			s.HookNetwork.Hosts = nil
		}
	}
}
