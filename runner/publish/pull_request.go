package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/tracker/defuse"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// PullState tells what happened to the pull request.
type PullState string

// The states of a pull request after a publication.
const (
	PullNone      PullState = ""          // only branches are published
	PullOpened    PullState = "opened"    // it is new
	PullUpdated   PullState = "updated"   // its text was replaced
	PullUnchanged PullState = "unchanged" // its text is right already, or a person's
)

// lookTries bounds how often GitHub is asked to open a pull request for a branch that
// it does not know yet: a push reaches its other parts a moment later.
const lookTries = 3

// findPullRequest returns the open pull request of the branch; nil if there is none,
// or the latest one was merged. It fails with [ErrClosed] if a person closed it.
func (p *Publisher) findPullRequest(ctx context.Context, w Work) (*client.PullRequest, error) {
	if p.GitHub == nil {
		return nil, nil
	}
	pulls, err := p.GitHub.PullRequests(ctx, w.Branch.String())
	if err != nil {
		return nil, fmt.Errorf("publish %s: look for its pull request: %w", w.Issue, err)
	}
	for _, pull := range pulls {
		if pull.GetState() == "open" {
			return pull, nil
		}
	}
	if len(pulls) > 0 && pulls[0].MergedAt == nil {
		return nil, fmt.Errorf("publish %s: %w: somebody closed %s without merging it; reopen it, or release the issue", w.Issue, ErrClosed, pulls[0].GetHTMLURL())
	}
	return nil, nil
}

// proposePullRequest opens the pull request, or updates the text of the one there is.
func (p *Publisher) proposePullRequest(ctx context.Context, w Work, r *Result, pull *client.PullRequest, title string) error {
	body := p.body(w, r.Verdict, r.Record.Head)
	var err error
	if pull == nil {
		if pull, err = p.openPullRequest(ctx, w, *r, title, body); err != nil {
			return err
		}
		r.State = PullOpened
		r.Warnings = p.decorate(ctx, pull.GetNumber())
	} else if r.State, err = p.updatePullRequest(ctx, w, pull, body); err != nil {
		return err
	}
	r.Record.Number, r.Record.URL = pull.GetNumber(), pull.GetHTMLURL()
	return nil
}

// openPullRequest opens a pull request. One that somebody opened in the meantime is
// taken.
func (p *Publisher) openPullRequest(ctx context.Context, w Work, r Result, title, body string) (*client.PullRequest, error) {
	draft := p.Pull.Draft || w.Unproven || r.Verdict.Draft
	head, base := w.Branch.String(), w.Incoming.Base.String()
	wanted := client.NewPullRequest{
		Title: &title, Body: &body, Draft: &draft,
		Head: &head, Base: &base,
	}
	for try := 1; ; try++ {
		pull, err := p.GitHub.CreatePullRequest(ctx, wanted)
		switch {
		case err == nil:
			return pull, nil
		case client.Says(err, "a pull request already exists"):
			if pull, other := p.findPullRequest(ctx, w); other != nil || pull != nil {
				return pull, other
			}
		case client.HasStatus(err, http.StatusForbidden) && client.Says(err, "is not permitted to create or approve pull requests"):
			return nil, fmt.Errorf("publish %s: the branch %s was pushed: %w: %w", w.Issue, w.Branch, ErrNotPermitted, err)
		case !unknownHead(err):
			return nil, fmt.Errorf("publish %s: the branch %s was pushed: open its pull request: %w", w.Issue, w.Branch, err)
		}
		if try == lookTries {
			return nil, fmt.Errorf("publish %s: the branch %s was pushed, but GitHub does not see it yet: open its pull request: %w", w.Issue, w.Branch, err)
		}
		if err := p.GitHub.Transport.Backoff(ctx, try); err != nil {
			return nil, err
		}
	}
}

// unknownHead reports whether GitHub does not know the branch, or not where it is.
func unknownHead(err error) bool {
	return client.HasStatus(err, http.StatusUnprocessableEntity) && client.Says(err, "head invalid", "head sha can't be blank", "head ref must be a branch", "no commits between")
}

// updatePullRequest replaces the body of a pull request, unless a person edited it.
func (p *Publisher) updatePullRequest(ctx context.Context, w Work, pull *client.PullRequest, body string) (PullState, error) {
	now := withoutReturns(pull.GetBody())
	if strings.TrimSpace(now) == strings.TrimSpace(body) || !isOurs(now) {
		return PullUnchanged, nil
	}
	if _, err := p.GitHub.EditPullRequest(ctx, pull.GetNumber(), nil, &body); err != nil {
		return PullUnchanged, fmt.Errorf("publish %s: the branch was pushed: update %s: %w", w.Issue, pull.GetHTMLURL(), err)
	}
	return PullUpdated, nil
}

// decorate adds labels, people and teams to a new pull request. Each failure is a
// warning.
func (p *Publisher) decorate(ctx context.Context, number int) (warnings []string) {
	for _, part := range []struct {
		what  string
		names []string
		add   func(context.Context, int, []string) error
	}{
		{"labels", p.Pull.Labels, p.GitHub.AddLabels},
		{"assignees", p.Pull.Assignees, p.GitHub.AddAssignees},
		{"reviewers", p.Pull.Reviewers, p.GitHub.RequestReviewers},
	} {
		if len(part.names) == 0 {
			continue
		}
		if err := part.add(ctx, number, part.names); err != nil {
			warnings = append(warnings, fmt.Sprintf("pull request #%d has not got its %s (%s): %v", number, part.what, strings.Join(part.names, ", "), err))
		}
	}
	return warnings
}

// body returns the body of the pull request. What the host says comes first, so that
// nothing in the agent's text can hide it. The marker holds a digest of the rest.
func (p *Publisher) body(w Work, v delivery.Verdict, head git.ObjectID) string {
	text := paragraphs(w.Closing, w.Tested, reviewParagraph(v.Review), defuse.Body(p.Secrets.String(w.Text)))
	return fmt.Sprintf("<!-- symphony: issue=%s head=%s text=%s -->\n%s\n", markerText(w.Issue), head, digest(text), text)
}

// markerText returns a text without what would end a comment.
func markerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '>' || r == '<' {
			return '_'
		}
		return r
	}, strings.ReplaceAll(s, "--", "__"))
}

// marker matches the first line of a body that the host wrote.
var marker = regexp.MustCompile(`^<!-- symphony: issue=\S+ head=[0-9a-f]{40} text=([0-9a-f]{64}) -->\n`)

// withoutReturns returns a body with the ends of lines that it was written with: GitHub
// stores others.
func withoutReturns(body string) string { return strings.ReplaceAll(body, "\r\n", "\n") }

// isOurs reports whether a body is as the host wrote it.
func isOurs(body string) bool {
	body = withoutReturns(body)
	m := marker.FindStringSubmatch(body)
	return m != nil && m[1] == digest(strings.TrimSpace(body[len(m[0]):]))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
