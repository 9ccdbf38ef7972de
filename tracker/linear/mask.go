package linear

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// minSecret is the length from which a credential can be told from an ordinary
// word. Linear's keys have 48 characters.
const minSecret = 8

// mask takes the credential out of everything that comes from outside.
type mask struct {
	forms    []string // how the credential may be written
	replacer *strings.Replacer
}

func newMask(key string) mask {
	secret := strings.TrimPrefix(key, "Bearer ")
	if len(secret) < minSecret {
		return mask{replacer: strings.NewReplacer()}
	}
	inJSON, _ := json.Marshal(secret) // a string can always be encoded
	m := mask{forms: []string{secret, strings.Trim(string(inJSON), `"`), url.QueryEscape(secret)}}
	var pairs []string
	for _, form := range m.forms {
		pairs = append(pairs, form, "[secret]")
	}
	m.replacer = strings.NewReplacer(pairs...)
	return m
}

// clean returns the text without the credential: the same bytes when it is not there.
func (m mask) clean(text []byte) []byte {
	holds := func(form string) bool { return bytes.Contains(text, []byte(form)) }
	if !slices.ContainsFunc(m.forms, holds) {
		return text
	}
	return []byte(m.replacer.Replace(string(text)))
}

// quote returns text of the server in the form for an error: masked, short, on one line.
func (m mask) quote(text string) string {
	return strconv.Quote(untrusted.Truncate(m.replacer.Replace(text), 300))
}
