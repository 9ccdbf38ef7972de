package redact

import (
	"bytes"
	"strings"
)

// Search looks for secrets in the text written to it, in every encoding that a [Redactor]
// hides.
type Search struct {
	finder  *finder
	longest int    // length of the longest encoding
	end     []byte // end of the written text, one byte shorter than the longest encoding
	found   bool
}

// NewSearch returns a search for whole secrets: unlike [New], it does not count their lines. White
// space around a secret does not count, and secrets of less than 6 bytes are left out.
func NewSearch(secrets ...string) *Search {
	encodings := map[string]struct{}{}
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) >= minLength {
			addEncodings(encodings, secret)
		}
	}
	s := &Search{finder: findSecrets(encodings)}
	for encoding := range encodings {
		s.longest = max(s.longest, len(encoding))
	}
	return s
}

// Reset forgets the text written so far.
func (s *Search) Reset() { s.end, s.found = nil, false }

// Found reports whether a secret was written since the last Reset.
func (s *Search) Found() bool { return s.found }

// Write never fails.
func (s *Search) Write(p []byte) (int, error) {
	if s.longest == 0 || s.found {
		return len(p), nil
	}
	border := append(s.end, p[:min(len(p), s.longest)]...)
	s.found = s.holds(p) || len(s.end) > 0 && s.holds(border)
	all := append(s.end, p[max(0, len(p)-s.longest):]...)
	s.end = bytes.Clone(all[max(0, len(all)-s.longest+1):])
	return len(p), nil
}

// holds reports whether a secret stands in a text.
func (s *Search) holds(text []byte) bool {
	for range s.finder.spans(text) {
		return true
	}
	return false
}
