package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// issueTime bounds the time in which a token has to be there, with all requests and their
	// repetitions.
	issueTime = 50 * time.Second
	// unknownLife is the life of a token that does not say how long it lives.
	unknownLife = 12 * time.Minute
	// minLife is the shortest life of a token with which a session can work: a request to the
	// model has to begin within a part of it.
	minLife = time.Minute
	// maxLife bounds the time between two renewals for a token that lives for days.
	maxLife = time.Hour
	// maxToken bounds a token in bytes. Servers accept a header of 8 KiB and more.
	maxToken = 16 << 10
)

// Token is a bearer token for the model.
type Token struct {
	Value  string
	Issued time.Time
	Life   time.Duration // time from Issued to its end
}

// newToken returns the token of a value that lives for so long; not positive if that is not
// known.
func newToken(value string, life time.Duration, now time.Time) (Token, error) {
	const operation = "read the token"
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return Token{}, refused(operation, "there is none: it has to be one line")
	case len(value) > maxToken:
		return Token{}, refused(operation, "it has %d bytes, at most %d can be sent with a request", len(value), maxToken)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }):
		return Token{}, refused(operation, "it is not one word: nothing else may be printed")
	}
	if c, ok := readClaims(value); ok && life <= 0 && c.End > 0 {
		life = time.Unix(c.End, 0).Sub(now)
	} else if life <= 0 {
		life = unknownLife
	}
	if life < minLife {
		return Token{}, refused(operation, "it lives for %v, and a session needs %v: let the provider give tokens that live longer", life.Round(time.Second), minLife)
	}
	return Token{Value: value, Issued: now, Life: min(life, maxLife)}, nil
}

// isFresh reports whether a token can be given to a session: half of its life is left.
func (t Token) isFresh(now time.Time) bool {
	return t.Value != "" && now.Sub(t.Issued) <= t.Life/2
}

// Interval returns the time after which Codex should ask for another token. Each one that it
// gets lives longer than this.
func (t Token) Interval() time.Duration { return t.Life * 2 / 5 }

// Source gives tokens to all sessions of the program. Any number of goroutines may use it.
type Source struct {
	issue  func(context.Context) (Token, error)
	secret func(string)

	mu      sync.Mutex
	current Token
	pending *issuing // nil while nobody asks for a new one
}

// issuing is a request for a new token, for which any number of callers wait.
type issuing struct {
	done  chan struct{} // closed when token and err are set
	token Token
	err   error
}

// NewSource returns a source of the tokens of issue. It calls secret with each token before
// anybody else gets it, to have it hidden everywhere.
func NewSource(issue func(context.Context) (Token, error), secret func(string)) *Source {
	return &Source{issue: issue, secret: secret}
}

// Of returns an issue function for [NewSource] from a function that returns nothing but the
// value of a token, such as the output of a command.
func Of(value func(context.Context) (string, error)) func(context.Context) (Token, error) {
	return func(ctx context.Context) (Token, error) {
		text, err := value(ctx)
		if err != nil {
			return Token{}, err
		}
		return newToken(text, 0, time.Now())
	}
}

// Token returns a token that is not the used one: whoever asks again has one that ends soon, or
// that the model refuses. Callers at the same time share one request for a new token. An empty
// used accepts every token. The errors are [ErrRefused], [ErrUnavailable] and the cause of ctx.
func (s *Source) Token(ctx context.Context, used string) (Token, error) {
	s.mu.Lock()
	if s.current.Value != used && s.current.isFresh(time.Now()) {
		defer s.mu.Unlock()
		return s.current, nil
	}
	p := s.pending
	if p == nil {
		p = &issuing{done: make(chan struct{})}
		s.pending = p
		go s.renew(context.WithoutCancel(ctx), p) // for all callers, so it does not end with one of them
	}
	s.mu.Unlock()
	select {
	case <-p.done:
		return p.token, p.err
	case <-ctx.Done():
		return Token{}, context.Cause(ctx)
	}
}

func (s *Source) renew(ctx context.Context, p *issuing) {
	late := fmt.Errorf("%w: no token within %v: see that the token endpoint can be reached, or try again later", ErrUnavailable, issueTime)
	ctx, cancel := context.WithTimeoutCause(ctx, issueTime, late)
	defer cancel()
	p.token, p.err = s.issue(ctx)
	if p.err == nil {
		s.secret(p.token.Value)
	} else if ctx.Err() != nil {
		p.err = late
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.err == nil {
		s.current = p.token
	}
	s.pending = nil
	close(p.done)
}

// claims are the statements of a token that is a JWT.
type claims struct {
	Audience any    `json:"aud"`
	Subject  string `json:"sub"`
	End      int64  `json:"exp"`
}

// readClaims returns the claims of a token, without any check of them.
func readClaims(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &c) != nil {
		return claims{}, false
	}
	return c, true
}
