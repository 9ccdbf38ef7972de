package runner

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Prompt returns the prompt with which a session on an issue would begin now, in a new
// workspace and a new thread, whether or not one would be started. choose returns the issue,
// from the rows of a plan. The workspace has the files of repository, of which only the
// branches are read; nil if hooks bring the files. Prompt changes nothing, like [Runner.Plan].
func (r *Runner) Prompt(ctx context.Context, repository *Repository, choose func(report.Tick) (tracker.Issue, error)) (tracker.Issue, string, error) {
	l, err := r.plan(ctx)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	issue, err := choose(l.tick)
	if err != nil {
		return tracker.Issue{}, "", err
	}
	if repository != nil {
		store, err := repository.Host.Store(ctx, repository.Remote)
		if err != nil {
			return tracker.Issue{}, "", err
		}
		defer store.Close()
		found, err := store.Look(ctx, repository.Source)
		if err != nil {
			return tracker.Issue{}, "", fmt.Errorf("look at the branches that the prompt names: %w", err)
		}
		l.conn.Repository = repository
		l.files.of, l.files.store, l.files.fetched = repository, store, found
	}
	job := l.jobFor(schedule.Decision{ID: issue.ID, Issue: issue, Feedback: l.conversations.judge(issue.ID).Feedback}, l.state.Claims[issue.ID], new(givenItems))
	text, err := attempt.FirstPrompt(ctx, job)
	return issue, text, err
}
