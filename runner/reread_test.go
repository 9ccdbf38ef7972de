package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// timed is a board that records when each issue was last read.
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

// startMany works on forty issues, two at once, in sessions of the given length, and
// returns the reads by id. It fails the test if a session starts more than a second after
// its issue was read.
func startMany(t *testing.T, length time.Duration) (asked []int) {
	var issues []tracker.Issue
	for n := range 40 {
		issues = append(issues, issue(fmt.Sprintf("A-%02d", n), "Todo"))
	}
	f := newFixture(t, issues...)
	f.flow.change(func(s *workflow.Settings) { s.Policy.MaxConcurrent, s.Poll = 2, time.Hour }, nil)
	reader := &timed{board: f.board, at: map[tracker.ID]time.Time{}}
	started := 0
	f.sessions = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
		reader.mu.Lock()
		started++
		if age := time.Since(reader.at[job.Issue.ID]); age > time.Second {
			t.Errorf("%s started on knowledge of %v ago", job.Issue.ID, age)
		}
		reader.mu.Unlock()
		<-time.After(length)
		done := f.board.move(job.Issue.ID, "Done")
		return schedule.Outcome{Class: schedule.Done, Issue: &done, Thread: "t", Turns: 1}
	}
	r := f.run()
	r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
		return runner.Connection{Tracker: tracker.Adapter{Reader: reader}, Workspaces: f.root}, nil
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

// warned reports whether one warning of the tick names the issue.
func warned(tick report.Tick, id string) bool {
	named := func(f string) bool { return strings.Contains(f, id) && strings.Contains(f, "it has no title") }
	return len(slices.DeleteFunc(slices.Clone(tick.Warnings), func(f string) bool { return !named(f) })) == 1
}

// lagging is a tracker whose list still has an issue that was deleted.
type lagging struct {
	*board
	deleted tracker.ID
}

func (l lagging) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	found, err := l.board.IssuesByID(ctx, ids)
	return slices.DeleteFunc(found, func(i tracker.Issue) bool { return i.ID == l.deleted }), err
}

func TestADeletedIssueThatIsStillListedIsNotStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		sessions := 0
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			if job.Issue.ID == "A-1" {
				sessions++
				return schedule.Outcome{Class: schedule.IssueFailed, Gone: true, Turns: 1}
			}
			passes(ctx, 5*time.Minute) // ten polls
			return f.handOver(ctx, job, report)
		}
		r := f.run()
		r.Connect = func(context.Context, workflow.Workflow) (runner.Connection, error) {
			return runner.Connection{Tracker: tracker.Adapter{Reader: lagging{f.board, "A-1"}}, Workspaces: f.root}, nil
		}
		if tick, err := r.Run(t.Context()); err != nil || sessions != 1 {
			t.Errorf("%d sessions on a deleted issue: %v, %+v", sessions, err, tick.Rows)
		}
	})
}

func TestAMalformedIssueInTheListIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"))
		f.board.spoil("A-1")
		tick := f.tick(t.Context())
		if tick.Counts().Completed != 1 || !warned(tick, "A-1") {
			t.Errorf("completed %d, warnings %q", tick.Counts().Completed, tick.Warnings)
		}
		_, warnings, _ := report.Of(tick).Notes()
		if !slices.ContainsFunc(warnings, func(n report.Note) bool { return strings.Contains(n.Text, "A-1") }) {
			t.Errorf("no annotation names A-1: %+v", warnings)
		}
	})
}

func TestAListOfOnlyMalformedIssuesFailsTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"))
		f.board.spoil("A-1")
		tick, err := f.run().Run(t.Context())
		if !errors.Is(err, tracker.ErrResponse) || tick.Unread == "" {
			t.Errorf("ended with %v, unread %q", err, tick.Unread)
		}
	})
}

func TestOnlyTheClaimWhoseRecordIsMalformedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("B-1", "Todo"), issue("C-1", "Todo"))
		f.edit(func(s *schedule.State) {
			for id, phase := range map[tracker.ID]schedule.Phase{"A-1": schedule.Waiting, "B-1": schedule.Parked} {
				c := schedule.Claim{ID: id, Identifier: string(id), Phase: phase, Since: time.Now(), Why: "as before"}
				if phase == schedule.Waiting {
					c.Due = time.Now()
				}
				s.Claims[id] = c
			}
		})
		f.board.spoil("A-1")
		f.board.spoil("B-1")
		worked := f.noteWork()
		tick := f.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"C-1"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
		for _, id := range []tracker.ID{"A-1", "B-1"} {
			if c := f.claims()[id]; c.Why != "as before" {
				t.Errorf("the claim is now %+v", c)
			}
			i := slices.IndexFunc(tick.Verdicts, func(v schedule.Verdict) bool { return v.Issue.ID == id })
			if i < 0 || tick.Verdicts[i].Why.Reason != schedule.Malformed || !warned(tick, string(id)) {
				t.Errorf("%s is not named: verdicts %+v, warnings %q", id, tick.Verdicts, tick.Warnings)
			}
		}
	})
}

func TestASessionWhoseRecordBecomesMalformedContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("R-1", "Review"))
		f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			f.board.spoil("A-1")
			if !passes(ctx, 2*time.Minute) {
				t.Errorf("stopped for %v", context.Cause(ctx))
			}
			f.board.mu.Lock()
			f.board.spoilt = nil
			f.board.issues = append(f.board.issues, issue("A-2", "Todo"))
			f.board.mu.Unlock()
			return f.handOver(ctx, job, report)
		}
		if tick := f.tick(t.Context()); tick.Counts().Completed != 2 || len(tick.Errors) != 0 || !warned(tick, "A-1") {
			t.Errorf("completed %d, errors %q, warnings %q", tick.Counts().Completed, tick.Errors, tick.Warnings)
		}
	})
}

func TestAnIssueThatIsMalformedWhenItIsReadAgainIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		worked := f.noteWork(func() { f.board.spoil("A-2") })
		f.tick(t.Context())
		if diff := cmp.Diff([]tracker.ID{"A-1", "A-3"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
	})
}

func TestATickWarnsOfAnAgentThatCanReadTheStatusPage(t *testing.T) {
	for _, served := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.flow.change(func(s *workflow.Settings) {
				s.Codex.TurnSandboxPolicy = json.RawMessage(`{"type":"readOnly","networkAccess":true}`)
			}, nil)
			r := f.run()
			if served {
				r.Refresh = make(chan struct{})
			}
			tick, err := r.Run(t.Context())
			said := slices.ContainsFunc(tick.Warnings, func(text string) bool { return strings.Contains(text, "can read the status page") })
			if err != nil || said != served {
				t.Errorf("served %t: %q, %v", served, tick.Warnings, err)
			}
		})
	}
}

// TestCandidatesStartAlthoughClaimedIssuesCannotBeRead has a tracker that lists issues and
// answers no read by id.
func TestCandidatesStartAlthoughClaimedIssuesCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, issue("A-1", "Todo"), issue("A-2", "Todo"), issue("A-3", "Todo"), issue("A-4", "Todo"))
		f.flow.now.Settings.Policy.MaxConcurrent = 1
		f.edit(func(s *schedule.State) {
			s.Claims["A-1"] = schedule.Claim{ID: "A-1", Identifier: "A-1", Phase: schedule.Waiting, Attempt: 1, Due: time.Now()}
		})
		f.board.read = func() error { return errDown }
		worked := f.noteWork(func() {}) // takes five seconds more: the list is old when it ends
		tick, err := f.run().Run(t.Context())
		if !errors.Is(err, errDown) || !strings.Contains(tick.Unread, "refresh claimed issues") {
			t.Errorf("ended with %v and %q", err, tick.Unread)
		}
		if diff := cmp.Diff([]tracker.ID{"A-2", "A-3", "A-4"}, *worked); diff != "" {
			t.Errorf("worked on (-want +got):\n%s", diff)
		}
		if c := f.claims()["A-1"]; c.Phase != schedule.Waiting {
			t.Errorf("the claim is %+v", c)
		}
		reads := len(f.board.reads) - count(f.board.reads, "list")
		if reads > 2 || count(f.board.reads, "list") > 4 {
			t.Errorf("reads: %q", f.board.reads)
		}
	})
}
