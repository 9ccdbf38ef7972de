package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// kind is what must be known of an adapter before it exists.
type kind struct {
	active, terminal []string          // default states
	defaults         map[string]string // of provider settings that are not written
	required         []string          // provider settings that must be there in the end
	path             string            // the provider setting that is a path
}

func kinds() map[string]kind {
	active := []string{"Todo", "In Progress"}
	terminal := []string{"Closed", "Cancelled", "Canceled", "Duplicate", "Done"}
	return map[string]kind{
		"file": {
			active: active, terminal: terminal,
			defaults: map[string]string{"path": "issues"},
			required: []string{"path"},
			path:     "path",
		},
		"github": {
			active: []string{"open"}, terminal: []string{"closed"},
			defaults: map[string]string{secret: "$GITHUB_TOKEN", "repo": "$GITHUB_REPOSITORY", "api_url": "$GITHUB_API_URL"},
			required: []string{secret, "repo"},
		},
		"linear": {
			active: active, terminal: terminal,
			defaults: map[string]string{secret: "$LINEAR_API_KEY", "endpoint": "https://api.linear.app/graphql"},
			required: []string{secret, "project_slug", "endpoint"},
		},
	}
}

// settleTracker checks the kind and what it needs: provider settings and states.
func (d *draft) settleTracker() {
	v := d.written["tracker.kind"]
	name, _ := v.raw.(string)
	k, ok := kinds()[name]
	if !ok {
		p := Problem{Key: "tracker.kind", Line: v.line, Category: tracker.ErrUnsupportedKind}
		if v.raw != nil {
			p.Value = shown(v.raw)
		}
		p.Reason = "must be one of " + strings.Join(slices.Sorted(maps.Keys(kinds())), ", ")
		d.add(p)
		return
	}
	d.settings.Tracker.Kind = name
	settings := d.merge(k)
	d.resolveAll(k, settings)
	for _, name := range k.required {
		d.require(name, settings[name])
	}
	d.settleStates(k)
}

// settleStates fills in the default states of the kind and compares the two lists.
func (d *draft) settleStates(k kind) {
	policy, t := &d.settings.Policy, &d.settings.Tracker
	prefix := t.Provider["state_label_prefix"]
	custom := t.Kind == "github" && (t.Provider["project"] != nil || prefix != nil && prefix != "")
	choose := func(key string, states *[]string, standard []string) {
		switch {
		case *states != nil:
		case custom:
			d.add(Problem{
				Key: key, Category: tracker.ErrInvalidConfig,
				Reason: "is missing; with state labels or a project the states have no default, so list them",
			})
		default:
			*states = standard
		}
	}
	choose("tracker.active_states", &policy.ActiveStates, k.active)
	choose("tracker.terminal_states", &policy.TerminalStates, k.terminal)
	for _, state := range policy.ActiveStates {
		same := func(other string) bool { return tracker.NormalState(other) == tracker.NormalState(state) }
		if slices.ContainsFunc(policy.TerminalStates, same) {
			d.add(Problem{
				Key: "tracker.active_states", Value: shown(state), Line: d.written["tracker.active_states"].line,
				Reason: "is a terminal state too, so its issues could never be worked on; keep it in one of the lists",
			})
		}
	}
}
