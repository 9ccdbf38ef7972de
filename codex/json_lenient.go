package codex

import (
	"encoding/json"
	"strings"
)

// decodeLenient decodes the readable part of a message into v, and drops the error. The
// messages of servers differ between versions, and sessions have to work with all of them. A
// field of an unexpected type leaves the other fields readable. A message without a readable
// part leaves v as it was, which means to the caller that the server did not say it. Messages
// that must be understood are decoded with json.Unmarshal instead.
func decodeLenient(raw json.RawMessage, v any) { _ = json.Unmarshal(raw, v) }

// into returns a function that decodes the readable part of an answer into v.
func into(v any) func(result json.RawMessage) error {
	return func(result json.RawMessage) error {
		decodeLenient(result, v)
		return nil
	}
}

// object holds the fields of a JSON object under names that both spellings of the
// protocol share: input_tokens and inputTokens become inputtokens.
type object map[string]json.RawMessage

// members decodes an object. It returns nil for anything that is not an object.
func members(raw json.RawMessage) object {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	shared := make(object, len(fields))
	for name, value := range fields {
		shared[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = value
	}
	return shared
}

// member returns the member of a name, or nil if it is missing or null.
func (o object) member(name string) json.RawMessage {
	if value := o[name]; present(value) {
		return value
	}
	return nil
}

// text returns the first of the named members that is a non-empty string, or "".
func (o object) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(o[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// member returns one member of an object that is decoded for it alone.
func member(raw json.RawMessage, name string) json.RawMessage { return members(raw).member(name) }

// textMember returns one text of an object that is decoded for it alone.
func textMember(raw json.RawMessage, names ...string) string { return members(raw).text(names...) }
