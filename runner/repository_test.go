package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestWorkIsPublishedRecordedAndHandedOver(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	tick := r.tick()
	if got := r.branches(); got != "main\nsymphony/ABC-1\nsymphony/ABC-2" {
		t.Errorf("branches %q", got)
	}
	for _, id := range []tracker.ID{"ABC-1", "ABC-2"} {
		head := r.git(r.origin, "rev-parse", "symphony/"+string(id))
		if d := r.state().Deliveries[id]; d.Head != head || d.Branch != "symphony/"+string(id) || d.Base != "main" || d.Pushing != "" || d.At.IsZero() {
			t.Errorf("%s: recorded %+v, want the head %s", id, d, head)
		}
		if row := tick.Row(id); row.Delivery.Head != head || row.State != "Review" || !tick.Completed(*row) {
			t.Errorf("%s: row %+v", id, row)
		}
	}
	if n := strings.Count(r.log.String(), `msg="fetched the repository"`); n != 1 {
		t.Errorf("the remote was fetched %d times, want once", n)
	}
	if claims := r.claims(); len(claims) != 0 {
		t.Errorf("claims are left: %v", claims)
	}
}

func TestAPatchIsRecordedAndHandedOver(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.repository.Publisher.Folder = filepath.Join(t.TempDir(), "patches")
	r.flow.change(func(s *workflow.Settings) { s.Delivery.Kind = workflow.KindPatch }, nil)
	tick := r.tick()
	want := filepath.Join(r.repository.Publisher.Folder, "ABC-1.patch")
	if d := r.state().Deliveries["ABC-1"]; d.URL != want || d.Branch != "" || d.Base != "main" || d.At.IsZero() {
		t.Errorf("recorded %+v, want %s", d, want)
	}
	if row := tick.Row("ABC-1"); row.Delivery.URL != want || row.State != "Review" || !tick.Completed(*row) {
		t.Errorf("row %+v", row)
	}
	if got := r.branches(); got != "main" {
		t.Errorf("branches %q", got)
	}
}

func TestARepositoryThatCannotBeFetchedHoldsEveryIssueAndChargesNone(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	if err := os.Rename(r.origin, r.origin+".away"); err != nil {
		t.Fatal(err)
	}
	tick, err := r.run().Run(t.Context())
	if !errors.Is(err, git.ErrNotFound) || len(tick.Rows) > 0 || len(r.claims()) > 0 {
		t.Errorf("error %v, rows %v, claims %v", err, tick.Rows, r.claims())
	}
	if len(tick.Errors) != 1 || !strings.Contains(tick.Errors[0], err.Error()) {
		t.Errorf("errors %q", tick.Errors)
	}
	for _, v := range tick.Verdicts {
		if v.Why.Reason != schedule.OnHold {
			t.Errorf("%s: %v", v.Issue.Identifier, v.Why)
		}
	}
}

func TestWorkOfASessionWhoseClaimIsTakenIsNotPushed(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	work := r.work
	r.work = func(folder string) {
		work(folder)
		r.edit(func(s *schedule.State) {
			c := s.Claims["ABC-1"]
			c.Owner = schedule.Owner{Host: "elsewhere", PID: 2}
			c.Lease = time.Now().Add(time.Hour)
			s.Claims["ABC-1"] = c
		})
	}
	_, err := r.run().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.branches(); got != "main" {
		t.Errorf("branches %q", got)
	}
	if d := r.state().Deliveries; len(d) != 0 {
		t.Errorf("recorded %v", d)
	}
}

func TestAConflictBeforeAPushIsSettledAndThePushGoesOn(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	work := r.work
	r.work = func(folder string) {
		work(folder)
		r.edit(func(s *schedule.State) {
			s.Deliver("OLD-1", schedule.Delivery{Identifier: "OLD-1", Branch: "symphony/OLD-1"})
		})
	}
	r.tick()
	if got := r.branches(); got != "main\nsymphony/ABC-1" {
		t.Errorf("branches %q", got)
	}
	if d := r.state().Deliveries; d["ABC-1"].Head == "" || d["OLD-1"].Branch == "" {
		t.Errorf("recorded %v", d)
	}
}

func TestASecondSessionOfATickStartsFromWhatTheFirstPushed(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.flow.change(func(s *workflow.Settings) { s.Delivery.HandOver = workflow.HandOver{} }, nil) // so it stays active
	sessions := 0
	r.work = func(folder string) {
		sessions++
		files, err := filepath.Glob(filepath.Join(folder, "work-*"))
		if err != nil || len(files) != sessions-1 {
			t.Errorf("session %d found %v, %v", sessions, files, err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("work-%d", sessions)), nil, 0o644); err != nil {
			t.Error(err)
		}
		if sessions == 3 {
			r.board.move("ABC-1", "Done")
		}
	}
	r.tick()
	if n := r.git(r.origin, "rev-list", "--count", "main..symphony/ABC-1"); sessions != 3 || n != "3" {
		t.Errorf("%d sessions, %s commits", sessions, n)
	}
}

// A person pushes while a session works. The next session of the same run has both, and if
// it goes on like that, the issue is parked like any other that fails.
func TestASessionAfterAPersonsPushBeginsWithIt(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.flow.change(func(s *workflow.Settings) { s.Policy.MaxBackoff = time.Millisecond }, nil)
	g := r.onGitHub()
	g.Git("branch", "symphony/ABC-1", "main") // by a person, too
	var found []string
	work := r.work
	r.work = func(folder string) {
		files, err := filepath.Glob(filepath.Join(folder, "person-*"))
		if err != nil {
			t.Error(err)
		}
		found = append(found, strconv.Itoa(len(files)))
		if n := len(found); n < 3 {
			files := map[string]string{"person-1": "", "person-2": ""}
			if n == 1 {
				delete(files, "person-2")
			}
			g.Commit("symphony/ABC-1", files)
		}
		work(folder)
	}
	r.tick()
	if diff := cmp.Diff([]string{"0", "1", "2"}, found); diff != "" {
		t.Errorf("files of the person that the sessions found (-want +got):\n%s", diff)
	}
	if _, published := g.File("symphony/ABC-1", "work.txt"); !published {
		t.Error("the work is not published")
	}
}

func TestAPullRequestIsReportedByWhatATickDidToIt(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	g := r.onGitHub()
	r.flow.change(func(s *workflow.Settings) { s.Delivery.HandOver = workflow.HandOver{} }, nil) // so it stays active
	sessions := 0
	r.work = func(folder string) {
		sessions++
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("work-%d", sessions)), nil, 0o644); err != nil {
			t.Error(err)
		}
		if sessions == 2 {
			words := "my own" // which the host leaves
			if _, err := r.repository.Publisher.GitHub.Pulls.Edit(t.Context(), g.Pulls()[0].Number, nil, &words); err != nil {
				t.Error(err)
			}
		}
		if sessions >= 2 {
			r.board.move("ABC-1", "Done")
		}
	}
	tick := r.tick()
	row := tick.Row("ABC-1")
	if len(g.Pulls()) != 1 || sessions != 2 || row.PullRequest != "opened" || row.Delivery.Number != g.Pulls()[0].Number {
		t.Errorf("%d sessions and %d pull requests, reported as %+v", sessions, len(g.Pulls()), row)
	}
	r.board.move("ABC-1", "Todo")
	tick = r.tick()
	if row := tick.Row("ABC-1"); sessions != 3 || row.PullRequest != "updated" || row.Delivery.Head != g.Branches()["symphony/ABC-1"] {
		t.Errorf("%d sessions, reported as %+v", sessions, row)
	}
}

func TestASessionWithNothingToPublishIsNowhereCompleted(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	r.work = func(string) {
		r.board.move("ABC-1", "Done")
		r.board.move("ABC-2", "Done")
	}
	tick := r.tick()
	if got := tick.Counts(); got.Completed != 0 || got.Failed != 0 || got.Dispatched != 2 {
		t.Errorf("counted as %+v", got)
	}
	if past := r.state().History; len(past) != 1 || past[0].Done != 0 {
		t.Errorf("remembered as %+v", past)
	}
	if log := r.log.String(); strings.Contains(log, "msg=completed") || strings.Count(log, `msg="ended with nothing to publish"`) != 2 {
		t.Errorf("logged as\n%s", log)
	}
}

func TestSessionsAfterAReloadCountByWhatTheWorkflowDeliversThen(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
	r.flow.change(func(s *workflow.Settings) { s.Policy.MaxConcurrent = 1 }, nil)
	sessions := 0
	r.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		if sessions++; sessions == 1 {
			defer r.flow.change(func(s *workflow.Settings) { s.Delivery = workflow.Delivery{Kind: workflow.KindNone} }, nil)
			return r.session(ctx, job, report)
		}
		r.board.move(job.Issue.ID, "Done")
		moved := job.Issue
		moved.State = "Done"
		return schedule.Outcome{Class: schedule.Done, Status: schedule.StatusSucceeded, Issue: &moved, Turns: 1}
	}
	tick := r.tick()
	log := r.log.String()
	if tick.Counts().Completed != 2 || strings.Count(log, "msg=completed") != 2 || strings.Contains(log, "ended with nothing to publish") {
		t.Errorf("counted as %+v, logged as\n%s", tick.Counts(), log)
	}
}

func TestAFailedHandOverIsRepeatedAndTheWorkIsNotPublishedTwice(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.board.moved = func(tracker.ID) error { return tracker.ErrRequest }
	tick := r.tick()
	head := r.git(r.origin, "rev-parse", "symphony/ABC-1")
	if claim := r.claims()["ABC-1"]; claim.Phase != schedule.Waiting || claim.Failures != 0 || !strings.Contains(claim.Why, "handed over") || tick.Completed(*tick.Row("ABC-1")) {
		t.Errorf("claim %+v", claim)
	}
	r.board.moved = nil
	r.edit(func(s *schedule.State) {
		c := s.Claims["ABC-1"]
		c.Due = time.Now().Add(-time.Second).UTC()
		s.Claims["ABC-1"] = c
	})
	r.work = func(string) {} // nothing is left to do
	tick = r.tick()
	if again := r.git(r.origin, "rev-parse", "symphony/ABC-1"); again != head || r.board.issues[0].State != "Review" || len(r.claims()) > 0 {
		t.Errorf("head %s and %s, issue %v, claims %v", head, again, r.board.issues[0], r.claims())
	}
	if !tick.Completed(*tick.Row("ABC-1")) {
		t.Errorf("row %+v", tick.Row("ABC-1"))
	}
}

// Each session that only repeats a hand-over costs tokens.
func TestHandOversThatTheTrackerRefusesPark(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.flow.change(func(s *workflow.Settings) { s.Policy.Budget.Attempts = 1 }, nil)
	r.board.moved = func(tracker.ID) error {
		return fmt.Errorf("%w: 403: the token may not write to issues", tracker.ErrStatus)
	}
	tick := r.tick()
	claim := r.claims()["ABC-1"]
	if claim.Phase != schedule.Parked || !strings.Contains(claim.Why, "the work is published, and the issue was not handed over: ") || tick.Completed(*tick.Row("ABC-1")) {
		t.Errorf("claim %+v", claim)
	}
}

func TestHandOversThatDoNotTakeTheIssueOutOfWorkPark(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.flow.change(func(s *workflow.Settings) {
		s.Delivery.HandOver = workflow.HandOver{State: "Todo"} // as if somebody moved it back at once
		s.Policy.Budget.IdleSessions, s.Policy.MaxPerTick = 2, 6
	}, nil)
	sessions := 0
	r.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		sessions++
		o := r.session(ctx, job, report)
		o.Idle = sessions > 1
		r.work = func(string) {} // nothing is left to do
		return o
	}
	r.tick()
	if claim := r.claims()["ABC-1"]; sessions != 3 || claim.Phase != schedule.Parked || !strings.Contains(claim.Why, "delivered nothing new") {
		t.Errorf("%d sessions, claim %+v", sessions, claim)
	}
}

func TestAShardThatIsLostAfterItsPushIsFinishedByTheNextSession(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	f := &fleetTest{fixture: r.fixture, remote: r, exchange: t.TempDir(), self: schedule.Owner{Run: "77", Attempt: 1}, status: map[int]schedule.OwnerStatus{1: schedule.Dead}}
	f.plan(1, 1)
	r.board.moved = func(tracker.ID) error { return errDown } // it ends before the hand-over
	f.work(1)
	if err := os.RemoveAll(filepath.Join(f.exchange, "results")); err != nil {
		t.Fatal(err)
	}
	f.collect()
	head := r.git(r.origin, "rev-parse", "symphony/ABC-1")
	if d := r.state().Deliveries["ABC-1"]; !d.Lost || d.Head != "" {
		t.Errorf("recorded %+v after the shard was lost", d)
	}
	r.board.moved, r.work = nil, func(string) {}
	tick := r.tick()
	if d := r.state().Deliveries["ABC-1"]; d.Head != head || d.Lost || d.Branch != "symphony/ABC-1" {
		t.Errorf("recorded %+v, want the head %s", d, head)
	}
	if row := tick.Row("ABC-1"); row.State != "Review" || !tick.Completed(*row) {
		t.Errorf("row %+v", row)
	}
}

func TestAHandOverToAStateThatDoesNotExistIsAFaultOfTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.board.moved = func(tracker.ID) error {
		return fmt.Errorf("%w: there is no state %q", tracker.ErrInvalidConfig, "Review")
	}
	tick := r.tick()
	if row, claim := tick.Row("ABC-1"), r.claims()["ABC-1"]; claim.Phase != schedule.Parked || claim.Failures > 0 || !strings.Contains(row.Why, "delivery.hand_over") {
		t.Errorf("row %+v, claim %+v", row, claim)
	}
	r.board.moved = nil
	r.work = func(string) {} // nothing is left to do
	r.flow.change(func(s *workflow.Settings) { s.Delivery.HandOver.State = "Done" }, nil)
	r.tick()
	if len(r.claims()) > 0 {
		t.Errorf("claims %+v", r.claims())
	}
}

func TestRefusedWorkIsKeptAndTheNextSessionIsToldWhy(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.work = func(folder string) {
		if err := os.MkdirAll(filepath.Join(folder, ".github", "workflows"), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(folder, ".github", "workflows", "x.yml"), []byte("on: push\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
	r.tick()
	if got := r.branches(); got != "main" {
		t.Errorf("branches %q", got)
	}
	if d := r.state().Deliveries["ABC-1"]; !strings.Contains(d.Refused, ".github/workflows/x.yml") {
		t.Errorf("recorded %+v", d)
	}
	if _, err := os.Stat(filepath.Join(r.repository.Kept, "ABC-1", publish.PatchFile)); err != nil {
		t.Error(err)
	}
	var told string
	r.sessions = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
		told = job.Refused
		return schedule.Outcome{Class: schedule.NeedsInput, Why: "enough"}
	}
	r.edit(func(s *schedule.State) {
		c := s.Claims["ABC-1"]
		c.Due = time.Now().Add(-time.Second).UTC()
		s.Claims["ABC-1"] = c
	})
	r.tick()
	if !strings.Contains(told, ".github/workflows/x.yml") {
		t.Errorf("the next session was told %q", told)
	}
}

// Work that the remote does not take is kept like work that may not leave, until it is
// published after all.
func TestWorkThatTheRemoteDoesNotTakeIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse func(t *testing.T, g *githubtest.GitHub)
		accept func(t *testing.T, g *githubtest.GitHub)
	}{
		"a rule": {
			func(t *testing.T, g *githubtest.GitHub) {
				hook := filepath.Join(g.GitDir(), "hooks", "pre-receive")
				if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(hook, []byte("#!/bin/sh\necho 'error: GH013: Repository rule violations found' >&2\nexit 1\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, g *githubtest.GitHub) {
				if err := os.Remove(filepath.Join(g.GitDir(), "hooks", "pre-receive")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"a failure of the server": {
			func(t *testing.T, g *githubtest.GitHub) {
				g.Fail(githubtest.Push, storetest.Fault{Status: 503})
			},
			func(*testing.T, *githubtest.GitHub) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, issue("ABC-1", "Todo"))
			r.flow.change(func(s *workflow.Settings) { s.Policy.Budget.Attempts = 1 }, nil)
			g := r.onGitHub()
			test.refuse(t, g)
			tick := r.tick()
			kept := tick.Row("ABC-1").Kept
			if kept.Folder != filepath.Join(r.repository.Kept, "ABC-1") || len(kept.Commands) != 3 {
				t.Errorf("kept %+v", kept)
			}
			patch, err := os.ReadFile(filepath.Join(kept.Folder, publish.PatchFile))
			if err != nil || !strings.Contains(string(patch), "+++ b/work.txt") {
				t.Errorf("the patch is %q, %v", patch, err)
			}
			test.accept(t, g)
			r.edit(func(s *schedule.State) { s.Retry("ABC-1", time.Now()) })
			tick = r.tick()
			if row := tick.Row("ABC-1"); !row.Delivered || row.Kept.Folder != "" {
				t.Errorf("afterwards %+v", row)
			}
		})
	}
}

// GitHub takes from the token of a job only workflow files that a branch has. When main
// changes one while a session works, the same work is put on the new main.
func TestWorkIsPublishedAlthoughMainChangesAWorkflowMeanwhile(t *testing.T) {
	t.Parallel()
	const ci = ".github/workflows/ci.yml"
	for name, test := range map[string]struct {
		history  bool
		conflict bool
	}{"in one commit": {}, "with its history": {history: true}, "with other changes of its file": {conflict: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, issue("ABC-1", "Todo"))
			r.flow.change(func(s *workflow.Settings) { s.Policy.MaxBackoff = time.Millisecond }, nil)
			r.repository.Publisher.KeepHistory = test.history
			g := r.onGitHub()
			g.Commit("main", map[string]string{ci: "on: push\n"})
			work, sessions := r.work, 0
			r.work = func(folder string) {
				if sessions++; sessions == 1 {
					files := map[string]string{ci: "on: pull_request\n"}
					if test.conflict {
						files["work.txt"] = "by a person\n"
					}
					g.Commit("main", files)
				}
				work(folder)
				r.git(folder, "add", "-A")
				r.git(folder, "commit", "-q", "-m", "one")
				r.git(folder, "commit", "-q", "--allow-empty", "-m", "two")
			}
			tick := r.tick()
			want := 1
			if test.conflict {
				want = 2
			}
			if row := tick.Row("ABC-1"); !row.Delivered || sessions != want || r.renewed != 2-want {
				t.Errorf("%d sessions, %d renewals, %+v, %v", sessions, r.renewed, row, r.errs)
			}
			messages := "Add work"
			if test.history {
				messages = "two\none"
			}
			if got := g.Git("log", "--format=%s", "main..symphony/ABC-1"); got != messages || g.Git("merge-base", "main", "symphony/ABC-1") != g.Head("main") {
				t.Errorf("the commits are %q", got)
			}
			for path, want := range map[string]string{ci: "on: pull_request\n", "work.txt": "done\n"} {
				if got, _ := g.File("symphony/ABC-1", path); got != want {
					t.Errorf("%s holds %q", path, got)
				}
			}
		})
	}
}

// After its work was put on a newer base, a session can deliver more, which takes nothing of
// that base away.
func TestASessionWhoseWorkIsOnANewerBaseDeliversMore(t *testing.T) {
	t.Parallel()
	const ci = ".github/workflows/ci.yml"
	r := newRemote(t, issue("ABC-1", "Todo"))
	g := r.onGitHub()
	g.Commit("main", map[string]string{ci: "on: push\n"})
	r.work = func(folder string) {
		if err := os.WriteFile(filepath.Join(folder, "one.txt"), nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	r.more = func(folder string) {
		if err := os.WriteFile(filepath.Join(folder, "two.txt"), nil, 0o644); err != nil {
			t.Error(err)
		}
	}
	r.meanwhile = func() { g.Commit("main", map[string]string{ci: "on: pull_request\n"}) }
	r.tick()
	if diff := cmp.Diff([]string{ci, "one.txt", "two.txt"}, g.Files("symphony/ABC-1")); diff != "" {
		t.Error(diff)
	}
	if got, _ := g.File("symphony/ABC-1", ci); got != "on: pull_request\n" || r.renewed != 2 {
		t.Errorf("the workflow is %q, %d renewals, %v", got, r.renewed, r.errs)
	}
}

// A rule that refuses every push is known before a session costs anything.
func TestRulesThatRefuseEveryBranchHoldEveryIssue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule githubtest.Rule
		want string // what the tick says; empty if sessions start
		set  func(*publish.Publisher)
	}{
		"signatures":           {githubtest.Rule{Type: "required_signatures"}, "set delivery.commits to verified", nil},
		"a pattern":            {githubtest.Rule{Type: "branch_name_pattern", Pattern: "feature/"}, `(starts with "feature/"): change repository.branch_prefix`, nil},
		"no new branches":      {githubtest.Rule{Type: "creation"}, "lets nobody make the branch symphony/ABC-1", nil},
		"checks before a push": {githubtest.Rule{Type: "required_status_checks"}, "let it leave out branches such as symphony/ABC-1", nil},
		"checks of others":     {githubtest.Rule{Type: "required_status_checks", TakesNew: true}, "", nil},
		"no second push":       {githubtest.Rule{Type: "update"}, "", nil},
		"pull requests alone":  {githubtest.Rule{Type: "pull_request"}, "", nil},
		"signatures it makes":  {githubtest.Rule{Type: "required_signatures"}, "", func(p *publish.Publisher) { p.Verified = true }},
		"a pattern it has":     {githubtest.Rule{Type: "branch_name_pattern", Pattern: "symphony/"}, "", nil},
		"a rule it bypasses":   {githubtest.Rule{Type: "required_signatures", Bypassed: true}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, issue("ABC-1", "Todo"), issue("ABC-2", "Todo"))
			g := r.onGitHub()
			g.AddRule(test.rule)
			if test.set != nil {
				test.set(r.repository.Publisher)
			}
			sessions := 0
			work := r.work
			r.work = func(folder string) { sessions++; work(folder) }
			r.flow.change(func(s *workflow.Settings) { s.Policy.MaxConcurrent = 1 }, nil)
			said := ""
			if _, err := r.run().Run(t.Context()); err != nil {
				said = err.Error()
			}
			if test.want != "" && (sessions > 0 || !strings.Contains(said, test.want)) || test.want == "" && (sessions != 2 || said != "") {
				t.Errorf("%d sessions, %s", sessions, said)
			}
			if len(r.claims()) > 0 {
				t.Errorf("claims %+v", r.claims())
			}
			for _, err := range r.errs {
				if err != nil {
					t.Error(err)
				}
			}
			if test.want != "" {
				return
			}
			asked := g.Asked()["GET /rules/branches/{branch...}"]
			r.board.move("ABC-1", "Todo")
			r.tick()
			if again := g.Asked()["GET /rules/branches/{branch...}"]; asked != 1 || again != 0 {
				t.Errorf("asked for the rules %d times, and %d when a push was taken", asked, again)
			}
		})
	}
}

// What is kept leaves with the logs.
func TestWorkWithASecretIsNotKept(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	for name, test := range map[string]struct {
		file   string // that the work adds
		taken  bool   // whether all names of its branch are
		secret bool   // whether its history holds one
	}{
		"refused":                      {".github/x", false, false},
		"refused, with a secret":       {".github/x", false, true},
		"without a place":              {"work.txt", true, false},
		"without a place and a secret": {"work.txt", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, issue("ABC-1", "Todo"))
			r.repository.Publisher.Secrets = redact.New(secret)
			r.work = func(folder string) {
				script := "mkdir -p .github; touch " + test.file
				if test.secret {
					script += "; echo " + secret + " > gone; git add -A; git commit -qm one; git rm -q gone"
				}
				r.command(folder, "", git.Command{Args: []string{"sh", "-ec", script}})
				for n := 1; test.taken && n <= 10; n++ {
					name := "symphony/ABC-1"
					if n > 1 {
						name = fmt.Sprintf("%s+%d", name, n)
					}
					r.git(r.origin, "branch", name, "main")
				}
			}
			r.tick()
			if _, err := os.Stat(filepath.Join(r.repository.Kept, "ABC-1")); (err == nil) == test.secret {
				t.Errorf("kept: %v, the session ended with %v", err, r.errs)
			}
		})
	}
}

func TestASessionHasTheFilesThatTheWorkflowNames(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	r.flow.change(func(s *workflow.Settings) { s.Repository.Paths = []string{"app"} }, nil)
	var paths []string
	r.sessions = func(_ context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
		paths = job.Repository.Checkout.Paths
		return schedule.Outcome{Class: schedule.NeedsInput, Why: "enough"}
	}
	r.tick()
	if !slices.Equal(paths, []string{"app"}) {
		t.Errorf("the session has the paths %v", paths)
	}
}

// atMessage is a log that calls a function at a message.
type atMessage struct {
	message string
	call    func()
}

func (h atMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h atMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.call()
	}
	return nil
}

func (h atMessage) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h atMessage) WithGroup(string) slog.Handler      { return h }

func TestAFetchThatIsInterruptedEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	r := newRemote(t, issue("ABC-1", "Todo"))
	fifo := filepath.Join(r.origin, "HEAD")
	if err := os.Remove(fifo); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := r.run()
	run.Log = slog.New(atMessage{"fetching the repository", cancel})
	if _, err := run.Run(ctx); !errors.Is(err, schedule.ErrInterrupted) {
		t.Errorf("error %v", err)
	}
}
