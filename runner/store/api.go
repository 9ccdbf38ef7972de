package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	defaultAPI = "https://api.github.com"
	tries      = 3
)

// api asks one repository of GitHub. It follows no redirect, so the token goes
// to one host alone, and a repository that was renamed is noticed.
type api struct {
	repo    string // owner/name
	rest    string // the URL of the repository, without a slash at its end
	graphql string
	token   string
	http    *http.Client
	timeout time.Duration // of one try
	pause   time.Duration // before the second try, on average
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`)

func newAPI(repo, address, token string, base *http.Client) (*api, error) {
	_, name, _ := strings.Cut(repo, "/")
	if !repoName.MatchString(repo) || name == "." || name == ".." {
		return nil, fmt.Errorf("%w: repository %.100q: write it as owner/name", ErrRefused, repo)
	}
	if token == "" {
		return nil, fmt.Errorf("%w: there is no token: set GITHUB_TOKEN", ErrRefused)
	}
	if address == "" {
		address = defaultAPI
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the address of the API is no plain URL: write one such as %s", ErrRefused, defaultAPI)
	}
	root := strings.TrimRight(address, "/")
	graphql := root + "/graphql"
	if server, ok := strings.CutSuffix(root, "/api/v3"); ok { // GitHub Enterprise Server
		graphql = server + "/api/graphql"
	}
	client := *base
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api{
		repo: repo, rest: root + "/repos/" + repo, graphql: graphql, token: token,
		http: &client, timeout: 30 * time.Second, pause: 500 * time.Millisecond,
	}, nil
}

// request is one question to the API.
type request struct {
	op     string // what it is for, as errors say it
	method string
	url    string
	raw    bool   // the answer is to be a file itself, not JSON about it
	body   any    // to be sent as JSON; nil for none
	need   string // the permission it takes
	once   bool   // whether to ask again is the caller's to decide
}

// do asks, and returns the body of a good answer, cut after maxBytes+1. What may
// pass is tried again. It fails with a [refusal], with [errUnanswered], or with
// another [ErrUnavailable].
func (a *api) do(ctx context.Context, r request) ([]byte, error) {
	for try := 1; ; try++ {
		body, err := a.try(ctx, r)
		if !errors.Is(err, errUnanswered) || r.once || try == tries {
			return body, err
		}
		if cause := a.wait(ctx, try); cause != nil {
			return nil, fmt.Errorf("%w: %w", err, cause)
		}
	}
}

// wait pauses after a try that failed, or fails with the cause of ctx.
func (a *api) wait(ctx context.Context, try int) error {
	timer := time.NewTimer(time.Duration(float64(a.pause) * float64(try) * (0.5 + rand.Float64())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *api) try(ctx context.Context, r request) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("no answer within %v", a.timeout))
	defer cancel()
	unanswered := func(err error) error {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return fmt.Errorf("%s: %w: %w: see that %s can be reached, and try again", r.op, errUnanswered, err, a.rest)
	}
	req, err := a.newRequest(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w: report this as a defect", r.op, ErrRefused, err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, unanswered(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return nil, unanswered(err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return body, nil
	}
	return nil, a.failure(r, resp, body)
}

func (a *api) newRequest(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/vnd.github+json")
	if r.raw {
		req.Header.Set("Accept", "application/vnd.github.raw+json")
	}
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "symphony")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// decode asks, and reads the JSON of a good answer into v.
func (a *api) decode(ctx context.Context, r request, v any) error {
	body, err := a.do(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s: %w: this is not what GitHub answers: %w: see that %s is right", r.op, errUnanswered, err, a.rest)
	}
	return nil
}

// mutate runs a GraphQL mutation, once, whose result does not matter. What the
// API objects to is a [refusal].
func (a *api) mutate(ctx context.Context, op, document string, input any) error {
	var answer struct {
		Errors []struct{ Message string }
	}
	err := a.decode(ctx, request{
		op: op, method: http.MethodPost, url: a.graphql, need: contentsWrite, once: true,
		body: map[string]any{"query": document, "variables": map[string]any{"input": input}},
	}, &answer)
	if err == nil && len(answer.Errors) > 0 {
		return &refusal{op: op, status: http.StatusOK, says: a.quote(answer.Errors[0].Message), mend: "see what GitHub says"}
	}
	return err
}
