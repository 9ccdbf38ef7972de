package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
)

// tokenURL decodes the address of a token endpoint.
func (f forms) tokenURL(to *string) form {
	text := f.text(to)
	return form{func(v value) {
		text.decode(v)
		if *to == "" {
			return
		}
		if _, err := transport.ParseAddress(*to); err != nil {
			f.reject(v, "%v; write the https address of the token endpoint", err)
			*to = ""
		}
	}, textSchema()}
}

// ownFields lists the fields of an exchange that the program sets, and secretWords the words in
// the names of fields that would hold a secret.
var (
	ownFields   = []string{"grant_type", "subject_token", "assertion"}
	secretWords = []string{"secret", "password", "private_key", "api_key"}
)

// exchangeFields decodes the fields of an exchange.
func (f forms) exchangeFields(to *map[string]string) form {
	return form{func(v value) {
		var entries map[string]string
		if _, isMap := v.raw.(map[string]any); !isMap || v.node.Decode(&entries) != nil {
			f.reject(v, "must be a map from fields to texts, such as {client_id: abc}")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			entry := v
			entry.key, entry.raw = v.key+"."+truncate(name), entries[name]
			isSecret := slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(strings.ToLower(name), word) })
			switch {
			case isSecret:
				f.add(Problem{Key: entry.key, Line: v.line, Column: v.column, Reason: "would put a secret into this file; an exchange needs none, and identity.command can do any other"})
			case slices.Contains(ownFields, name):
				f.reject(entry, "is set by the program; remove it")
			}
		}
		if len(entries) > 0 {
			*to = entries
		}
	}, mapSchema(textSchema())}
}
