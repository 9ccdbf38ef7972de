package github

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	defaultAPI         = "https://api.github.com"
	defaultField       = "Status"
	defaultStateBranch = "symphony-state"
)

// Trust says whose issues may be worked on.
type Trust string

// The settings of tracker.provider.trust.
const (
	TrustMembers Trust = "members" // see the package comment
	TrustAnyone  Trust = "anyone"  // the gate is off
)

// Scope says which repositories the tool may reach.
type Scope string

// The settings of tracker.provider.tool_scope.
const (
	ScopeRepo  Scope = "repo"  // the configured one
	ScopeToken Scope = "token" // every one that the token can reach
)

// Config is what a workflow says to this adapter.
type Config struct {
	Repo             string         // owner/name
	Token            string         // the credential
	APIURL           string         // the root of the REST API, without a slash at its end
	Project          *Project       // the board whose status is the state; nil without one
	StateLabelPrefix string         // the state is what follows it in a label; "" without
	PriorityLabels   map[string]int // priority by label in normal form
	Trust            Trust
	TrustLabel       string // in normal form; "" when no label vouches for an issue
	ToolScope        Scope
	StateBranch      string // the branch that the tool must not touch

	Poll             time.Duration // between two reads; see gate.writeDenial
	Active, Terminal []string      // the states of the workflow
	RequiredLabels   []string      // labels that every candidate must carry, in normal form; a blank one is carried by none
}

// Project is a Projects v2 board and its single-select field.
type Project struct {
	Owner  string
	Number int
	Field  string
}

// split gives the two parts of Repo.
func (c Config) split() (owner, name string) {
	owner, name, _ = strings.Cut(c.Repo, "/")
	return owner, name
}

// repoName is owner/name as GitHub allows it; a name of dots alone is refused apart.
var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-_]*/[A-Za-z0-9._-]+$`)

// ConfigFrom reads tracker.provider and the states of the workflow. Errors are
// [tracker.ErrInvalidConfig] or [tracker.ErrMissingSecret] and name the key, its
// value (never of api_key) and what is allowed.
func ConfigFrom(provider map[string]any, active, terminal []string) (Config, error) {
	cfg := Config{
		APIURL:         defaultAPI,
		PriorityLabels: map[string]int{"p0": 1, "p1": 2, "p2": 3, "p3": 4},
		Trust:          TrustMembers,
		ToolScope:      ScopeRepo,
		StateBranch:    defaultStateBranch,
		Active:         active,
		Terminal:       terminal,
	}
	settings := cfg.settings()
	for _, key := range slices.Sorted(maps.Keys(provider)) {
		set, known := settings[key]
		if !known {
			return Config{}, invalid(key, "is unknown: %s", instead(key, slices.Sorted(maps.Keys(settings))))
		}
		if want, ok := set(provider[key]); !ok {
			if key == "api_key" {
				return Config{}, invalid(key, "is not %s", want)
			}
			return Config{}, invalid(key, "is %#v: write %s", provider[key], want)
		}
	}
	if cfg.Token == "" {
		return Config{}, fmt.Errorf("github tracker: %w: tracker.provider.api_key is missing: set GITHUB_TOKEN",
			tracker.ErrMissingSecret)
	}
	owner, _, found := strings.Cut(cfg.Repo, "/")
	if !found {
		return Config{}, invalid("repo", "is missing: write owner/name")
	}
	if cfg.Project != nil && cfg.Project.Owner == "" {
		cfg.Project.Owner = owner
	}
	return cfg, cfg.checkStates()
}

// settings maps each key to what takes its value, and says what it must be
// where it does not.
func (c *Config) settings() map[string]func(any) (want string, ok bool) {
	return map[string]func(any) (string, bool){
		"api_key": func(v any) (string, bool) { return "one line of text", text(v, &c.Token) && oneWord(c.Token) },
		"repo": func(v any) (string, bool) {
			return "owner/name", text(v, &c.Repo) && repoName.MatchString(c.Repo) && !strings.HasSuffix(c.Repo, "/.") && !strings.HasSuffix(c.Repo, "/..")
		},
		"api_url": func(v any) (string, bool) { return apiURLWant, text(v, &c.APIURL) && c.settleAPI() },
		"project": c.setProject,
		"state_label_prefix": func(v any) (string, bool) {
			ok := text(v, &c.StateLabelPrefix)
			c.StateLabelPrefix = strings.TrimLeft(c.StateLabelPrefix, " \t")
			return "text, as in \"status:\"", ok
		},
		"priority_labels": c.setPriorities,
		"trust":           func(v any) (string, bool) { return choice(v, &c.Trust, TrustMembers, TrustAnyone) },
		"trust_label": func(v any) (string, bool) {
			ok := text(v, &c.TrustLabel)
			c.TrustLabel = tracker.NormalLabel(c.TrustLabel)
			return "the name of a label", ok
		},
		"tool_scope": func(v any) (string, bool) { return choice(v, &c.ToolScope, ScopeRepo, ScopeToken) },
	}
}

func (c *Config) setProject(v any) (string, bool) {
	const want = "owner, number and field, as in {owner: acme, number: 3, field: Status}"
	fields, ok := v.(map[string]any)
	if !ok {
		return want, false
	}
	p := &Project{Field: defaultField}
	for key, value := range fields {
		switch key {
		case "owner":
			ok = ok && text(value, &p.Owner) && oneWord(p.Owner)
		case "number":
			ok = ok && number(value, &p.Number)
		case "field":
			ok = ok && text(value, &p.Field) && p.Field != ""
		default:
			ok = false
		}
	}
	c.Project = p
	return want, ok && p.Number > 0
}

func (c *Config) setPriorities(v any) (string, bool) {
	const want = "labels with their priority, a whole number from 1, as in {urgent: 1, low: 4}"
	fields, ok := v.(map[string]any)
	c.PriorityLabels = make(map[string]int, len(fields))
	for label, value := range fields {
		var n int
		ok = ok && number(value, &n) && n > 0
		c.PriorityLabels[tracker.NormalLabel(label)] = n
	}
	return want, ok
}

// checkStates refuses states that no issue could ever have. Those of a board
// are checked by the first read, which knows the board.
func (c Config) checkStates() error {
	if c.Project != nil || c.StateLabelPrefix != "" {
		return nil
	}
	for _, state := range slices.Concat(c.Active, c.Terminal) {
		if normal := tracker.NormalState(state); normal != stateOpen && normal != stateClosed {
			return fmt.Errorf("github tracker: %w: the state %q of the workflow can never be: without "+
				"tracker.provider.state_label_prefix or project there are only %q and %q",
				tracker.ErrInvalidConfig, state, stateOpen, stateClosed)
		}
	}
	return nil
}

// warnings returns what every report should say about these settings.
func (c Config) warnings() []string {
	var warnings []string
	if c.Trust == TrustAnyone {
		warnings = append(warnings, "tracker.provider.trust is \"anyone\": text by strangers reaches the agent")
	}
	closed := func(state string) bool { return tracker.NormalState(state) == stateClosed }
	if len(c.Terminal) > 0 && !slices.ContainsFunc(c.Terminal, closed) {
		warnings = append(warnings, "tracker.terminal_states lacks \"closed\": a closed issue counts neither as done nor as a blocker that is out of the way")
	}
	return warnings
}

func invalid(key, format string, args ...any) error {
	return fmt.Errorf("github tracker: %w: tracker.provider.%s %s", tracker.ErrInvalidConfig, key, fmt.Sprintf(format, args...))
}
