package workflow

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// trackerSection decodes the section tracker.
type trackerSection struct {
	forms
	*front
	tracker     *Tracker
	policy      *schedule.Policy
	provider    map[string]value // the keys of tracker.provider
	credentials []string         // the names of the settings that are credentials
}

// decode decodes the tracker's settings, which depend on its kind, and the
// states.
func (t *trackerSection) decode() {
	v := t.written["tracker.kind"]
	i := slices.IndexFunc(t.env.Trackers, func(k tracker.Kind) bool { return k.Name == v.raw })
	if i < 0 {
		p := Problem{Key: "tracker.kind", Line: v.line, Column: v.column, Category: tracker.ErrUnsupportedKind}
		if v.raw != nil {
			p.Value = display(v.raw)
		}
		p.Reason = "must be one of "
		if v.raw == nil {
			p.Reason = "is missing; write one of "
		}
		p.Reason += strings.Join(kindNames(t.env.Trackers), ", ")
		if t.front.missing {
			p.Reason = `is missing, because the file has no settings; begin it with them, between two lines of exactly "---"`
		}
		t.add(p)
		return
	}
	kind := t.env.Trackers[i]
	cfg := t.decodeSettings(kind)
	t.tracker.Kind, t.tracker.Config = kind.Name, cfg
	t.decodeStates(cfg.States())
}

// decodeSettings returns the settings of a tracker, and records which of them are
// credentials.
func (t *trackerSection) decodeSettings(kind tracker.Kind) tracker.Config {
	t.renameAliases(kind.New().Settings())
	written := t.mergeSettings()
	raw := make(map[string]any, len(written))
	for name, v := range written {
		raw[name] = v.raw
	}
	cfg, problems := kind.Decode(raw, func(s tracker.Setting, raw any) any {
		return t.resolveSetting(s, raw, written[s.Name])
	})
	settings := make(map[string]tracker.Setting)
	for _, s := range cfg.Settings() {
		settings[s.Name] = s
		if s.Credential {
			t.credentials = append(t.credentials, s.Name)
			t.addSecretEnv(append(slices.Clone(s.Defaults), raw[s.Name]))
		}
	}
	for _, p := range problems {
		t.addTrackerProblem(p, settings[p.Setting], written[p.Setting])
	}
	return cfg
}

// addSecretEnv adds the variables that a credential is written as, or would be by
// default.
func (t *trackerSection) addSecretEnv(values []any) {
	for _, value := range values {
		if name, isReference := variableName(value); isReference && !slices.Contains(t.tracker.SecretEnv, name) {
			t.tracker.SecretEnv = append(t.tracker.SecretEnv, name)
		}
	}
}

func kindNames(kinds []tracker.Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return slices.Sorted(slices.Values(names))
}

// decodeStates sets the default states of a tracker and compares both lists with each
// other and with the states that the tracker has.
func (t *trackerSection) decodeStates(has tracker.States) {
	policy := t.policy
	check := func(key string, states *[]string, standard []string) {
		if *states == nil && standard == nil {
			t.add(Problem{Key: key, Category: tracker.ErrInvalidConfig, Reason: "is missing; " + has.Reason + ", so list them"})
		}
		if *states == nil {
			*states = standard
		}
		for _, state := range *states {
			t.checkState(t.stateItem(key, state), state, has)
		}
	}
	check("tracker.active_states", &policy.ActiveStates, has.Active)
	check("tracker.terminal_states", &policy.TerminalStates, has.Terminal)
	for _, state := range policy.ActiveStates {
		if containsState(policy.TerminalStates, state) {
			v := t.stateItem("tracker.active_states", state)
			t.add(Problem{
				Key: v.key, Value: display(state), Line: v.line, Column: v.column,
				Reason: "is a terminal state too, so its issues could never be worked on; keep it in one of the lists",
			})
		}
	}
}

// stateItem returns the place at which a list names a state, with the key of the list.
func (t *trackerSection) stateItem(key, state string) value {
	v := t.written[key]
	items, _ := v.raw.([]any)
	for i, item := range items {
		text, _ := item.(string)
		if node := v.item(i); node != nil && tracker.NormalState(text) == tracker.NormalState(state) {
			return value{key: key, line: node.Line, column: node.Column}
		}
	}
	return value{key: key, line: v.line, column: v.column}
}

// checkState records a problem for a state, named at v, that the tracker does not have.
func (t *trackerSection) checkState(v value, state string, has tracker.States) {
	if has.Only != nil && !containsState(has.Only, state) {
		t.add(Problem{
			Key: v.key, Value: display(state), Line: v.line, Column: v.column, Category: tracker.ErrInvalidConfig,
			Reason: fmt.Sprintf("is not a state that an issue can have; %s there are %s alone", has.Reason, strings.Join(has.Only, " and ")),
		})
	}
}

func containsState(states []string, state string) bool {
	return slices.ContainsFunc(states, func(other string) bool { return tracker.NormalState(other) == tracker.NormalState(state) })
}

// isFlatKey reports whether a setting of a tracker may be written directly below
// tracker (SPEC §5.3.1, and assignee as in the reference implementation).
func isFlatKey(name string) bool {
	return name == "api_key" || name == "endpoint" || name == "project_slug" || name == "assignee"
}

// settingKey returns the key of a setting that is not written.
func settingKey(name string) string {
	if isFlatKey(name) {
		return "tracker." + name
	}
	return "tracker.provider." + name
}

// deferred skips a flat key, because [trackerSection.decode] decodes it.
func (d *decoder) deferred(value) {}

// providerMap keeps the settings in tracker.provider for [trackerSection.decode].
func (t *trackerSection) providerMap(v value) {
	t.provider = make(map[string]value)
	for _, setting := range t.children(v) {
		t.provider[strings.TrimPrefix(setting.key, v.key+".")] = setting
	}
}

// mergeSettings returns the settings that are written, from the flat keys and
// tracker.provider.
func (t *trackerSection) mergeSettings() map[string]value {
	settings := maps.Clone(t.provider)
	if settings == nil {
		settings = make(map[string]value)
	}
	for key, v := range t.written {
		name, ok := strings.CutPrefix(key, "tracker.")
		if !ok || !isFlatKey(name) {
			continue
		}
		if other, both := settings[name]; both {
			t.compare(v, other)
		}
		settings[name] = v
	}
	return settings
}

// renameAliases gives the settings in tracker.provider that have another name the name that
// the kind knows.
func (t *trackerSection) renameAliases(settings []tracker.Setting) {
	for _, s := range settings {
		for _, alias := range s.Aliases {
			v, isWritten := t.provider[alias]
			if !isWritten {
				continue
			}
			if other, both := t.provider[s.Name]; both {
				t.compare(v, other)
			}
			t.provider[s.Name] = v
			delete(t.provider, alias)
		}
	}
}

// compare records a problem if two keys of the same setting have different values.
func (t *trackerSection) compare(v, other value) {
	if !reflect.DeepEqual(t.resolve(v.raw), t.resolve(other.raw)) {
		t.add(Problem{
			Key: v.key, Line: v.line, Column: v.column, Category: tracker.ErrInvalidConfig,
			Reason: fmt.Sprintf("differs from %s on line %d; keep one of them", other.key, other.line),
		})
	}
}

// resolveSetting returns the value of a setting with its variables resolved, or nil when it has
// none. v is its text in the file; it is zero when raw is a default.
func (t *trackerSection) resolveSetting(s tracker.Setting, raw any, v value) any {
	if text, ok := raw.(string); ok && s.Path {
		path, err := t.expandPath(text)
		if err != nil {
			t.reject(v, "%s", err)
			return text // so that it is not reported as missing too
		}
		return path
	}
	resolved := t.resolve(raw)
	if text, ok := resolved.(string); ok && s.Credential {
		t.tracker.Credentials = append(t.tracker.Credentials, text)
	}
	if ref, _ := variableName(raw); resolved == nil && v.line > 0 && !s.Required {
		t.warn(v, "%s counts as missing: the environment variable %s is not set or empty", v.key, ref)
	}
	return resolved
}

// resolve replaces strings that are a reference, at any depth, by the value of the
// variable, and leaves out those without one. It returns nil when nothing is left.
func (t *trackerSection) resolve(raw any) any {
	switch raw := raw.(type) {
	case string:
		name, ok := variableName(raw)
		if !ok {
			return raw
		}
		if text := t.lookupVariable(name); text != "" {
			return text
		}
		return nil
	case map[string]any:
		resolved := make(map[string]any, len(raw))
		for name, v := range raw {
			if v = t.resolve(v); v != nil {
				resolved[name] = v
			}
		}
		return resolved
	case []any:
		resolved := make([]any, 0, len(raw))
		for _, v := range raw {
			if v = t.resolve(v); v != nil {
				resolved = append(resolved, v)
			}
		}
		return resolved
	default:
		return raw
	}
}

// missingVariable returns the reason for a value whose environment variable is not set, with
// a command that sets it to a value, if one is given.
func missingVariable(name, value string) string {
	reason := "is missing; set the environment variable " + name
	if value != "" {
		reason += ": export " + name + "=" + value
	}
	return reason
}

// addTrackerProblem records the problem of a setting. s and v are zero for a setting
// that does not exist or is not written. It shows neither a credential nor the value
// of a variable.
func (t *trackerSection) addTrackerProblem(found tracker.Problem, s tracker.Setting, v value) {
	p := Problem{Key: v.key, Line: v.line, Column: v.column, Category: found.Category, Reason: found.Reason, Unknown: s.Name == ""}
	if p.Key == "" {
		p.Key = settingKey(found.Setting)
	}
	raw := v.raw
	if raw == nil && len(s.Defaults) > 0 {
		raw = s.Defaults[0]
	}
	if name, isReference := variableName(raw); isReference && found.Missing {
		p.Reason = missingVariable(name, s.Export)
	} else if !found.Missing && !s.Credential && s.Name != "" {
		p.Value = display(raw)
	}
	t.add(p)
}
