package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
		Name:        "github_api",
		Description: "Call GitHub's REST API for the repository " + r.cfg.Repo + ". The answer is the status, then JSON. " + r.cfg.mayWrite(),
		InputSchema: json.RawMessage(toolSchema),
		Timeout:     toolTime,
		Call: func(ctx context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			c, err := r.authorizeCall(issue, arguments)
			var text string
			if err == nil {
				text, err = r.runTool(ctx, c)
			}
			wrote := c != nil && c.Method != http.MethodGet
			if err != nil {
				return tracker.ToolResult{Wrote: wrote, Text: "github_api: " + err.Error()}
			}
			return tracker.ToolResult{OK: true, Wrote: wrote, Text: text}
		},
	}
}

// mayWrite returns two sentences that tell the agent what it may write.
func (c Config) mayWrite() string {
	const never = "Settings, secrets and workflow files are always refused"
	switch {
	case c.ToolScope == ScopeToken:
		return "You may write issues, pull requests, files, commits and branches, and also merge, approve, release and start workflows. " + never + ", and so are direct changes of the default branch."
	case c.ToolScope == ScopeRepo:
		return "You may write issues, comments, labels, pull requests, files, commits and branches. " + never + ", and so are merges, approvals and changes of the default branch."
	case c.Delivered:
		return "You may write only to the issue that you work on (comments, state, labels that hand it over) and to the pull request that is made from your work (comments, replies, reviews). " +
			never + "; other issues and pull requests, files, branches and comments by others are for reading."
	}
	return "You may write only to the issue that you work on (comments, state, labels that hand it over), to its branch " + c.branchOf("<identifier of the issue>") + ", and to the pull request of that branch, which you may open. " +
		never + "; other issues, pull requests and branches, and comments by others, are for reading."
}

// call is one call of the tool.
type call struct {
	Method string
	Path   string
	Params map[string]any
	Body   map[string]any

	issue  tracker.Issue // of the session
	target target
	query  url.Values
	branch string // the branch that it changes; "" for none
	commit string // the commit that it makes the head of the branch; "" for none

	speaks  bool // it says something in a conversation
	creates bool // it creates what people are told of, such as a comment

	// What checkOwn asks GitHub about; "" for nothing.
	changed        string // a comment or review that the agent must have posted
	pull           string // the number of a pull request that must be the own one
	repliesTo      string // a comment that must belong to the pull request
	replacesLabels bool   // the call names all labels that remain
}

// runTool checks with GitHub that a call is allowed, sends it, and returns the text for the
// model.
func (r *repository) runTool(ctx context.Context, c *call) (string, error) {
	if err := r.checkOwn(ctx, c); err != nil {
		return "", err
	}
	if err := r.checkRemotely(ctx, c); err != nil {
		return "", err
	}
	send := r.client.Do
	if c.creates {
		send = r.client.Create
	}
	a, err := send(ctx, c.request())
	if e, ok := errors.AsType[*transport.Error](err); ok && errors.Is(err, client.ErrContent) {
		return "", errors.New(e.Reason + ": nothing was posted, so post less, or again after that time")
	}
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
// request, a call that no route of the scope allows or that a check of its route rejects.
func (r *repository) authorizeCall(issue tracker.Issue, arguments json.RawMessage) (*call, error) {
	c, err := decodeCall(arguments)
	if err != nil {
		return nil, err
	}
	c.issue = issue
	if c.target, err = parseTarget(c.Path, r.cfg.Repo); err != nil {
		return nil, err
	}
	if err := rejectStateBranch(r.cfg, c); err != nil {
		return nil, err
	}
	route := routeOf(c, r.cfg.ToolScope)
	if route == nil {
		err := fmt.Errorf("%s on this path is not allowed", c.Method)
		if r.cfg.ToolScope.bindsToIssue() {
			return nil, notOwn(r.cfg, c, err)
		}
		return nil, fmt.Errorf("%w: the tool is for issues, comments, labels, pull requests, files, commits and branches", err)
	}
	for _, check := range route.checks {
		if err := check(r.cfg, c); err != nil {
			return nil, err
		}
	}
	if r.cfg.ToolScope.bindsToIssue() {
		for _, check := range route.own {
			if err := check(r.cfg, c); err != nil {
				return nil, notOwn(r.cfg, c, err)
			}
		}
	}
	return c, c.finishTexts()
}

// routeOf returns the route of a call that the scope has; nil for none.
func routeOf(c *call, scope Scope) *toolRoute {
	for _, route := range toolRoutes() {
		if route.method == c.Method && c.target.matches(route.path) && scope.includes(route.scope) {
			return &route
		}
	}
	return nil
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
