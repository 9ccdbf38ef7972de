package tracker

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// Kind describes one kind of tracker: the facts about an adapter that are needed before one is
// opened. Each adapter exports its own.
type Kind struct {
	Name string        // the value of tracker.kind
	New  func() Config // returns a Config of which no setting is decoded
}

// Config holds the settings of one tracker. [Kind.Decode] fills it; nothing changes it
// afterwards.
type Config interface {
	// Settings describes every setting of the kind, bound to a field of the Config.
	Settings() []Setting
	// Scope returns the place that issues are read from, as people name it: a repository, a
	// project or a folder.
	Scope() string
	// IDScope returns a name for the place in which the ids of issues are unique, seen from the
	// folder of the workspaces; empty if they are unique everywhere. Workspaces keep the name.
	IDScope(workspaces string) string
	// Folder returns the absolute path of the folder in which issues and their comments are
	// files; empty for a tracker that keeps none. No delivery changes these files.
	Folder() string
	// States returns the states that issues can have with the decoded settings.
	States() States
	// Identifier returns the identifier that a person means by a name: by the identifier in
	// upper or lower case, a part of it, or the address of the issue. It is "" for a name
	// that no issue of the tracker can have. It makes no request, so the issue need not
	// exist.
	Identifier(name string) string
	// Open connects to the tracker. It makes no request, and nothing has to be closed. It uses
	// only the transport of the client: redirects, timeouts and retries are the adapter's own.
	Open(o Options, client *http.Client, log *slog.Logger) (Adapter, error)
}

// Setting describes one setting below tracker.provider: for decoding, for errors and
// for the README of the adapter.
type Setting struct {
	Name     string
	Meaning  string   // one line
	Want     string   // form of a value, such as owner/name; errors say "must be" or "write" before it
	Defaults []any    // used when nothing is written: the first that has a value; text may be $NAME
	Required bool     // nothing works without a value
	Missing  error    // the category of a required setting without a value; nil is ErrInvalidConfig
	Aliases  []string // other names of the setting, as other programs have them; Decode knows Name alone
	Mistaken []string // names that people write instead of this one
	Export   string   // a value for the variable of the default, as a shell takes it; errors about a missing value show it

	Path       bool // a relative path starts from the folder of WORKFLOW.md; ~ and $NAME are expanded
	Credential bool // the value is in no error, and children get no variable that holds it

	// Schema says the same as Want to editors, as a JSON schema that refuses only what
	// Decode does; nil is any text.
	Schema map[string]any
	// Decode keeps a value, or reports false if it does not have the form Want.
	Decode func(value any) (ok bool)
}

// States lists the states that the issues of a tracker can have.
type States struct {
	Active, Terminal []string // the defaults; nil when a workflow has to list them
	Only             []string // every state that there is; nil when people define them
	Reason           string   // reason why there is no default, or no state besides Only
}

// DefaultStates returns the default states of a tracker in which people define the
// states (SPEC §5.3.1).
func DefaultStates() States {
	return States{
		Active:   []string{"Todo", "In Progress"},
		Terminal: []string{"Closed", "Cancelled", "Canceled", "Duplicate", "Done"},
	}
}

// Options holds the needs of an adapter besides the settings of its kind.
type Options struct {
	ActiveStates, TerminalStates []string        // states that the workflow names
	RequiredLabels               []string        // every candidate must carry them; in normal form, and no issue carries a blank one
	Poll                         time.Duration   // time between two reads
	StateBranch                  string          // the branch that holds the program's own state; empty for the usual one
	BranchPrefix                 string          // beginning of the branch of an issue, before its identifier; empty for symphony/
	HandOver                     string          // the state that the host gives an issue whose work is published; empty for none
	Workspaces                   string          // the folder in which agents write; empty if it is not known
	Checkout                     string          // a folder that is thrown away when the run ends, as the checkout of an Actions job; empty for none
	StartsNothing                bool            // the host starts no session, as in a dry run; missing rights to write are then a warning
	Content                      *transport.Pace // pace of comments and other texts for people, shared by all clients of the process; nil for an own one
}

// Problem describes a fault of a setting.
type Problem struct {
	Setting  string // name of the setting
	Missing  bool   // it is required and has no value
	Reason   string // fault and remedy
	Category error  // [ErrInvalidConfig], or a narrower one
}

// Decode returns the settings of a tracker from their written values, by name. Each of these
// values, and each default that is needed, is passed to resolve, which replaces variables and
// returns nil for a value that is empty then. There is one problem for each setting that is
// wrong, missing or unknown; no problem shows a value.
func (k Kind) Decode(written map[string]any, resolve func(s Setting, value any) any) (Config, []Problem) {
	var problems []Problem
	cfg := k.New()
	settings := cfg.Settings()
	for _, s := range settings {
		candidates := s.Defaults
		if value, ok := written[s.Name]; ok {
			candidates = []any{value}
		}
		var value any
		for i := 0; i < len(candidates) && value == nil; i++ {
			value = resolve(s, candidates[i])
		}
		text, isText := value.(string)
		switch {
		case s.Required && (value == nil || isText && strings.TrimSpace(text) == ""):
			problems = append(problems, Problem{s.Name, true, "is missing; write " + s.Want, cmp.Or(s.Missing, ErrInvalidConfig)})
		case value != nil && !s.Decode(value):
			problems = append(problems, Problem{s.Name, false, "must be " + s.Want, ErrInvalidConfig})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if !slices.ContainsFunc(settings, func(s Setting) bool { return s.Name == name }) {
			problems = append(problems, Problem{name, false, k.explainUnknown(name, settings), ErrInvalidConfig})
		}
	}
	return cfg, problems
}

// explainUnknown returns the advice for a name that no setting has.
func (k Kind) explainUnknown(name string, settings []Setting) string {
	var names []string
	for _, s := range settings {
		if slices.Contains(s.Mistaken, name) {
			return "is unknown; write " + s.Name
		}
		names = append(names, s.Name)
	}
	if near := Nearest(name, names); near != "" {
		return "is unknown; did you mean " + near + "?"
	}
	return "is unknown; the settings of " + k.Name + " are " + strings.Join(names, ", ")
}

// DecodeText returns a [Setting.Decode] that keeps text for which every check
// succeeds.
func DecodeText(to *string, checks ...func(string) bool) func(any) bool {
	return func(value any) bool {
		text, ok := value.(string)
		for _, check := range checks {
			ok = ok && check(text)
		}
		if ok {
			*to = text
		}
		return ok
	}
}

// DecodeChoice returns a [Setting.Decode] that keeps an allowed value.
func DecodeChoice[T ~string](to *T, allowed ...T) func(any) bool {
	return func(value any) bool {
		text, ok := value.(string)
		if ok = ok && slices.Contains(allowed, T(text)); ok {
			*to = T(text)
		}
		return ok
	}
}
