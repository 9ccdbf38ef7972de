package codex

import (
	"encoding/json"
	"strings"
)

// members are the fields of an object, under names that both spellings of the
// protocol share: input_tokens and inputTokens are inputtokens. Anything else
// has none.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	shared := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		shared[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = value
	}
	return shared
}

// member is one of the members; nil when it is missing or null.
func member(raw json.RawMessage, name string) json.RawMessage {
	if value := members(raw)[name]; present(value) {
		return value
	}
	return nil
}

// text is the first of the named members that is a text with something in it.
func text(raw json.RawMessage, names ...string) string {
	fields := members(raw)
	for _, name := range names {
		var s string
		if json.Unmarshal(fields[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}
