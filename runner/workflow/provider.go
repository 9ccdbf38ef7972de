package workflow

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// secret is the provider setting that holds the credential.
const secret = "api_key"

// flat reports whether a provider setting may stand in tracker itself.
func flat(name string) bool {
	return name == secret || name == "endpoint" || name == "project_slug"
}

// later leaves a flat key to settleTracker.
func (d *draft) later(value) {}

func (d *draft) providerMap(v value) {
	d.provider = make(map[string]value)
	for _, setting := range d.children(v.key, *v.node) {
		d.provider[strings.TrimPrefix(setting.key, v.key+".")] = setting
	}
}

// merge puts the flat keys, tracker.provider and the defaults together.
func (d *draft) merge(k kind) map[string]value {
	settings := maps.Clone(d.provider)
	if settings == nil {
		settings = make(map[string]value)
	}
	for key, v := range d.written {
		name, ok := strings.CutPrefix(key, "tracker.")
		if !ok || !flat(name) {
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

// resolveAll fills Tracker.Provider with what the settings amount to.
func (d *draft) resolveAll(k kind, settings map[string]value) {
	t := &d.settings.Tracker
	t.Provider = make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v := settings[name]
		if text, ok := v.raw.(string); ok && name == k.path {
			path, err := d.path(text)
			if err != nil {
				d.reject(v, "%s", err)
				path = text // wrong, but not missing as well
			}
			t.Provider[name] = path
			continue
		}
		ref, isReference := reference(v.raw)
		if name == secret && isReference {
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
// variable, and leaves out those without one. It returns nil for nothing.
func (d *draft) resolve(raw any) any {
	switch raw := raw.(type) {
	case string:
		name, ok := reference(raw)
		if !ok {
			return raw
		}
		if text := d.lookup(name); text != "" {
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

// require checks a setting that the kind cannot do without, and never shows it.
func (d *draft) require(name string, v value) {
	p := Problem{Key: v.key, Line: v.line, Category: tracker.ErrInvalidConfig}
	if p.Key == "" {
		p.Key = "tracker.provider." + name
		if flat(name) {
			p.Key = "tracker." + name
		}
	}
	provider := d.settings.Tracker.Provider
	text, ok := provider[name].(string)
	switch {
	case strings.TrimSpace(text) != "":
		return
	case !ok && provider[name] != nil:
		p.Reason = notText
	default:
		p.Reason = "is missing; write it"
		if from, ok := reference(v.raw); ok {
			p.Reason = "is missing; set the environment variable " + from
		}
		if name == secret {
			p.Category = tracker.ErrMissingSecret
		}
	}
	d.add(p)
}
