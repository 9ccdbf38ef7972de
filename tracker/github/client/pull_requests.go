package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-github/v62/github"
	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
)

// The types of GitHub's answers and requests about pull requests.
type (
	PullRequest    = github.PullRequest
	NewPullRequest = github.NewPullRequest
)

// PullRequests reads the pull requests of a branch of the repository in any state, the newest
// first, at most 100. If a server does not know how to look for a branch, and answers with pull
// requests of other branches and forks, they are dropped, also a pull request of a deleted
// fork, whose repository is null.
func (c *Client) PullRequests(ctx context.Context, branch string) ([]*PullRequest, error) {
	owner, _, _ := strings.Cut(c.repo, "/")
	head := url.QueryEscape(owner + ":" + branch)
	pulls, err := get[[]*PullRequest](ctx, c, ReadPullRequests, "/pulls?state=all&sort=created&direction=desc&per_page=100&head=%s", head)
	return slices.DeleteFunc(pulls, func(p *PullRequest) bool {
		return p.GetHead().GetRef() != branch || !strings.EqualFold(p.GetHead().GetRepo().GetFullName(), c.repo)
	}), err
}

// CreatePullRequest opens a pull request.
func (c *Client) CreatePullRequest(ctx context.Context, pull NewPullRequest) (*PullRequest, error) {
	a, err := c.Create(ctx, Request{Method: http.MethodPost, Path: c.Path("/pulls"), Permission: WritePullRequests, Body: pull})
	var created *PullRequest
	if err == nil {
		err = c.Decode(a, &created)
	}
	return created, err
}

// EditPullRequest replaces the title and the body of a pull request; nil leaves one as
// it is.
func (c *Client) EditPullRequest(ctx context.Context, number int, title, body *string) (*PullRequest, error) {
	return call[*PullRequest](ctx, c, Request{
		Method: http.MethodPatch, Path: c.Path("/pulls/%d", number), Permission: WritePullRequests, Repeatable: true,
		Body: struct {
			Title *string `json:"title,omitempty"`
			Body  *string `json:"body,omitempty"`
		}{title, body},
	})
}

// MarkReady makes a draft of a pull request ready for review, which only GraphQL can.
func (c *Client) MarkReady(ctx context.Context, pull *PullRequest) error {
	type MarkPullRequestReadyForReviewInput struct {
		PullRequestID graphql.ID `json:"pullRequestId"`
	}
	var done struct {
		Mark *struct {
			PullRequest *struct{ ID string }
		} `graphql:"markPullRequestReadyForReview(input: $input)"`
	}
	err := c.Mutate(ctx, WritePullRequests, &done, map[string]any{"input": MarkPullRequestReadyForReviewInput{pull.GetNodeID()}})
	if err == nil && (done.Mark == nil || done.Mark.PullRequest == nil) {
		err = fmt.Errorf("GitHub does not find pull request #%d, or the token may not change it", pull.GetNumber())
	}
	return err
}

// SetLabelsAndAssignees replaces the labels of an issue or a pull request, and the people who
// are assigned to it. GitHub changes neither if somebody cannot be assigned. It is sent once: a
// second one would remove labels and people that somebody added meanwhile.
func (c *Client) SetLabelsAndAssignees(ctx context.Context, number int, labels, logins []string) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodPatch, Path: c.Path("/issues/%d", number), Permission: WritePullRequests,
		Body: map[string][]string{"labels": labels, "assignees": logins},
	})
	return err
}

// AddLabels puts labels on an issue or a pull request.
func (c *Client) AddLabels(ctx context.Context, number int, labels []string) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: c.Path("/issues/%d/labels", number), Permission: WritePullRequests, Repeatable: true,
		Body: map[string][]string{"labels": labels},
	})
	return err
}

// AddAssignees assigns people to an issue or a pull request. GitHub ignores those that
// cannot be assigned.
func (c *Client) AddAssignees(ctx context.Context, number int, logins []string) error {
	_, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: c.Path("/issues/%d/assignees", number), Permission: WritePullRequests, Repeatable: true,
		Body: map[string][]string{"assignees": logins},
	})
	return err
}

// RequestReviewers asks people, and teams by owner/team, for a review.
func (c *Client) RequestReviewers(ctx context.Context, number int, names []string) error {
	var reviewers github.ReviewersRequest
	for _, name := range names {
		if _, team, ok := strings.Cut(name, "/"); ok {
			reviewers.TeamReviewers = append(reviewers.TeamReviewers, team)
		} else {
			reviewers.Reviewers = append(reviewers.Reviewers, name)
		}
	}
	_, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: c.Path("/pulls/%d/requested_reviewers", number), Permission: WritePullRequests, Repeatable: true,
		Body: reviewers,
	})
	return err
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
