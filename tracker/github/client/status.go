package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// Permission is a permission that a request needs, in the syntax of a workflow.
type Permission string

// The permissions that requests need.
const (
	ReadIssues    Permission = "issues: read"
	WriteIssues   Permission = "issues: write"
	ReadContents  Permission = "contents: read"
	WriteContents Permission = "contents: write"
	ReadActions   Permission = "actions: read"
	ReadMetadata  Permission = "metadata: read"  // every token that can see the repository has it
	ReadProjects  Permission = "projects: read"  // the token of a job cannot have it
	WriteProjects Permission = "projects: write" // the token of a job cannot have it

	ReadPullRequests  Permission = "pull-requests: read"
	WritePullRequests Permission = "pull-requests: write"

	ReadChecks   Permission = "checks: read"
	ReadStatuses Permission = "statuses: read"
)

// secondaryPause is the wait that GitHub's documentation asks for after a secondary limit that
// names no time.
const secondaryPause = time.Minute

// rateLimit returns true for an answer that is a rate limit, and its length.
// GitHub also answers with 403, as for a missing permission. Some secondary limits
// differ from that only by the page of the documentation that they name.
func rateLimit(a transport.Answer) (time.Duration, bool) {
	if a.Status != http.StatusForbidden && a.Status != http.StatusTooManyRequests {
		return 0, false
	}
	if wait, ok := transport.RetryAfter(a.Header); ok {
		return wait, true
	}
	if a.Header.Get("X-RateLimit-Remaining") == "0" {
		return untilReset(a), true
	}
	if a.Status == http.StatusTooManyRequests || strings.Contains(said(a).Page, "rate-limit") {
		return secondaryPause, true
	}
	return 0, false
}

// untilReset returns the rest of the primary limit, 0 if the answer does not say.
func untilReset(a transport.Answer) time.Duration {
	limit, _ := transport.ReadLimit(a.Header, "", func(seconds int64) time.Time { return time.Unix(seconds, 0) })
	return limit.Reset
}

// message is the body of an answer without success.
type message struct {
	Text   string          `json:"message"`
	Page   string          `json:"documentation_url"`
	Errors []messageDetail `json:"errors"`
}

// messageDetail is a reason among several: a text, or an object with a code.
type messageDetail struct {
	Text, Field, Code string
}

func (d *messageDetail) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &d.Text) == nil {
		return nil
	}
	var object struct{ Message, Field, Code string }
	_ = json.Unmarshal(text, &object) // an unknown form says nothing
	d.Text, d.Field, d.Code = object.Message, object.Field, object.Code
	return nil
}

// whole returns the message with its details.
func (m message) whole() string {
	parts := []string{m.Text}
	for _, d := range m.Errors {
		parts = append(parts, cmp.Or(d.Text, strings.TrimSpace(d.Field+" "+d.Code)))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

func said(a transport.Answer) message {
	var m message
	_ = json.Unmarshal(a.Body, &m) // an answer need not have one
	return m
}

// explain completes the error of a request, which needs a permission: with GitHub's own words,
// and a remedy for a person. It returns nil for nil.
func (c *Client) explain(err error, p Permission) error {
	e, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case transport.NotSent:
		if e.Err != nil {
			break // there is no token, and the cause is the reason
		}
		e.Remedy = "the token is sent to that host alone: check " + c.names.APIURL
	case transport.Unreadable:
		if e.Remedy == "" {
			e.Remedy = fmt.Sprintf("see that %s is the root of GitHub's REST API", c.names.APIURL)
		}
	case transport.RateLimited:
		e.Remedy = "run less often, or give another token"
		if e.Wait > 0 {
			e.Reason += " until " + time.Now().Add(e.Wait).Round(time.Second).UTC().Format(time.RFC3339)
		}
	case transport.Refused:
		e.Reason = e.Answer.Name() + c.Transport.Says("GitHub", said(e.Answer).whole())
		e.Remedy = c.remedy(e.Answer, p)
	}
	return err
}

// remedy returns the advice about a status.
func (c *Client) remedy(a transport.Answer, p Permission) string {
	if accepted, _, _ := strings.Cut(a.Header.Get("X-Accepted-GitHub-Permissions"), ";"); accepted != "" {
		p = Permission(strings.NewReplacer("=", ": ", ",", ", ").Replace(accepted))
	}
	if remedy := remedyByWords(a); remedy != "" {
		return remedy
	}
	switch {
	case a.Status >= 300 && a.Status < 400:
		return fmt.Sprintf("%s, or the branch, was renamed or moved: write its new name in %s", c.repo, c.names.Repo)
	case a.Status == http.StatusUnauthorized:
		return fmt.Sprintf("the token is not valid: set %s to another one", c.names.Token)
	case a.Status == http.StatusForbidden && (p == ReadProjects || p == WriteProjects):
		return fmt.Sprintf("the token may not do this: give one with %s, which the token of a job cannot have", p)
	case a.Status == http.StatusForbidden:
		return fmt.Sprintf("the token may not do this: write `permissions: {%s}` in the workflow, or give a token that may", p)
	case a.Status == http.StatusNotFound:
		return fmt.Sprintf("the repository %s is unknown or the token cannot see it: check %s, and give the token %s", c.repo, c.names.Repo, p)
	case a.Status == http.StatusConflict:
		return "push a first commit if the repository is empty"
	case a.Status == http.StatusGone:
		return fmt.Sprintf("issues are switched off in %s: switch them on in its settings", c.repo)
	case a.Status >= 500:
		return "GitHub has a fault: try again later, see https://www.githubstatus.com"
	}
	return "see GitHub's documentation of this status"
}

// Incomplete returns the error of an answer that lacks something that GitHub always
// sends.
func (c *Client) Incomplete() error {
	return c.explain(&transport.Error{Kind: transport.Unreadable, Reason: "a part of the answer is missing"}, "")
}

// HasStatus reports whether GitHub refused a request with any of these statuses.
func HasStatus(err error, statuses ...int) bool { return slices.Contains(statuses, Status(err)) }

// Status returns the status with which GitHub refused a request, 0 if it did not.
func Status(err error) int {
	if e, ok := asRefused(err); ok {
		return e.Answer.Status
	}
	return 0
}

// asRefused returns the refusal of a request.
func asRefused(err error) (*transport.Error, bool) {
	e, ok := errors.AsType[*transport.Error](err)
	return e, ok && e.Kind == transport.Refused
}

// Says reports whether GitHub refused a request with words that contain any of these.
func Says(err error, words ...string) bool {
	text := ""
	if e, ok := asRefused(err); ok {
		text = strings.ToLower(said(e.Answer).whole())
	}
	return slices.ContainsFunc(words, func(s string) bool { return text != "" && strings.Contains(text, strings.ToLower(s)) })
}

// refusals maps words in GitHub's refusal of a pull request to the remedy.
var refusals = []struct{ words, remedy string }{
	{
		"is not permitted to create or approve pull requests",
		"allow it in Settings > Actions > General > Workflow permissions, of the organization too, or let a GitHub App do it (inputs app-id and private-key)",
	},
	{"draft pull requests are not supported", "set delivery.draft to false: this plan of GitHub has no drafts in private repositories"},
	{"no commits between", "the branch has nothing that the base does not have"},
	{"a pull request already exists", "the pull request is there already"},
	{"rule violations found", "a ruleset of the repository refuses it: let it allow this branch, or this App"},
}

// remedyByWords returns the advice about an answer, or "".
func remedyByWords(a transport.Answer) string {
	text := strings.ToLower(said(a).whole())
	for _, row := range refusals {
		if strings.Contains(text, row.words) {
			return row.remedy
		}
	}
	return ""
}
