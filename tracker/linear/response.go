package linear

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	codeLimited      = "RATELIMITED"
	codeUnauthorized = "AUTHENTICATION_ERROR"

	otherAddress = "see that tracker.endpoint is the address of Linear's GraphQL API"
	otherKey     = "see that tracker.api_key is valid and may read the project"
)

// newWire returns the transport for everything that talks to Linear.
func newWire(cfg Config, base http.RoundTripper, log *slog.Logger) (*transport.Transport, error) {
	t, err := transport.New(cfg.Endpoint, cfg.APIKey, base)
	if err != nil {
		return nil, invalid("tracker.endpoint %v: write an https address such as %s", err, defaultEndpoint)
	}
	t.Log, t.Limited = log, rateLimit
	return t, nil
}

// rateLimit returns true for an answer that is a rate limit, and its length: for the
// exhausted limits, and when none is said to be exhausted (a query may cost more
// than what remains), until the first is reset. Linear sends these headers with
// every answer, so they mean nothing elsewhere.
func rateLimit(a transport.Answer) (time.Duration, bool) {
	coded := bytes.Contains(a.Body, []byte(codeLimited)) && parse(a.Body).has(codeLimited)
	if a.Status != http.StatusTooManyRequests && !coded {
		return 0, false
	}
	if wait, ok := transport.RetryAfter(a.Header); ok {
		return wait, true
	}
	var first, exhausted time.Duration
	for _, name := range []string{"Requests-", "Endpoint-Requests-", "Complexity-"} {
		limit, ok := transport.ReadLimit(a.Header, name, time.UnixMilli)
		if !ok {
			continue
		}
		if limit.Exhausted {
			exhausted = max(exhausted, limit.Reset)
		}
		if first == 0 || limit.Reset < first {
			first = limit.Reset
		}
	}
	if exhausted > 0 {
		return exhausted, true
	}
	return first, true
}

// envelope is any GraphQL answer; the zero value is for one that is not JSON.
type envelope struct {
	Data   json.RawMessage `json:"data"`
	Errors []graphqlError  `json:"errors"`
	valid  bool
}

type graphqlError struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

func parse(body []byte) envelope {
	var e envelope
	if json.Unmarshal(body, &e) != nil {
		return envelope{}
	}
	e.valid = true
	return e
}

func (e envelope) has(code string) bool {
	return slices.ContainsFunc(e.Errors, func(one graphqlError) bool { return one.Extensions.Code == code })
}

// message returns the words of the first error that has any.
func (e envelope) message() string {
	for _, one := range e.Errors {
		if strings.TrimSpace(one.Message) != "" {
			return one.Message
		}
	}
	return ""
}

// refusal is the reason why an answer of status 200 is not a result. It leaves a RoundTripper,
// so the GraphQL client, which keeps neither status nor headers nor codes, passes it on.
type refusal struct {
	error         // category and reason
	answer []byte // the answer, if it is a GraphQL answer with errors
}

func (r *refusal) Unwrap() error { return r.error }

// result returns the data of an answer, or an error if the answer is not a result: a result has
// data and no errors.
func result(t *transport.Transport, a transport.Answer) (json.RawMessage, error) {
	var err error
	answer := parse(a.Body)
	switch {
	case !a.IsJSON():
		err = fmt.Errorf("%w: the answer is of type %s: %s", errPayload, t.Quote(a.Header.Get("Content-Type")), otherAddress)
	case !answer.valid:
		err = fmt.Errorf("%w: the answer is not complete JSON: %s", errPayload, otherAddress)
	case len(answer.Errors) > 0:
		err = fmt.Errorf("%w%s: %s", errGraphQL, t.Says("Linear", answer.message()), advice(a.Status, answer))
		return nil, &refusal{err, a.Body}
	case len(answer.Data) == 0 || string(answer.Data) == "null":
		err = fmt.Errorf("%w: the answer has no data: %s", errPayload, otherAddress)
	default:
		return answer.Data, nil
	}
	return nil, &refusal{error: err}
}

// errUndone reports a mutation that Linear did not carry out.
var errUndone = fmt.Errorf("%w: Linear says that it did not do it: try again later", errPayload)

// failed returns the error of an operation whose request failed; nil for nil.
func failed(t *transport.Transport, op string, err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return fmt.Errorf("%s: %w", op, r)
	}
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case errors.Is(err, errUndone):
		return fmt.Errorf("%s: %w", op, err)
	case !ok:
		// The answer does not have the shape of the query. The text may quote it.
		return fmt.Errorf("%s: %w: %s: %s", op, errPayload, t.Quote(err.Error()), otherAddress)
	case e.Kind == transport.RateLimited:
		return &tracker.RateLimitError{Op: op, RetryAfter: e.Wait}
	case e.Kind == transport.Unreadable:
		return fmt.Errorf("%s: %w: %w", op, errPayload, e)
	case e.Kind != transport.Refused:
		return fmt.Errorf("%s: %w: %w", op, errRequest, e)
	}
	answer := parse(e.Answer.Body)
	err = fmt.Errorf("%s: %w: HTTP %s%s: %s", op, errStatus, e.Answer.Name(), t.Says("Linear", answer.message()), advice(e.Answer.Status, answer))
	if e.Wait > 0 {
		return &tracker.RetryLaterError{Err: err, RetryAfter: e.Wait}
	}
	return err
}

// advice returns the advice about an answer that is not a result.
func advice(status int, answer envelope) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, answer.has(codeUnauthorized):
		return otherKey
	case status >= http.StatusInternalServerError:
		return "Linear has a problem: try again later"
	case status >= 300 && status < 400:
		return "a redirect is not followed: write its target in tracker.endpoint"
	case len(answer.Errors) > 0:
		return "try again later, unless the error says why not"
	}
	return otherAddress
}

// graphqlErrors returns the answer of a failed request if it has errors of GraphQL.
func graphqlErrors(err error) []byte {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.answer
	}
	if e, ok := errors.AsType[*transport.Error](err); ok && len(parse(e.Answer.Body).Errors) > 0 {
		return e.Answer.Body
	}
	return nil
}
