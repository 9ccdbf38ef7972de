package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/transport"
)

// parseTokenURL checks the address of a token endpoint.
func parseTokenURL(text string) (string, error) {
	if _, err := transport.ParseAddress(text); err != nil {
		return "", fmt.Errorf("%w; write the https address of the token endpoint", err)
	}
	return text, nil
}

// ownFields lists the fields of an exchange that the program sets, and secretWords the words in
// the names of fields that would hold a secret.
var (
	ownFields   = []string{"grant_type", "subject_token", "assertion"}
	secretWords = []string{"secret", "password", "private_key", "api_key"}
)

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
				f.refuse(entry, "would put a secret into this file; an exchange needs none, and identity.command can do any other")
			case slices.Contains(ownFields, name):
				f.reject(entry, "is set by the program; remove it")
			}
		}
		if len(entries) > 0 {
			*to = entries
		}
	}, mapSchema(textSchema())}
}
