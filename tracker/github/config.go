package github

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const (
	defaultField       = "Status"
	defaultStateBranch = "symphony-state"
)

// Trust selects the authors whose issues may be worked on.
type Trust string

// The settings of tracker.provider.trust.
const (
	TrustMembers Trust = "members" // see the package comment
	TrustAnyone  Trust = "anyone"  // the gate is off
)

// Config holds the workflow's settings for this adapter, with the credential.
type Config struct {
	Repo             string         // owner/name
	Token            string         // the credential
	APIURL           string         // the root of the REST API, without a slash at its end
	Project          *Project       // the board whose status is the state; nil without one
	StateLabelPrefix string         // beginning of the label that names the state; "" without
	PriorityLabels   map[string]int // priority by label in normal form
	Trust            Trust
	TrustLabel       string   // label in normal form; "" when no label vouches for an issue
	ToolLabels       []string // labels in normal form that the agent may put on its issue and take off

	tracker.Options // set by Open
}

// Project is a Projects v2 board and its single-select field.
type Project struct {
	Owner  string // "" for the owner of the repository
	Number int
	Field  string
}

// Kind returns the kind of tracker that a repository of GitHub is.
func Kind() tracker.Kind {
	return tracker.Kind{Name: "github", New: func() tracker.Config { return new(Config) }}
}

// Settings describes the settings; see [tracker.Config].
func (c *Config) Settings() []tracker.Setting {
	text := map[string]any{"type": "string", "minLength": 1}
	positive := map[string]any{"type": "integer", "minimum": 1}
	return []tracker.Setting{
		{
			Name: "repo", Defaults: []any{"$GITHUB_REPOSITORY"}, Required: true, Export: "OWNER/NAME",
			Meaning: "the repository whose issues are worked on; outside of Actions by default that of origin in the checkout, if that is on this GitHub",
			Want:    "owner/name",
			Decode:  tracker.DecodeText(&c.Repo, client.IsRepo),
		},
		{
			Name: "api_key", Defaults: []any{"$GITHUB_TOKEN"}, Required: true, Credential: true, Missing: tracker.ErrMissingSecret, Aliases: []string{"token"}, Export: "$(gh auth token)",
			Meaning: "the token, sent to api_url alone; `token` is another name of this setting",
			Want:    "a token without space or a line break",
			Decode:  tracker.DecodeText(&c.Token, isOneWord),
		},
		{
			Name: "api_url", Defaults: []any{"$GITHUB_API_URL", client.DefaultAPI}, Required: true, Mistaken: []string{"endpoint"},
			Meaning: "the REST API of the server",
			Want:    client.APIURLForm,
			Decode:  c.decodeAPIURL,
		},
		{
			Name:    "project",
			Meaning: "the board on which the state of an issue is the value of a single-select field; without an owner it is that of the repository, without a field Status",
			Want:    "number, owner and field, as in {owner: acme, number: 3, field: Status}",
			Schema: map[string]any{
				"type": "object", "required": []any{"number"}, "additionalProperties": false,
				"properties": map[string]any{"owner": text, "number": positive, "field": text},
			},
			Decode: c.decodeProject,
		},
		{
			Name:    "state_label_prefix",
			Meaning: "the state of an issue is what follows this in a label; ignored with a project",
			Want:    "text, as in \"status:\"",
			Decode:  c.decodeStateLabelPrefix,
		},
		{
			Name: "priority_labels", Defaults: []any{map[string]any{"p0": 1, "p1": 2, "p2": 3, "p3": 4}},
			Meaning: "the priority that a label gives, 1 before all others; of several the highest counts",
			Want:    "labels with their priority, a whole number from 1, as in {urgent: 1, low: 4}",
			Schema:  map[string]any{"type": "object", "additionalProperties": positive},
			Decode:  c.decodePriorities,
		},
		{
			Name: "trust", Defaults: []any{string(TrustMembers)},
			Meaning: "whose issues may reach the agent: see [Trust](#trust)",
			Want:    "members or anyone",
			Schema:  map[string]any{"enum": []any{string(TrustMembers), string(TrustAnyone)}},
			Decode:  tracker.DecodeChoice(&c.Trust, TrustMembers, TrustAnyone),
		},
		{
			Name:    "trust_label",
			Meaning: "a label with which somebody with write access vouches for the issue of a stranger",
			Want:    "the name of a label",
			Decode:  c.decodeTrustLabel,
		},
		{
			Name:    "tool_labels",
			Meaning: "labels that the agent may put on its issue, and take off",
			Want:    "a list of labels, as in [needs-review, blocked]",
			Schema:  map[string]any{"type": "array", "items": text},
			Decode:  c.decodeToolLabels,
		},
	}
}

// isOneWord reports whether a value may stand in a header or a URL.
func isOneWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// Server returns the address of the GitHub that has the issues; empty if api_url is wrong.
func (c *Config) Server() string {
	if c.APIURL == "" {
		return ""
	}
	return client.ServerOf(c.APIURL)
}

// decodeAPIURL keeps the root of the API without a slash at its end.
func (c *Config) decodeAPIURL(value any) bool {
	text, ok := value.(string)
	root, err := client.ParseAPIURL(text)
	c.APIURL = root
	return ok && err == nil
}

func (c *Config) decodeStateLabelPrefix(value any) bool {
	ok := tracker.DecodeText(&c.StateLabelPrefix)(value)
	c.StateLabelPrefix = strings.TrimLeft(c.StateLabelPrefix, " \t")
	return ok
}

func (c *Config) decodeTrustLabel(value any) bool {
	ok := tracker.DecodeText(&c.TrustLabel)(value)
	c.TrustLabel = tracker.NormalLabel(c.TrustLabel)
	return ok
}

func (c *Config) decodeToolLabels(value any) bool {
	list, ok := value.([]any)
	c.ToolLabels = nil
	for _, v := range list {
		text, isText := v.(string)
		label := tracker.NormalLabel(text)
		ok = ok && isText && label != ""
		c.ToolLabels = append(c.ToolLabels, label)
	}
	return ok
}

func (c *Config) decodeProject(value any) bool {
	p := &Project{Field: defaultField}
	fields, ok := value.(map[string]any)
	for key, v := range fields {
		switch key {
		case "owner":
			ok = ok && tracker.DecodeText(&p.Owner, isOneWord)(v)
		case "number":
			n, isNumber := v.(int)
			p.Number, ok = n, ok && isNumber
		case "field":
			ok = ok && tracker.DecodeText(&p.Field)(v) && p.Field != ""
		default:
			ok = false
		}
	}
	c.Project = p
	return ok && p.Number > 0
}

func (c *Config) decodePriorities(value any) bool {
	labels, ok := value.(map[string]any)
	c.PriorityLabels = make(map[string]int, len(labels))
	for label, v := range labels {
		n, isNumber := v.(int)
		ok = ok && isNumber && n > 0
		c.PriorityLabels[tracker.NormalLabel(label)] = n
	}
	return ok
}

// Scope returns the repository, and the board that gives the states.
func (c *Config) Scope() string {
	if c.Project == nil {
		return c.Repo
	}
	owner, _, _ := strings.Cut(c.Repo, "/")
	return fmt.Sprintf("%s on project %s/%d", c.Repo, cmp.Or(c.Project.Owner, owner), c.Project.Number)
}

// IDScope returns a name for the repository.
func (c *Config) IDScope(string) string {
	return "the project of the GitHub repository " + strings.ToLower(c.Repo)
}

// Folder returns nothing: no issue is a file.
func (c *Config) Folder() string { return "" }

// States returns the states that issues can have. With labels or a board, people define them:
// the first read compares the workflow's states with the existing ones.
func (c *Config) States() tracker.States {
	if c.Project != nil || c.StateLabelPrefix != "" {
		return tracker.States{Reason: "with state labels or a project the states have no default"}
	}
	return tracker.States{
		Active: []string{stateOpen}, Terminal: []string{stateClosed}, Only: []string{stateOpen, stateClosed},
		Reason: "without tracker.provider.state_label_prefix or project",
	}
}

// warnings returns the warnings of every report about these settings.
func (c Config) warnings() []string {
	var warnings []string
	if c.Trust == TrustAnyone {
		warnings = append(warnings, "tracker.provider.trust is \"anyone\": text by strangers reaches the agent")
	}
	closed := func(state string) bool { return tracker.NormalState(state) == stateClosed }
	if len(c.TerminalStates) > 0 && !slices.ContainsFunc(c.TerminalStates, closed) {
		warnings = append(warnings, "tracker.terminal_states lacks \"closed\": a closed issue counts neither as done nor as a blocker that is out of the way")
	}
	return warnings
}

func invalid(key, format string, args ...any) error {
	return fmt.Errorf("github tracker: %w: tracker.provider.%s %s", tracker.ErrInvalidConfig, key, fmt.Sprintf(format, args...))
}
