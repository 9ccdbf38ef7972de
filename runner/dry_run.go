package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Plan returns the report of a tick that only plans, with the reasons for not doing more. It
// changes nothing: neither the state, nor a workspace, nor an issue.
func (r *Runner) Plan(ctx context.Context) (report.Tick, error) {
	l, err := r.plan(ctx)
	return l.tick, err
}

// plan returns a loop that has planned once and started nothing, with the report of it.
func (r *Runner) plan(ctx context.Context) (*loop, error) {
	l := newLoop(r)
	l.tick.DryRun = true
	l.cleaner.searched = true // nothing is removed
	err := l.open(ctx)
	if err == nil {
		err = l.pollOnce(ctx)
	}
	l.finish(time.Now())
	return l, err
}

// pollOnce polls, and polls again if the tracker asks to wait for a short time.
func (l *loop) pollOnce(ctx context.Context) error {
	for {
		l.poll(ctx, time.Now())
		if !l.issues.awaitsTracker(time.Now()) {
			return l.issues.unread
		}
		select {
		case <-time.After(time.Until(l.issues.limit.end())):
		case <-ctx.Done():
			return l.issues.unread
		}
	}
}

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
