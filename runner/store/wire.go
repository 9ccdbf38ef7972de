package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// tries is how often what may pass is asked for.
const tries = 3

// wire is below the library, and does what that does not: it bounds the size of
// an answer and the time of a try, asks again for what may pass, and follows no
// redirect, so the token goes to one host alone and a repository that was renamed
// is noticed. What is no good answer becomes an error here, a [refusal] or an
// [ErrUnavailable], so the library sees good answers only. These come without
// their rate limits, by which it would refuse requests on its own.
type wire struct {
	base    http.RoundTripper
	token   string        // not to be shown
	repo    string        // owner/name, to be shown
	root    string        // of the API, to be shown
	timeout time.Duration // of one try
	pause   time.Duration // before the second try, on average
}

// onceKey marks a context whose request is sent once: to ask again is the
// caller's to decide.
type onceKey struct{}

func once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

// RoundTrip is http.RoundTripper's.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // each try has its own
	}
	for try := 1; ; try++ {
		resp, err := w.try(req)
		if !errors.Is(err, errUnanswered) || req.Context().Value(onceKey{}) != nil || try == tries {
			return resp, err
		}
		if cause := w.wait(req.Context(), try); cause != nil {
			return nil, fmt.Errorf("%w: %w", err, cause)
		}
	}
}

// wait pauses after a try that failed, or fails with the cause of ctx.
func (w *wire) wait(ctx context.Context, try int) error {
	timer := time.NewTimer(time.Duration(float64(w.pause) * float64(try) * (0.5 + rand.Float64())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *wire) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), w.timeout, fmt.Errorf("no answer within %v", w.timeout))
	defer cancel()
	unanswered := func(err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%w: %w: see that %s can be reached, and try again", errUnanswered, err, w.root)
	}
	fresh := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, unanswered(err)
		}
		fresh.Body = body
	}
	resp, err := w.base.RoundTrip(fresh)
	if err != nil {
		return nil, unanswered(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	_ = resp.Body.Close() // it has been read as far as it counts
	if err != nil {
		return nil, unanswered(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, w.failure(req, resp, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for _, header := range []string{"Limit", "Remaining", "Reset"} {
		resp.Header.Del("X-RateLimit-" + header)
	}
	return resp, nil
}
