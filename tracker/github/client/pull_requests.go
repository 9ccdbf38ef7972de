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
)

// The types of GitHub's answers and requests about pull requests.
type (
	PullRequest    = github.PullRequest
	NewPullRequest = github.NewPullRequest
)

// Pulls makes requests about pull requests.
type Pulls struct{ c *Client }

// Get reads a pull request.
func (p Pulls) Get(ctx context.Context, number string) (*PullRequest, error) {
	return get[*PullRequest](ctx, p.c, ReadPullRequests, "/pulls/%s", number)
}

// OfBranch reads the pull requests of a branch of the repository in any state, the newest
// first, at most 100. If a server does not know how to look for a branch, and answers with pull
// requests of other branches and forks, they are dropped, also a pull request of a deleted
// fork, whose repository is null.
func (p Pulls) OfBranch(ctx context.Context, branch string) ([]*PullRequest, error) {
	owner, _, _ := strings.Cut(p.c.repo, "/")
	head := url.QueryEscape(owner + ":" + branch)
	pulls, err := get[[]*PullRequest](ctx, p.c, ReadPullRequests, "/pulls?state=all&sort=created&direction=desc&per_page=100&head=%s", head)
	return slices.DeleteFunc(pulls, func(one *PullRequest) bool {
		return one.GetHead().GetRef() != branch || !strings.EqualFold(one.GetHead().GetRepo().GetFullName(), p.c.repo)
	}), err
}

// Create opens a pull request.
func (p Pulls) Create(ctx context.Context, pull NewPullRequest) (created *PullRequest, err error) {
	a, err := p.c.Create(ctx, Request{Method: http.MethodPost, Path: p.c.Path("/pulls"), Permission: WritePullRequests, Body: pull})
	if err == nil {
		err = p.c.Decode(a, &created)
	}
	return created, err
}

// Edit replaces the title and the body of a pull request; nil leaves one as it is.
func (p Pulls) Edit(ctx context.Context, number int, title, body *string) (*PullRequest, error) {
	return call[*PullRequest](ctx, p.c, Request{
		Method: http.MethodPatch, Path: p.c.Path("/pulls/%d", number), Permission: WritePullRequests, Repeatable: true,
		Body: struct {
			Title *string `json:"title,omitempty"`
			Body  *string `json:"body,omitempty"`
		}{title, body},
	})
}

// MarkReady makes a draft of a pull request ready for review, which only GraphQL can.
func (p Pulls) MarkReady(ctx context.Context, pull *PullRequest) error {
	type MarkPullRequestReadyForReviewInput struct {
		PullRequestID graphql.ID `json:"pullRequestId"`
	}
	_, err := p.c.Mutate(ctx, Mutation{
		Permission: WritePullRequests, Name: "markPullRequestReadyForReview", Object: "pullRequest",
		Input:  MarkPullRequestReadyForReviewInput{pull.GetNodeID()},
		Unseen: fmt.Sprintf("GitHub does not find pull request #%d, or the token may not change it", pull.GetNumber()),
	})
	return err
}

// SetLabelsAndAssignees replaces the labels of an issue or a pull request, and the people who
// are assigned to it. GitHub changes neither if somebody cannot be assigned. It is sent once: a
// second one would remove labels and people that somebody added meanwhile.
func (p Pulls) SetLabelsAndAssignees(ctx context.Context, number int, labels, logins []string) error {
	return p.c.send(ctx, Request{
		Method: http.MethodPatch, Path: p.c.Path("/issues/%d", number), Permission: WritePullRequests,
		Body: map[string][]string{"labels": labels, "assignees": logins},
	})
}

// AddLabels puts labels on an issue or a pull request.
func (p Pulls) AddLabels(ctx context.Context, number int, labels []string) error {
	return p.add(ctx, "/issues/%d/labels", number, map[string][]string{"labels": labels})
}

// AddAssignees assigns people to an issue or a pull request. GitHub ignores those that
// cannot be assigned.
func (p Pulls) AddAssignees(ctx context.Context, number int, logins []string) error {
	return p.add(ctx, "/issues/%d/assignees", number, map[string][]string{"assignees": logins})
}

// RequestReviewers asks people, and teams by owner/team, for a review.
func (p Pulls) RequestReviewers(ctx context.Context, number int, names []string) error {
	var reviewers github.ReviewersRequest
	for _, name := range names {
		if _, team, ok := strings.Cut(name, "/"); ok {
			reviewers.TeamReviewers = append(reviewers.TeamReviewers, team)
		} else {
			reviewers.Reviewers = append(reviewers.Reviewers, name)
		}
	}
	return p.add(ctx, "/pulls/%d/requested_reviewers", number, reviewers)
}

func (p Pulls) add(ctx context.Context, path string, number int, body any) error {
	return p.c.send(ctx, Request{Method: http.MethodPost, Path: p.c.Path(path, number), Permission: WritePullRequests, Repeatable: true, Body: body})
}
