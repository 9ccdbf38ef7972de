package workflow

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// kind holds what must be known of an adapter before it exists.
type kind struct {
	active, terminal []string          // default states
	defaults         map[string]string // of provider settings that are not written
	required         []string          // provider settings that must be there in the end
	path             string            // the provider setting that is a path
}

// kinds returns the tracker kinds by name.
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
			defaults: map[string]string{credentialKey: "$GITHUB_TOKEN", "repo": "$GITHUB_REPOSITORY", "api_url": "$GITHUB_API_URL"},
			required: []string{credentialKey, "repo"},
		},
		"linear": {
			active: active, terminal: terminal,
			defaults: map[string]string{credentialKey: "$LINEAR_API_KEY", "endpoint": "https://api.linear.app/graphql"},
			required: []string{credentialKey, "project_slug", "endpoint"},
		},
	}
}

// decodeTracker checks the tracker's kind and what it needs: provider settings and
// states.
func (d *decoder) decodeTracker() {
	v := d.written["tracker.kind"]
	name, _ := v.raw.(string)
	k, ok := kinds()[name]
	if !ok {
		p := Problem{Key: "tracker.kind", Line: v.line, Category: tracker.ErrUnsupportedKind}
		if v.raw != nil {
			p.Value = display(v.raw)
		}
		p.Reason = "must be one of " + strings.Join(slices.Sorted(maps.Keys(kinds())), ", ")
		d.add(p)
		return
	}
	d.settings.Tracker.Kind = name
	settings := d.mergeSettings(k)
	d.resolveProvider(k, settings)
	for _, name := range k.required {
		d.requireSetting(name, settings[name])
	}
	d.decodeStates(k)
}

// decodeStates sets the default states of the kind and compares the two lists.
func (d *decoder) decodeStates(k kind) {
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
				Key: "tracker.active_states", Value: display(state), Line: d.written["tracker.active_states"].line,
				Reason: "is a terminal state too, so its issues could never be worked on; keep it in one of the lists",
			})
		}
	}
}

// credentialKey is the provider setting that holds the credential.
const credentialKey = "api_key"

// isFlatKey reports whether a provider setting may be written directly below
// tracker.
func isFlatKey(name string) bool {
	return name == credentialKey || name == "endpoint" || name == "project_slug"
}

// deferred skips a flat key, because decodeTracker decodes it.
func (d *decoder) deferred(value) {}

// providerMap keeps the settings in tracker.provider for decodeTracker.
func (d *decoder) providerMap(v value) {
	d.provider = make(map[string]value)
	for _, setting := range d.children(v.key, *v.node) {
		d.provider[strings.TrimPrefix(setting.key, v.key+".")] = setting
	}
}

// mergeSettings returns the settings from the flat keys, tracker.provider and the
// defaults.
func (d *decoder) mergeSettings(k kind) map[string]value {
	settings := maps.Clone(d.provider)
	if settings == nil {
		settings = make(map[string]value)
	}
	for key, v := range d.written {
		name, ok := strings.CutPrefix(key, "tracker.")
		if !ok || !isFlatKey(name) {
			continue
		}
		other, both := settings[name]
		if both && !reflect.DeepEqual(d.resolve(v.raw), d.resolve(other.raw)) {
			d.add(Problem{
				Key: key, Line: v.line, Category: tracker.ErrInvalidConfig,
				Reason: fmt.Sprintf("differs from %s on line %d; keep one of them", other.key, other.line),
			})
		}
		settings[name] = v
	}
	for name, text := range k.defaults {
		if _, written := settings[name]; !written {
			settings[name] = value{raw: text}
		}
	}
	return settings
}

// resolveProvider fills Tracker.Provider with the settings, their variables
// resolved.
func (d *decoder) resolveProvider(k kind, settings map[string]value) {
	t := &d.settings.Tracker
	t.Provider = make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v := settings[name]
		if text, ok := v.raw.(string); ok && name == k.path {
			path, err := d.expandPath(text)
			if err != nil {
				d.reject(v, "%s", err)
				path = text // so that it is not reported as missing too
			}
			t.Provider[name] = path
			continue
		}
		ref, isReference := variableName(v.raw)
		if name == credentialKey && isReference {
			t.SecretEnv = []string{ref}
		}
		if resolved := d.resolve(v.raw); resolved != nil {
			t.Provider[name] = resolved
		} else if v.line > 0 && !slices.Contains(k.required, name) {
			d.warn("%s counts as missing: the environment variable %s is not set or empty", v.key, ref)
		}
	}
}

// resolve replaces strings that are a reference, at any depth, by the value of the
// variable, and leaves out those without one. It returns nil when nothing is left.
func (d *decoder) resolve(raw any) any {
	switch raw := raw.(type) {
	case string:
		name, ok := variableName(raw)
		if !ok {
			return raw
		}
		if text := d.lookupVariable(name); text != "" {
			return text
		}
		return nil
	case map[string]any:
		resolved := make(map[string]any, len(raw))
		for name, v := range raw {
			if v = d.resolve(v); v != nil {
				resolved[name] = v
			}
		}
		return resolved
	case []any:
		resolved := make([]any, 0, len(raw))
		for _, v := range raw {
			if v = d.resolve(v); v != nil {
				resolved = append(resolved, v)
			}
		}
		return resolved
	default:
		return raw
	}
}

// requireSetting records a problem if a setting that the kind needs is missing. It
// never shows the value.
func (d *decoder) requireSetting(name string, v value) {
	p := Problem{Key: v.key, Line: v.line, Category: tracker.ErrInvalidConfig}
	if p.Key == "" {
		p.Key = "tracker.provider." + name
		if isFlatKey(name) {
			p.Key = "tracker." + name
		}
	}
	provider := d.settings.Tracker.Provider
	text, ok := provider[name].(string)
	switch {
	case strings.TrimSpace(text) != "":
		return
	case !ok && provider[name] != nil:
		p.Reason = mustBeText
	default:
		p.Reason = "is missing; write it"
		if from, ok := variableName(v.raw); ok {
			p.Reason = "is missing; set the environment variable " + from
		}
		if name == credentialKey {
			p.Category = tracker.ErrMissingSecret
		}
	}
	d.add(p)
}
