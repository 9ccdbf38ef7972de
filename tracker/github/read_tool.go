package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// toolTime bounds a call, which may have to wait for GitHub's limits on new content.
const toolTime = 2 * time.Minute

// maxResult bounds the text that the model receives, in bytes.
const maxResult = 48 << 10

const toolSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "/repos/{owner}/{repo}/… as it reads, not percent-encoded; the two placeholders may be left as they are."},
    "params": {"type": "object", "description": "The query, e.g. {\"per_page\": 30, \"page\": 2}.", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "method": {"type": "string", "enum": ["GET"]}
  },
  "required": ["path"],
  "additionalProperties": false
}`

// readTool returns github_api, with which the agent reads the part of the REST API that
// readRoutes allows, with the credential of the adapter.
func (r *repository) readTool() tracker.Tool {
	return tracker.Tool{
		Name: "github_api",
		Description: "Read from GitHub's REST API for the repository " + r.cfg.Repo + ": issues, pull requests, files, commits, branches, results of checks. " +
			"The answer is the status, then JSON. Nothing can be written by it; change your issue with " + updateName + ".",
		InputSchema: json.RawMessage(toolSchema),
		Timeout:     toolTime,
		Call: func(ctx context.Context, _ tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			text, err := r.read(ctx, arguments)
			if err != nil {
				return tracker.ToolResult{Text: "github_api: " + err.Error()}
			}
			return tracker.ToolResult{OK: true, Text: text}
		},
	}
}

type call struct {
	target target
	query  url.Values
}

// read checks and sends a call, and returns the text for the model.
func (r *repository) read(ctx context.Context, arguments json.RawMessage) (string, error) {
	c, err := r.authorizeCall(arguments)
	if err != nil {
		return "", err
	}
	a, err := r.client.Do(ctx, c.request())
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Kind == transport.Refused {
		return "", errors.New("GitHub refused: " + resultText(refused.Answer))
	}
	if err != nil {
		return "", failed("GET "+clip(strings.Join(c.target.segments, "/")), err)
	}
	return resultText(a), nil
}

func (c *call) request() client.Request {
	path := c.target.requestPath()
	if len(c.query) > 0 {
		path += "?" + c.query.Encode()
	}
	return client.Request{Method: http.MethodGet, Path: path}
}

// resultText returns an answer as the model receives it.
func resultText(a transport.Answer) string {
	s := a.Name()
	switch {
	case a.Status >= 300 && a.Status < 400:
		return s + "\nIt was moved. Redirects are not followed."
	case len(bytes.TrimSpace(a.Body)) == 0:
		return s
	case !a.IsJSON():
		return s + "\nThe answer is not JSON and is left out."
	}
	if client.Next(a) != "" {
		s += "\nThere are more pages: raise params.page."
	}
	return s + "\n" + text.Cut(string(a.Body), maxResult, "ask for less, for example with params.per_page")
}

// authorizeCall returns the call that the arguments describe. It refuses, without a
// request, a path that is not among readRoutes, and one that reads the branch with the
// program's own state.
func (r *repository) authorizeCall(arguments json.RawMessage) (*call, error) {
	var input *struct {
		Method string         `json:"method"`
		Path   string         `json:"path"`
		Params map[string]any `json:"params"`
		Body   map[string]any `json:"body"`
	}
	if err := tracker.DecodeArguments(arguments, &input, "give an object with path and, as needed, params"); err != nil {
		return nil, err
	}
	switch {
	case input == nil || input.Path == "":
		return nil, errors.New("path is needed")
	case input.Method != "" && input.Method != http.MethodGet, input.Body != nil:
		return nil, errors.New("this tool only reads: change your issue with " + updateName + ", and have your work published from the workspace")
	}
	c := &call{query: make(url.Values, len(input.Params))}
	for key, value := range input.Params {
		switch value.(type) {
		case string, json.Number, bool:
			c.query.Set(key, fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("params.%s must be text, a number or a boolean", key)
		}
	}
	var err error
	if c.target, err = parseTarget(input.Path, r.cfg.Repo); err != nil {
		return nil, err
	}
	if err := r.cfg.rejectStateBranch(c); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(readRoutes(), c.target.matches) {
		return nil, errors.New("this path is not for the agent: the tool reads issues, pull requests, files, commits, branches and results of checks")
	}
	return c, nil
}

// readRoutes returns the patterns of the paths that the tool may read; see target.matches.
// Everything else is refused: settings, secrets, variables, keys, hooks, environments,
// collaborators, rulesets and protections.
func readRoutes() []string {
	return []string{
		"",
		"assignees", "assignees/*",
		"issues", "issues/#", "issues/#/comments", "issues/#/dependencies/blocked_by", "issues/#/dependencies/blocking",
		"issues/#/events", "issues/#/labels", "issues/#/sub_issues", "issues/#/timeline", "issues/comments/#",
		"labels", "labels/*",
		"milestones", "milestones/#",
		"pulls", "pulls/#", "pulls/#/comments", "pulls/#/commits", "pulls/#/files", "pulls/#/requested_reviewers", "pulls/#/reviews",
		"pulls/#/reviews/#", "pulls/#/reviews/#/comments", "pulls/comments/#",
		"actions/jobs/#", "actions/runs", "actions/runs/#", "actions/runs/#/jobs",
		"branches", "branches/*",
		"check-runs/#", "check-runs/#/annotations",
		"check-suites/#", "check-suites/#/check-runs",
		"commits", "commits/*", "commits/*/check-runs", "commits/*/check-suites", "commits/*/pulls", "commits/*/status",
		"commits/*/statuses",
		"compare/*",
		"contents/**",
		"git/blobs/*", "git/commits/*", "git/matching-refs/heads/**", "git/ref/heads/**", "git/trees/*",
		"languages",
		"readme",
		"releases", "releases/#", "releases/latest",
		"tags",
	}
}

// rejectStateBranch rejects a call that reads the branch with the program's own state. It
// also rejects every name that contains the branch's name, because a revision of the branch
// can be spelled in too many ways.
func (c Config) rejectStateBranch(read *call) error {
	names := func(s string) bool {
		return strings.Contains(strings.ToLower(s), strings.ToLower(c.StateBranch))
	}
	refused := fmt.Errorf("the branch %q belongs to Symphony: use another", c.StateBranch)
	if first := read.target.resource(); slices.Contains([]string{"git", "branches", "commits", "compare"}, first) {
		if slices.ContainsFunc(read.target.segments, names) {
			return refused
		}
	}
	for _, values := range read.query {
		if slices.ContainsFunc(values, names) {
			return refused
		}
	}
	return nil
}
