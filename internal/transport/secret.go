package transport

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// minSecret is the least length, in bytes, of a token that is searched for: a shorter one
// could be an ordinary word.
const minSecret = 8

// secret removes a token from the answers of a server, however it is written there. The zero
// value removes nothing.
type secret struct {
	forms []string // spellings of the token
}

// newSecret returns the secret in the value of an Authorization header.
func newSecret(authorization string) secret {
	token := authorization[strings.LastIndexByte(authorization, ' ')+1:]
	if len(token) < minSecret {
		return secret{}
	}
	inJSON, _ := json.Marshal(token) // a string can always be encoded
	return secret{slices.Compact([]string{token, strings.Trim(string(inJSON), `"`), url.QueryEscape(token)})}
}

func (s secret) clean(text string) string {
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, "[secret]")
	}
	return text
}

// cleanBytes returns the same bytes if the token is not among them.
func (s secret) cleanBytes(text []byte) []byte {
	if !slices.ContainsFunc(s.forms, func(form string) bool { return bytes.Contains(text, []byte(form)) }) {
		return text
	}
	return []byte(s.clean(string(text)))
}

// maxText bounds the part of a server's text in an error, in runes.
const maxText = 120

// Quote returns a server's text in the form for an error: without the token, short,
// quoted, on one line.
func (t *Transport) Quote(s string) string {
	return strconv.Quote(text.Truncate(t.secret.clean(s), maxText))
}

// Says returns a server's message as the continuation of an error, such as
// `, GitHub says "no"`; "" if it is blank.
func (t *Transport) Says(server, message string) string {
	if strings.TrimSpace(message) == "" {
		return ""
	}
	return ", " + server + " says " + t.Quote(message)
}
