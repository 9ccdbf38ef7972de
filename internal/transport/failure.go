package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Answer is the complete answer of a server without the token.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Name returns the status with its name, where it has one.
func (a Answer) Name() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
}

// Decode reads the answer, which must be JSON, into v. It fails with an [Error].
func (a Answer) Decode(v any) error {
	err := fmt.Errorf("content type %q instead of JSON", text.Truncate(a.Header.Get("Content-Type"), maxText))
	if a.IsJSON() {
		err = json.Unmarshal(a.Body, v)
	}
	if err != nil {
		return &Error{Kind: Unreadable, Answer: a, Reason: text.OneLine(err.Error(), maxText)}
	}
	return nil
}

// IsJSON reports whether the answer says that it is JSON.
func (a Answer) IsJSON() bool {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// Kind is the kind of a failure of a request.
type Kind int

// The kinds of failure.
const (
	NotSent     Kind = iota // the request does not go to the server of the Transport
	Unanswered              // no complete answer: the request may have been carried out
	Refused                 // the answer has another status than 2xx
	RateLimited             // the server asks to wait
	Unreadable              // the answer is too large, or has not the form that was asked for
)

// ErrTooLong reports an answer that is too long to be read. A request for less may succeed.
var ErrTooLong = errors.New("the answer is too long")

// Error is the failure of a request.
type Error struct {
	Kind   Kind
	Answer Answer        // answer of the server; zero if it gave none
	Wait   time.Duration // wait that the server asks for; 0 if it does not say
	Reason string        // cause of the failure
	Remedy string        // remedy; empty if nothing is to be done
	Err    error         // wrapped error, such as the cause of the ended context; may be nil
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Remedy
}

func (e *Error) Unwrap() error { return e.Err }

// InDoubt reports whether the request may have been carried out although it failed.
func (e *Error) InDoubt() bool {
	return e.Kind == Unanswered || e.Kind == Unreadable || e.Kind == Refused && e.Answer.Status >= 500
}

// Interrupted returns the error of a request whose context has ended. It wraps the
// cause.
func Interrupted(ctx context.Context) *Error {
	cause := context.Cause(ctx)
	return &Error{Kind: Unanswered, Reason: cause.Error(), Err: cause}
}
