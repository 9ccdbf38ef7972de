package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/tracker/transport"
	"github.com/symphony-runner/symphony/tracker/untrusted"
)

// maxResult bounds the text that the model receives, in bytes.
const maxResult = 48 << 10

const toolSchema = `{
  "type": "object",
  "properties": {
    "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
    "path": {"type": "string", "description": "/repos/{owner}/{repo}/… as it reads, not percent-encoded; the two placeholders may be left as they are."},
    "params": {"type": "object", "description": "The query of a GET, e.g. {\"per_page\": 30, \"page\": 2}.", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "body": {"type": "object", "description": "The JSON body of any other method."}
  },
  "required": ["method", "path"],
  "additionalProperties": false
}`

// tool returns github_api, with which the agent uses the part of the REST API that
// toolRoutes allows, with the credential of the adapter.
func (r *repository) tool() tracker.Tool {
	return tracker.Tool{
		Name: "github_api",
		Description: "Call GitHub's REST API for the repository " + r.cfg.Repo + ": issues, comments, labels, pull requests, " +
			"files, commits, branches, and the results of checks. Settings, secrets, workflows, approvals and merges are refused. " +
			"The answer is the status, then JSON.",
		InputSchema: json.RawMessage(toolSchema),
		Call: func(ctx context.Context, _ tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			text, err := r.runTool(ctx, arguments)
			if err != nil {
				return tracker.ToolResult{Text: "github_api: " + err.Error()}
			}
			return tracker.ToolResult{OK: true, Text: text}
		},
	}
}

// call is one call of the tool.
type call struct {
	Method string
	Path   string
	Params map[string]any
	Body   map[string]any

	target target
	query  url.Values
	branch string // the branch that it changes; "" for none
	commit string // the commit that it makes the head of the branch; "" for none
}

// runTool checks and sends a call and returns the text for the model.
func (r *repository) runTool(ctx context.Context, arguments json.RawMessage) (string, error) {
	c, err := r.authorizeCall(arguments)
	if err != nil {
		return "", err
	}
	if err := r.checkRemotely(ctx, c); err != nil {
		return "", err
	}
	a, err := r.client.Do(ctx, c.request())
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.Kind == transport.Refused {
		return "", errors.New("GitHub refused: " + resultText(refused.Answer))
	}
	if err != nil {
		return "", failed(c.Method+" "+clip(c.Path), err)
	}
	return resultText(a), nil
}

// request returns the request that a call sends.
func (c *call) request() client.Request {
	path := c.target.requestPath()
	if len(c.query) > 0 {
		path += "?" + c.query.Encode()
	}
	request := client.Request{Method: c.Method, Path: path}
	if c.Body != nil { // a nil map would be sent as null
		request.Body = c.Body
	}
	return request
}

// resultText returns an answer as the model receives it.
func resultText(a transport.Answer) string {
	text := a.Name()
	switch {
	case a.Status >= 300 && a.Status < 400:
		return text + "\nIt was moved. Redirects are not followed."
	case len(bytes.TrimSpace(a.Body)) == 0:
		return text
	case !a.IsJSON():
		return text + "\nThe answer is not JSON and is left out."
	}
	if client.Next(a) != "" {
		text += "\nThere are more pages: raise params.page."
	}
	return text + "\n" + untrusted.Cut(string(a.Body), maxResult, "ask for less, for example with params.per_page")
}

// authorizeCall returns the call that the arguments describe. It refuses, without a
// request, a call that no route allows or that a check of its route rejects.
func (r *repository) authorizeCall(arguments json.RawMessage) (*call, error) {
	c, err := decodeCall(arguments)
	if err != nil {
		return nil, err
	}
	if c.target, err = parseTarget(c.Path, r.cfg.Repo); err != nil {
		return nil, err
	}
	if r.cfg.ToolScope != ScopeToken && !strings.EqualFold(c.target.repo, r.cfg.Repo) {
		return nil, fmt.Errorf("the repository is %s, not %s", r.cfg.Repo, c.target.repo)
	}
	if err := rejectStateBranch(r.cfg, c); err != nil {
		return nil, err
	}
	for _, allowed := range toolRoutes() {
		if allowed.method != c.Method || !c.target.matches(allowed.path) {
			continue
		}
		for _, guard := range allowed.checks {
			if err := guard(r.cfg, c); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	return nil, fmt.Errorf("%s on this path is not allowed: the tool is for issues, comments, labels, pull requests, files, commits and branches", c.Method)
}

// decodeCall reads the arguments as toolSchema describes them.
func decodeCall(arguments json.RawMessage) (*call, error) {
	var c *struct {
		Method string         `json:"method"`
		Path   string         `json:"path"`
		Params map[string]any `json:"params"`
		Body   map[string]any `json:"body"`
	}
	if err := tracker.DecodeArguments(arguments, &c, "give an object with method, path and, as needed, params or body"); err != nil {
		return nil, err
	}
	switch {
	case c == nil || c.Method == "" || c.Path == "":
		return nil, errors.New("method and path are needed")
	case c.Method == http.MethodGet && c.Body != nil:
		return nil, errors.New("a GET has no body: use params")
	case c.Method != http.MethodGet && len(c.Params) > 0:
		return nil, errors.New("params are for GET: use body") // a server might let them override the body
	}
	query := make(url.Values, len(c.Params))
	for key, value := range c.Params {
		switch value.(type) {
		case string, json.Number, bool:
			query.Set(key, fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("params.%s must be text, a number or a boolean", key)
		}
	}
	return &call{Method: c.Method, Path: c.Path, Body: c.Body, query: query}, nil
}
