package runner_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// timed is a board that notes when each issue was read last.
type timed struct {
	*board
	mu    sync.Mutex
	at    map[tracker.ID]time.Time
	asked []int // ids in each read by id
}

func (t *timed) note(issues []tracker.Issue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, issue := range issues {
		t.at[issue.ID] = time.Now()
	}
}

func (t *timed) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	issues, err := t.board.IssuesByState(ctx, states)
	t.note(issues)
	return issues, err
}

func (t *timed) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	issues, err := t.board.IssuesByID(ctx, ids)
	t.note(issues)
	t.asked = append(t.asked, len(ids)) // by the loop alone
	return issues, err
}

// startMany works on forty issues, two at once, in sessions of a length, and
// returns the reads by id. No session may start on knowledge older than a second.
func startMany(t *testing.T, length time.Duration) (asked []int) {
	var issues []tracker.Issue
	for n := range 40 {
		issues = append(issues, issue(fmt.Sprintf("A-%02d", n), "Todo"))
	}
	w := newFixture(t, issues...)
	w.flow.change(func(s *workflow.Settings) { s.Policy.MaxConcurrent, s.Poll = 2, time.Hour }, nil)
	reader := &timed{board: w.board, at: map[tracker.ID]time.Time{}}
	started := 0
	w.sessions = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
		reader.mu.Lock()
		started++
		if age := time.Since(reader.at[job.Issue.ID]); age > time.Second {
			t.Errorf("%s started on knowledge of %v ago", job.Issue.ID, age)
		}
		reader.mu.Unlock()
		<-time.After(length)
		done := w.board.move(job.Issue.ID, "Done")
		return schedule.Outcome{Class: schedule.Done, Issue: &done, Thread: "t", Turns: 1}
	}
	r := w.run()
	r.Connect = func(workflow.Workflow) (runner.Connection, error) {
		return runner.Connection{Tracker: tracker.Adapter{Reader: reader}, Workspaces: w.root}, nil
	}
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if started != len(issues) {
		t.Errorf("%d sessions, want %d", started, len(issues))
	}
	return reader.asked
}

func TestIssuesThatStartWithinASecondAreReadTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if asked := startMany(t, 200*time.Millisecond); len(asked) > 6 { // 4 s of them
			t.Errorf("reads by id, of so many issues each: %v", asked)
		}
	})
}

func TestNoMoreIssuesAreReadThanStartWhenSessionsTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range startMany(t, time.Minute) {
			if n > 2 {
				t.Errorf("%d issues were read for 2 that start", n)
			}
		}
	})
}
