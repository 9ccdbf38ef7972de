package workflow

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/runner/notify"
)

// maxDestinations bounds the destinations of notices.
const maxDestinations = 10

// Notify holds the destinations of notices.
type Notify struct {
	Destinations []notify.Destination
	QuietDays    int      // days without a session that ended well, after which destinations are told; positive
	SecretEnv    []string // environment variables with an address or a key
}

// Project returns the name of the project for people outside of it: that of its repository on a
// server, or else of its folder.
func (w Workflow) Project() string {
	if r := w.Settings.Repository; r != nil && strings.Contains(r.Remote, "://") {
		_, path, _ := strings.Cut(r.Remote, "://")
		_, path, _ = strings.Cut(strings.TrimSuffix(path, ".git"), "/")
		return path
	}
	return filepath.Base(filepath.Dir(w.Path))
}

// credentials returns the addresses and keys. The path of an address is one as well: messages of
// libraries can name it without the host.
func (n Notify) credentials() []string {
	var all []string
	for _, d := range n.Destinations {
		all = append(all, d.URL, d.Secret)
		if u, err := url.Parse(d.URL); err == nil && len(u.RequestURI()) > len("/0123456789") {
			all = append(all, u.RequestURI())
		}
	}
	return slices.DeleteFunc(all, func(secret string) bool { return secret == "" })
}

// destinationKeys are the keys of one destination.
var destinationKeys = []string{"kind", "name", "url", "secret", "events"}

var destinationName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`) })

// destinations decodes the destinations of notices. Anything that cannot be used is a problem,
// except a variable that is not set: such a destination is off, and the work goes on.
func (d *decoder) destinations(to *Notify) form {
	variable := object{"type": "string", "pattern": `^\s*\$`}
	item := object{
		"type": "object", "additionalProperties": false, "required": []any{"kind", "url", "events"},
		"properties": object{
			"kind": choiceSchema(kindWords()...), "name": nonemptySchema(), "url": variable, "secret": variable,
			"events": object{"type": "array", "minItems": 1, "items": choiceSchema(eventWords()...)},
		},
	}
	list := listSchema(item)
	list["maxItems"] = maxDestinations
	return form{func(v value) {
		items, ok := v.raw.([]any)
		if !ok || len(items) > maxDestinations {
			d.reject(v, "must be a list of at most %d destinations, such as [{kind: slack, url: $SLACK_WEBHOOK, events: [parked, question]}]", maxDestinations)
			return
		}
		for i := range items {
			at := value{key: fmt.Sprintf("%s[%d]", v.key, i), line: v.line, column: v.column, raw: items[i], node: v.item(i)}
			if at.node != nil && at.node.Kind == yaml.AliasNode {
				at.node = at.node.Alias
			}
			if at.node == nil || at.node.Kind != yaml.MappingNode {
				d.add(Problem{Key: at.key, Line: at.line, Column: at.column, Reason: "must be a map, such as {kind: slack, url: $SLACK_WEBHOOK, events: [parked]}"})
				continue
			}
			at.line, at.column = at.node.Line, at.node.Column
			d.destination(at, to)
		}
	}, list}
}

// destination decodes one destination and adds it, if it can be used.
func (d *decoder) destination(at value, to *Notify) {
	before := len(d.problems)
	fields := map[string]value{}
	for _, v := range d.children(at) {
		name := strings.TrimPrefix(v.key, at.key+".")
		fields[name] = v
		if !slices.Contains(destinationKeys, name) {
			d.add(Problem{Key: v.key, Line: v.line, Column: v.column, Reason: "is unknown; a destination has " + strings.Join(destinationKeys, ", ")})
		}
	}
	made := notify.Destination{Name: "", Events: d.events(at, fields["events"])}
	kind, _ := fields["kind"].raw.(string)
	if made.Kind = notify.Kind(kind); !slices.Contains(notify.Kinds(), made.Kind) {
		d.rejectField(at, fields, "kind", "must be "+strings.Join(kindWords(), ", "))
	}
	made.Name = kind
	if v, written := fields["name"]; written {
		made.Name, _ = v.raw.(string)
	}
	switch {
	case !destinationName().MatchString(made.Name):
		if _, written := fields["name"]; written || len(d.problems) == before {
			d.rejectField(at, fields, "name", "must be a word of at most 40 letters, digits, - and _, in lower case")
		}
	case slices.ContainsFunc(to.Destinations, func(other notify.Destination) bool { return other.Name == made.Name }):
		d.add(Problem{Key: at.key, Line: at.line, Column: at.column, Reason: fmt.Sprintf("has the name %s, as another destination has; write a name of its own", made.Name)})
	}
	made.URL = d.secretOf(at, fields, "url", to)
	d.checkAddress(at, fields, made.URL)
	if made.Kind == notify.Webhook {
		if made.Secret = d.secretOf(at, fields, "secret", to); made.Secret == "" {
			made.URL = "" // it is off without its signature
		}
	} else if v, written := fields["secret"]; written {
		d.add(Problem{Key: v.key, Line: v.line, Column: v.column, Reason: "is for the kind webhook alone, which is signed with it; remove it"})
	}
	if len(d.problems) == before {
		to.Destinations = append(to.Destinations, made)
	}
}

// rejectField records a problem of a key of a destination, which may be missing.
func (d *decoder) rejectField(at value, fields map[string]value, name, reason string) {
	if v, written := fields[name]; written {
		d.reject(v, "%s", reason)
		return
	}
	d.add(Problem{Key: at.key + "." + name, Line: at.line, Column: at.column, Reason: "is missing; it " + reason})
}

// events decodes the events that a destination is told of.
func (d *decoder) events(at, v value) []notify.Event {
	var events []notify.Event
	known := notify.Events()
	if items, ok := v.raw.([]any); !ok || len(items) == 0 {
		d.rejectField(at, map[string]value{}, "events", "must be a list of "+strings.Join(eventWords(), ", "))
		return nil
	}
	d.list(v, func(item value, name string) {
		switch event := notify.Event(name); {
		case !slices.Contains(known, event):
			d.reject(item, "is no event; there are %s", strings.Join(eventWords(), ", "))
		case !slices.Contains(events, event):
			events = append(events, event)
		}
	})
	return events
}

// secretOf returns the value of the variable that a key of a destination names; empty if it is
// not set. The text itself is refused and not shown: it is a secret, and the file is public to
// everybody who can read the repository.
func (d *decoder) secretOf(at value, fields map[string]value, key string, to *Notify) string {
	v, written := fields[key]
	name, isVariable := variableName(v.raw)
	switch {
	case !written:
		d.rejectField(at, fields, key, "must be the name of an environment variable, such as $SLACK_WEBHOOK")
		return ""
	case !isVariable:
		d.add(Problem{Key: v.key, Line: v.line, Column: v.column, Reason: "is a secret, so it must be the name of an environment variable that holds it, such as $SLACK_WEBHOOK"})
		return ""
	}
	if !slices.Contains(to.SecretEnv, name) {
		to.SecretEnv = append(to.SecretEnv, name)
	}
	text := d.lookupVariable(name)
	if text == "" {
		d.warn(v, "%s is off: the environment variable %s is not set or empty", at.key, name)
	}
	return text
}

// checkAddress records a problem for an address that no message can be sent to, and a warning
// for one that only some runners reach. It does not show the address.
func (d *decoder) checkAddress(at value, fields map[string]value, address string) {
	if address == "" {
		return
	}
	u, err := transport.ParseAddress(address)
	if err != nil {
		d.rejectField(at, fields, "url", "must hold an https URL: the variable holds something else")
		return
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if host := u.Hostname(); err == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()) ||
		err != nil && (!strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")) {
		d.warn(fields["url"], "%s.url leads to a private network: only runners of that network reach it, and not those of GitHub", at.key)
	}
}

func kindWords() []string {
	var words []string
	for _, k := range notify.Kinds() {
		words = append(words, string(k))
	}
	return words
}

func eventWords() []string {
	var words []string
	for _, e := range notify.Events() {
		words = append(words, string(e))
	}
	return words
}
