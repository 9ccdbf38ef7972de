package attempt

import "github.com/symphony-runner/symphony/codex"

// The names of networks: of hooks in the sandbox, and of setup.run.
const (
	hooksNetwork = "hooks"
	setupNetwork = "setup"
)

// networks returns the networks of programs of the host that have hosts, by their names. The
// others have the network of the agent. preparing says that setup.run runs on the base.
func networks(r *Repository, hooks codex.Network, preparing bool) map[string]codex.Network {
	all := map[string]codex.Network{}
	if r != nil && !r.TrustedHooks && len(hooks.Hosts) > 0 {
		all[hooksNetwork] = hooks
	}
	if s := r.setup(); s != nil && len(s.Network.Hosts) > 0 && (preparing || s.Online) {
		all[setupNetwork] = s.Network
	}
	return all
}
