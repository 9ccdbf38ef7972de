package linear

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	timeout  = 30 * time.Second // SPEC §11.2: of one exchange, its body included
	maxBody  = 32 << 20         // bytes of an answer
	retries  = 2
	maxPause = 5 * time.Second // the longest wait before a retry
)

// wire is the http.RoundTripper below everything that talks to Linear: it adds
// the credential, bounds each exchange, tries again where that helps, and gives
// either a response whose body is a GraphQL result, complete and in memory, or a
// [refusal]. A redirect is a refusal like any other status, so the credential
// never follows one.
type wire struct {
	base    http.RoundTripper
	key     string
	mask    mask
	retries int
	log     *slog.Logger
}

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, _, err := w.fetch(req)
	return resp, err
}

// fetch does what RoundTrip does, and returns the data of the answer as well.
func (w wire) fetch(req *http.Request) (*http.Response, json.RawMessage, error) {
	if req.Body != nil {
		defer req.Body.Close() // each try has a copy of it
	}
	for try := 0; ; try++ {
		resp, data, refused := w.exchange(req)
		if refused == nil {
			return resp, data, nil
		}
		wait, again := refused.pause(try)
		if !again || try >= w.retries {
			return nil, nil, refused
		}
		w.log.Warn("linear request retried", "wait", wait, "reason", refused)
		select {
		case <-req.Context().Done():
			return nil, nil, interrupted(req.Context())
		case <-time.After(wait):
		}
	}
}

// exchange makes one try.
func (w wire) exchange(req *http.Request) (*http.Response, json.RawMessage, *refusal) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), timeout, fmt.Errorf("no answer in %v", timeout))
	defer cancel()
	resp, answer, err := w.send(ctx, req)
	switch {
	case err == nil:
	case req.Context().Err() != nil:
		return nil, nil, interrupted(req.Context())
	case ctx.Err() != nil:
		return nil, nil, w.unreached(req, context.Cause(ctx))
	default:
		return nil, nil, w.unreached(req, err)
	}
	data, refused := w.judge(resp, answer)
	if refused != nil {
		return nil, nil, refused
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, data, nil
}

// send gives a response and its whole body, without the credential.
func (w wire) send(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, nil, err
	}
	try := req.Clone(ctx)
	try.Body = body
	try.Header.Set("Authorization", w.key)
	resp, err := w.base.RoundTrip(try)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	return resp, w.mask.clean(answer), err
}

// unreached returns the error of a request that got no response. The cause is
// kept as text only, because it may quote what the server sent.
func (w wire) unreached(req *http.Request, err error) *refusal {
	return &refusal{
		error: fmt.Errorf("%w: %s: see that %s can be reached from here",
			errRequest, w.mask.quote(err.Error()), req.URL.Host),
		transient: true,
	}
}

// interrupted returns the error of a request that its caller gave up.
func interrupted(ctx context.Context) *refusal {
	return &refusal{error: fmt.Errorf("%w: %w", errRequest, context.Cause(ctx))}
}

// pause returns how long to wait before the next try, and whether it is worth
// it. A rate limit is waited for only when the server says how long, and that is short.
func (r *refusal) pause(try int) (time.Duration, bool) {
	if r.after > 0 {
		return r.after, (r.transient || r.limited) && r.after <= maxPause
	}
	most := time.Second << try
	return most/2 + rand.N(most/2), r.transient
}
