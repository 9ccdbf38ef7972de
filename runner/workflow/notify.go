package workflow

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/internal/lazy"
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

// Project returns the name of the project for people outside of it: the name of its repository on
// a server, or else of its folder.
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

var destinationName = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,39}$`)

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
			if at.node = at.resolved(); at.node == nil || at.node.Kind != yaml.MappingNode {
				d.refuse(at, "must be a map, such as {kind: slack, url: $SLACK_WEBHOOK, events: [parked]}")
				continue
			}
			at.line, at.column = at.node.Line, at.node.Column
			destinationReader{d.forms, d.front, to, at, map[string]value{}}.read()
		}
	}, list}
}

// destinationReader reads one destination.
type destinationReader struct {
	forms
	*front
	to     *Notify
	at     value
	fields map[string]value // the keys that are written
}

// read adds the destination, if it can be used.
func (r destinationReader) read() {
	before := len(r.problems)
	for _, v := range r.children(r.at) {
		name := strings.TrimPrefix(v.key, r.at.key+".")
		r.fields[name] = v
		if !slices.Contains(destinationKeys, name) {
			r.refuse(v, "is unknown; a destination has %s", strings.Join(destinationKeys, ", "))
		}
	}
	kind, _ := r.fields["kind"].raw.(string)
	made := notify.Destination{Kind: notify.Kind(kind), Name: kind, Events: r.events()}
	if !slices.Contains(notify.Kinds(), made.Kind) {
		r.rejectField("kind", "must be "+strings.Join(kindWords(), ", "))
	}
	named, isNamed := r.fields["name"]
	if isNamed {
		made.Name, _ = named.raw.(string)
	}
	switch {
	case !destinationName().MatchString(made.Name):
		if isNamed || len(r.problems) == before {
			r.rejectField("name", "must be a word of at most 40 letters, digits, - and _, in lower case")
		}
	case slices.ContainsFunc(r.to.Destinations, func(other notify.Destination) bool { return other.Name == made.Name }):
		r.refuse(r.at, "has the name %s, as another destination has; write a name of its own", made.Name)
	}
	made.URL = r.secret("url")
	r.checkAddress(made.URL)
	if made.Kind == notify.Webhook {
		if made.Secret = r.secret("secret"); made.Secret == "" {
			made.URL = "" // it is off without its signature
		}
	} else if v, written := r.fields["secret"]; written {
		r.refuse(v, "is for the kind webhook alone, which is signed with it; remove it")
	}
	if len(r.problems) == before {
		r.to.Destinations = append(r.to.Destinations, made)
	}
}

// rejectField records a problem of a key, which may be missing.
func (r destinationReader) rejectField(name, reason string) {
	if v, written := r.fields[name]; written {
		r.reject(v, "%s", reason)
		return
	}
	missing := r.at
	missing.key += "." + name
	r.refuse(missing, "is missing; it %s", reason)
}

func (r destinationReader) events() []notify.Event {
	var events []notify.Event
	known, v := notify.Events(), r.fields["events"]
	if items, ok := v.raw.([]any); !ok || len(items) == 0 {
		r.refuse(value{key: r.at.key + ".events", line: r.at.line, column: r.at.column}, "is missing; it must be a list of %s", strings.Join(eventWords(), ", "))
		return nil
	}
	r.list(v, func(item value, name string) {
		switch event := notify.Event(name); {
		case !slices.Contains(known, event):
			r.reject(item, "is no event; there are %s", strings.Join(eventWords(), ", "))
		case !slices.Contains(events, event):
			events = append(events, event)
		}
	})
	return events
}

// secret returns the value of the variable that a key names; empty if it is not set. The text
// itself is refused and not shown: it is a secret, and the file is public to everybody who can
// read the repository.
func (r destinationReader) secret(key string) string {
	v, written := r.fields[key]
	name, isVariable := variableName(v.raw)
	switch {
	case !written:
		r.rejectField(key, "must be the name of an environment variable, such as $SLACK_WEBHOOK")
		return ""
	case !isVariable:
		r.refuse(v, "is a secret, so it must be the name of an environment variable that holds it, such as $SLACK_WEBHOOK")
		return ""
	}
	if !slices.Contains(r.to.SecretEnv, name) {
		r.to.SecretEnv = append(r.to.SecretEnv, name)
	}
	text := r.lookupVariable(name)
	if text == "" {
		r.warn(v, "%s is off: the environment variable %s is not set or empty", r.at.key, name)
	}
	return text
}

// checkAddress records a problem for an address that no message can be sent to, and a warning
// for one that only some runners reach. It does not show the address.
func (r destinationReader) checkAddress(address string) {
	if address == "" {
		return
	}
	u, err := transport.ParseAddress(address)
	if err != nil {
		r.rejectField("url", "must hold an https URL: the variable holds something else")
		return
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if host := u.Hostname(); err == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()) ||
		err != nil && (!strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")) {
		r.warn(r.fields["url"], "%s.url leads to a private network: only runners of that network reach it, and not those of GitHub", r.at.key)
	}
}

// words returns texts of a named type as plain ones.
func words[T ~string](all []T) []string {
	var words []string
	for _, word := range all {
		words = append(words, string(word))
	}
	return words
}

func kindWords() []string { return words(notify.Kinds()) }

func eventWords() []string { return words(notify.Events()) }
