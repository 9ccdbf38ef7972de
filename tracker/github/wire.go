package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	tries    = 3
	maxPause = 5 * time.Second // a longer Retry-After ends the read instead
	// maxAnswer holds a page of 100 issues of the greatest length, escaped.
	maxAnswer = 64 << 20
	// minToken is the length from which a token can be told from a word.
	minToken = 8
)

// wire is the http.RoundTripper below both libraries. It adds the credential,
// bounds each exchange and tries again what may pass. It gives an answer of 2xx,
// complete, in memory and without the credential, or else an error:
// [tracker.ErrRequest] when nothing came back, [tracker.ErrResponse] when it
// cannot be read, a [tracker.RateLimitError], and a [statusError] for any other
// status. The libraries hand such an error on, so none of them ever follows a
// redirect or judges a status. What is asked for is the caller's to add; see
// repository.failed.
type wire struct {
	base    http.RoundTripper
	api     *url.URL // the REST root; no other host is ever sent anything
	graphql string   // the address of the GraphQL API
	token   string
	timeout time.Duration // of one try
	pause   time.Duration // before the second try, on average
	most    int           // bytes of an answer
}

func newWire(cfg Config, client *http.Client) (*wire, error) {
	api, err := url.Parse(cfg.APIURL + "/")
	if err != nil {
		return nil, invalid("api_url", "is %q: write %s", cfg.APIURL, apiURLWant)
	}
	w := &wire{
		base: client.Transport, api: api, graphql: graphqlURL(cfg.APIURL), token: cfg.Token,
		timeout: 30 * time.Second, pause: 500 * time.Millisecond, most: maxAnswer,
	}
	if w.base == nil {
		w.base = http.DefaultTransport
	}
	return w, nil
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // each try has a copy of it
	}
	if req.URL.Scheme != w.api.Scheme || req.URL.Host != w.api.Host {
		return nil, fmt.Errorf("%w: %s is not %s: check tracker.provider.api_url", tracker.ErrRequest, req.URL.Host, w.api.Host)
	}
	reads := req.Method == http.MethodGet || req.URL.String() == w.graphql
	for try := 1; ; try++ {
		resp, err := w.try(req)
		if err == nil {
			return resp, nil
		}
		pause := time.Duration(float64(w.pause) * float64(try) * (0.5 + rand.Float64()))
		refused, answered := errors.AsType[*statusError](err)
		if answered {
			if asked, ok := retryAfter(refused.answer.header, time.Now()); ok {
				pause = asked
			}
		}
		passing := errors.Is(err, tracker.ErrRequest) || answered && refused.answer.status >= 500
		if !reads || !passing || try == tries || pause > maxPause {
			return nil, err
		}
		select {
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		case <-time.After(pause):
		}
	}
}

// try makes one exchange.
func (w *wire) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), w.timeout, fmt.Errorf("no answer within %v", w.timeout))
	defer cancel()
	resp, body, err := w.exchange(req.Clone(ctx))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w: see that %s can be reached", tracker.ErrRequest, context.Cause(ctx), w.api.Host)
	case err != nil:
		// The cause is kept as text alone, because it may quote what the server sent.
		return nil, fmt.Errorf("%w: %s: see that %s can be reached", tracker.ErrRequest, w.clean([]byte(err.Error())), w.api.Host)
	case len(body) > w.most:
		return nil, fmt.Errorf("%w: the answer is larger than %d bytes: see what %s sends", tracker.ErrResponse, w.most, w.api.Host)
	}
	if err := judge(answer{resp.StatusCode, resp.Header, body}); err != nil {
		return nil, err
	}
	// go-github would keep a clock of the limits and refuse requests by it, but for
	// answers that say they come from a cache. When to ask again is the scheduler's to say.
	resp.Header.Set("X-From-Cache", "1")
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// exchange sends a copy of a request and reads the answer, without the credential.
func (w *wire) exchange(req *http.Request) (resp *http.Response, body []byte, err error) {
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, nil, err
		}
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("User-Agent", "symphony")
	if resp, err = w.base.RoundTrip(req); err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, int64(w.most)+1))
	for _, values := range resp.Header {
		for i, value := range values {
			values[i] = string(w.clean([]byte(value)))
		}
	}
	return resp, w.clean(body), err
}

// clean returns the text without the token: no server should repeat it, and what it says
// ends up in errors, logs and the tool's results.
func (w *wire) clean(text []byte) []byte {
	if len(w.token) < minToken || !bytes.Contains(text, []byte(w.token)) {
		return text
	}
	return bytes.ReplaceAll(text, []byte(w.token), []byte("[secret]"))
}
