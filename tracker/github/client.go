package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strings"
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

// client speaks HTTP with one API host and knows nothing of issues. It never
// follows a redirect, so the token goes nowhere else.
type client struct {
	api     string // the REST root, without a slash at its end
	graphql string
	token   string
	http    *http.Client
	timeout time.Duration // of one try
	pause   time.Duration // before the second try, on average
	most    int           // bytes of an answer
}

func newClient(cfg Config, base *http.Client) *client {
	hc := *base
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{
		api: cfg.APIURL, graphql: graphqlURL(cfg.APIURL), token: cfg.Token,
		http: &hc, timeout: 30 * time.Second, pause: 500 * time.Millisecond, most: maxAnswer,
	}
}

// request is one question to the API.
type request struct {
	op     string // what it is for, as errors say it
	method string
	url    string
	body   []byte // JSON
	etag   string // of the answer that is known
	once   bool   // it changes something, so it is never repeated
}

// answer is what the API said: any status but those that do sends as errors.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do asks. A failure that may pass (no connection, 5xx) is tried again. Errors:
// [tracker.ErrRequest] when nothing came back, [tracker.RateLimitError],
// [tracker.ErrStatus] for 401 and 5xx; every other status is the caller's to judge.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	for try := 1; ; try++ {
		a, err := c.try(ctx, r)
		switch {
		case ctx.Err() != nil:
			return answer{}, fmt.Errorf("%s: %w: %w", r.op, tracker.ErrRequest, context.Cause(ctx))
		case err == nil && a.status < 500:
			return a, c.refusal(r.op, a)
		case errors.Is(err, tracker.ErrResponse):
			return answer{}, err
		case err == nil:
			err = newStatusError(r.op, a, "GitHub has a fault: try again later, see https://www.githubstatus.com")
		}
		pause := time.Duration(float64(c.pause) * float64(try) * (0.5 + rand.Float64()))
		if asked, ok := retryAfter(a.header, time.Now()); ok {
			pause = asked
		}
		if r.once || try == tries || pause > maxPause {
			return answer{}, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer{}, fmt.Errorf("%s: %w: %w", r.op, tracker.ErrRequest, context.Cause(ctx))
		}
	}
}

func (c *client) try(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	failed := func(err error) (answer, error) {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return answer{}, fmt.Errorf("%s: %w: %w: see that %s can be reached", r.op, tracker.ErrRequest, err, c.api)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return failed(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "symphony")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.etag != "" {
		req.Header.Set("If-None-Match", r.etag)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return failed(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.most)+1))
	if err != nil {
		return failed(err)
	}
	if len(body) > c.most {
		return answer{}, fmt.Errorf("%s: %w: the answer is larger than %d bytes", r.op, tracker.ErrResponse, c.most)
	}
	return c.clean(answer{resp.StatusCode, resp.Header, body}), nil
}

// clean is an answer without the token: no server should repeat it, and what it
// says ends up in errors, logs and the tool's results.
func (c *client) clean(a answer) answer {
	const mask = "[secret]"
	if len(c.token) < minToken {
		return a
	}
	a.body = bytes.ReplaceAll(a.body, []byte(c.token), []byte(mask))
	for _, values := range a.header {
		for i, value := range values {
			values[i] = strings.ReplaceAll(value, c.token, mask)
		}
	}
	return a
}

// json reports whether the answer says that it is JSON.
func (a answer) json() bool {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// decode reads the answer into v, or fails with [tracker.ErrResponse].
func (a answer) decode(op string, v any) error {
	const mend = "see that tracker.provider.api_url is the root of GitHub's REST API"
	if !a.json() {
		return fmt.Errorf("%s: %w: content type %q instead of JSON: %s", op, tracker.ErrResponse, a.header.Get("Content-Type"), mend)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("%s: %w: %w: %s", op, tracker.ErrResponse, err, mend)
	}
	return nil
}
