package redact

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// mark stands for what was hidden.
const mark = "***"

// The bounds of a secret, in bytes, without the white space around it. A shorter
// one would be found all over ordinary text; no environment holds a longer one.
const (
	MinLength = 6
	MaxLength = 64 << 10
)

// ErrRefused is why a value cannot be redacted: see [Redactor.Add].
var ErrRefused = errors.New("secret_refused")

// Redactor hides secrets. It may be used and added to by several goroutines.
type Redactor struct {
	shapes  *finder
	secrets atomic.Pointer[finder]

	mu        sync.Mutex          // guards spellings
	spellings map[string]struct{} // of all secrets
}

// New makes a Redactor of the token shapes and these secrets. Those that
// [Redactor.Add] refuses are left out.
func New(secrets ...string) *Redactor {
	r := &Redactor{shapes: findShapes(shapes), spellings: map[string]struct{}{}}
	for _, secret := range secrets {
		_ = r.spell(secret)
	}
	r.secrets.Store(findSecrets(r.spellings))
	return r
}

// Add hides one more secret from now on. White space around it does not count,
// and an empty one is nothing to hide. An [ErrRefused] says why a secret cannot
// be hidden: it is shorter than [MinLength], longer than [MaxLength], or mostly
// asterisks.
func (r *Redactor) Add(secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.spell(secret); err != nil {
		return err
	}
	r.secrets.Store(findSecrets(r.spellings))
	return nil
}

func (r *Redactor) spell(secret string) error {
	secret = strings.TrimSpace(secret)
	switch {
	case secret == "":
		return nil
	case len(secret) < MinLength:
		return fmt.Errorf("hide secret: %w: it has fewer than %d bytes and would be found in ordinary text; use a longer one", ErrRefused, MinLength)
	case len(secret) > MaxLength:
		return fmt.Errorf("hide secret: %w: it has more than %d bytes; check that it is the secret, not a file of something else", ErrRefused, MaxLength)
	case len(core(secret)) < MinLength:
		return fmt.Errorf("hide secret: %w: without its asterisks it has fewer than %d bytes, and asterisks stand for what is hidden; use another one", ErrRefused, MinLength)
	}
	addSpellings(r.spellings, secret)
	if lines := strings.FieldsFunc(secret, isLineEnd); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= MinLength {
				addSpellings(r.spellings, line)
			}
		}
	}
	return nil
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// String is s without secrets.
func (r *Redactor) String(s string) string {
	secrets := r.secrets.Load()
	if next(secrets.grams, s, 0) == len(s) && next(r.shapes.grams, s, 0) == len(s) {
		return s
	}
	return string(r.hide(secrets, []byte(s)))
}

// Bytes is b without secrets: b itself when nothing in it may be one. It never
// changes b.
func (r *Redactor) Bytes(b []byte) []byte {
	secrets := r.secrets.Load()
	if next(secrets.grams, b, 0) == len(b) && next(r.shapes.grams, b, 0) == len(b) {
		return b
	}
	return r.hide(secrets, b)
}

func (r *Redactor) hide(secrets *finder, text []byte) []byte {
	text = (&scan{buf: text}).feed(secrets, nil, nil, true)
	return (&scan{buf: text}).feed(r.shapes, nil, nil, true)
}
