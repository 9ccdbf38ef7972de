package schedule_test

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// These properties hold in every fixture. For a thorough run:
//
//	go test ./runner/schedule -rapid.checks=10000

// check runs a property in many worlds.
func check(t *testing.T, property func(t *rapid.T, w fixture)) {
	t.Helper()
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { property(t, genFixture(t)) })
}

// dispatched are the issues that the decisions start, in order.
func dispatched(decisions []schedule.Decision) []tracker.Issue {
	var issues []tracker.Issue
	for _, d := range decisions {
		if d.Action == schedule.Dispatch {
			issues = append(issues, d.Issue)
		}
	}
	return issues
}

func ids(issues []tracker.Issue) []tracker.ID {
	list := []tracker.ID{}
	for _, issue := range issues {
		list = append(list, issue.ID)
	}
	return list
}

func TestPlanningAgainDecidesNothing(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		if again := w.then(w.plan()).plan(); len(again) > 0 {
			t.Fatalf("planned again: %+v", again)
		}
	})
}

func TestADispatchNeverExceedsALimit(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		decisions := w.plan()
		started := dispatched(decisions)
		after := w.then(decisions)
		busy, perState := 0, map[string]int{}
		for id, c := range after.state.Claims {
			if holdsSlot(c) {
				busy++
				perState[tracker.NormalState(after.latest(id).State)]++
			}
		}
		if len(started) > 0 && busy > w.policy.MaxConcurrent {
			t.Fatalf("%d sessions at once, at most %d are allowed", busy, w.policy.MaxConcurrent)
		}
		if sessions := w.state.Tick.Sessions + len(started); len(started) > 0 && sessions > w.policy.MaxPerTick {
			t.Fatalf("%d sessions in one tick, at most %d are allowed", sessions, w.policy.MaxPerTick)
		}
		for _, issue := range started {
			state := tracker.NormalState(issue.State)
			if limit, limited := w.policy.MaxPerState[state]; limited && perState[state] > limit {
				t.Fatalf("%d sessions in state %q, at most %d are allowed", perState[state], state, limit)
			}
		}
	})
}

func TestOnlyAnEligibleFreeIssueIsDispatched(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		released := map[tracker.ID]bool{}
		started := map[tracker.ID]bool{}
		for _, d := range w.plan() {
			switch d.Action {
			case schedule.Release:
				released[d.ID] = true
			case schedule.Dispatch:
				if why := w.policy.IneligibleToStart(d.Issue); !why.None() {
					t.Fatalf("started %s, which %v", d.ID, why)
				}
				if d.ID != d.Issue.ID || started[d.ID] {
					t.Fatalf("started %s twice, or as another issue", d.ID)
				}
				started[d.ID] = true
				c, claimed := w.state.Claims[d.ID]
				if claimed && !released[d.ID] && (c.Phase != schedule.Waiting || c.Due.After(w.now)) {
					t.Fatalf("started %s, whose claim is %s and due %v", d.ID, c.Phase, c.Due)
				}
				if known, asked := w.snap.Claimed[d.ID]; asked && known == nil || claimed && !asked {
					t.Fatalf("started %s, of which nothing is known", d.ID)
				}
			}
		}
	})
}

func TestNothingStartsBehindAClosedGate(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		if started := dispatched(w.plan()); closed(w) && len(started) > 0 {
			t.Fatalf("started %d sessions", len(started))
		}
	})
}

func TestOneSessionTriesWhenAPauseIsOver(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		w.state.Pause = schedule.Pause{Why: "the quota is used up", Since: noon.Add(-time.Hour), Until: w.now}
		busy := 0
		for _, c := range w.state.Claims {
			if holdsSlot(c) {
				busy++
			}
		}
		if started := len(dispatched(w.plan())); started > 0 && busy+started > 1 {
			t.Fatalf("%d sessions started beside %d", started, busy)
		}
	})
}

func TestNewIssuesStartInOrder(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		w.state.Claims = map[tracker.ID]schedule.Claim{}
		w.snap.Claimed = map[tracker.ID]*tracker.Issue{}
		w.policy.MaxPerState = nil // every eligible issue fits where another one does

		want := slices.SortedFunc(slices.Values(w.snap.Candidates), schedule.Compare)
		want = slices.CompactFunc(want, func(a, b tracker.Issue) bool { return a.ID == b.ID })
		want = slices.DeleteFunc(want, func(issue tracker.Issue) bool { return !w.policy.IneligibleToStart(issue).None() })
		fit := max(0, min(w.policy.MaxConcurrent, w.policy.MaxPerTick-w.state.Tick.Sessions, len(want)))
		switch {
		case closed(w):
			fit = 0
		case w.state.Pause.Why != "":
			fit = min(fit, 1)
		}
		if diff := cmp.Diff(ids(want[:fit]), ids(dispatched(w.plan()))); diff != "" {
			t.Fatalf("not the first eligible ones (-want +got):\n%s", diff)
		}
	})
}

func TestCompareIsATotalOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func() tracker.Issue {
			issue := genIssue(t, rapid.IntRange(0, 3).Draw(t, "id"))
			issue.Identifier = rapid.SampledFrom([]string{"ABC-1", "ABC-2"}).Draw(t, "identifier")
			return issue
		}
		a, b, c := draw(), draw(), draw()
		ab, bc, ac := schedule.Compare(a, b), schedule.Compare(b, c), schedule.Compare(a, c)
		if schedule.Compare(a, a) != 0 || ab != -schedule.Compare(b, a) {
			t.Fatal("not antisymmetric")
		}
		if ab <= 0 && bc <= 0 && (ac > 0 || ac == 0 && (ab != 0 || bc != 0)) {
			t.Fatal("not transitive")
		}
		if ab == 0 && a.ID != b.ID {
			t.Fatal("two issues have one place")
		}
	})
}

func TestBackoffFollowsTheFormula(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(1, 200).Draw(t, "attempt")
		limit := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "limit"))
		got := schedule.Backoff(attempt, limit)
		want := limit
		exact := new(big.Int).Lsh(big.NewInt(int64(10*time.Second)), uint(attempt-1))
		if exact.Cmp(big.NewInt(int64(limit))) < 0 {
			want = time.Duration(exact.Int64())
		}
		if got != want {
			t.Fatalf("Backoff(%d, %v) = %v, want %v", attempt, limit, got, want)
		}
		if next := schedule.Backoff(attempt+1, limit); next < got || next > limit {
			t.Fatalf("Backoff(%d) = %v after %v, limit %v", attempt+1, next, got, limit)
		}
	})
}

func TestPlanDependsOnNothingElse(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		before := w.dump(t)
		plan, verdicts := w.plan(), schedule.Explain(w.state, w.snap, w.policy, w.now)
		if diff := cmp.Diff(before, w.dump(t)); diff != "" {
			t.Fatalf("planning changed its input (-before +after):\n%s", diff)
		}
		if len(w.snap.Candidates) > 0 {
			w.snap.Candidates = rapid.Permutation(w.snap.Candidates).Draw(t, "permutation")
		}
		if diff := cmp.Diff(plan, w.plan()); diff != "" {
			t.Fatalf("another order of candidates, another plan:\n%s", diff)
		}
		if diff := cmp.Diff(verdicts, schedule.Explain(w.state, w.snap, w.policy, w.now)); diff != "" {
			t.Fatalf("another order of candidates, other reasons:\n%s", diff)
		}
	})
}

func TestExplainAgreesWithPlan(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		type step struct {
			ID   tracker.ID
			Verb schedule.Action
		}
		var want, got []step
		for _, d := range w.plan() {
			if d.Action != schedule.Observe {
				want = append(want, step{d.ID, d.Action})
			}
		}
		explained := map[tracker.ID]bool{}
		for _, v := range schedule.Explain(w.state, w.snap, w.policy, w.now) {
			explained[v.Issue.ID] = true
			if v.Action != "" {
				got = append(got, step{v.Issue.ID, v.Action})
			}
			if v.Action != schedule.Dispatch && (v.Why.Reason == "" || v.Why.String() == "") {
				t.Fatalf("no reason: %+v", v)
			}
			if v.Phase != w.state.Claims[v.Issue.ID].Phase && v.Phase != "" {
				t.Fatalf("%s is %q, not %q", v.Issue.ID, w.state.Claims[v.Issue.ID].Phase, v.Phase)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Explain differs from Plan (-plan +explain):\n%s", diff)
		}
		for id := range w.state.Claims {
			if !explained[id] {
				t.Fatalf("nothing is said of the claim %s", id)
			}
		}
		for _, issue := range w.snap.Candidates {
			if !explained[issue.ID] {
				t.Fatalf("nothing is said of the candidate %s", issue.ID)
			}
		}
	})
}

// TestASessionIsStalledWhenItIsSilentInATurnAlone restates SPEC §8.5, with the
// turn as the time in which a session must be heard of.
func TestASessionIsStalledWhenItIsSilentInATurnAlone(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		for _, d := range w.plan() {
			if d.Action != schedule.Stop || d.Why.Reason != schedule.Stalled {
				continue
			}
			c := w.state.Claims[d.ID]
			if silent := func(since time.Time) bool { return w.now.Sub(since) > w.policy.Stall }; w.policy.Stall <= 0 ||
				c.TurnSince.IsZero() || !silent(c.TurnSince) || !silent(c.Heard) {
				t.Fatalf("stopped as silent: %+v", c)
			}
		}
		w = w.then(w.plan())
		for id, c := range w.state.Claims {
			silent := w.now.Sub(c.TurnSince) > w.policy.Stall && w.now.Sub(c.Heard) > w.policy.Stall
			if c.Phase == schedule.Running && c.Owner == me && w.policy.Stall > 0 && !c.TurnSince.IsZero() && silent {
				t.Fatalf("%s runs on in silence: %+v", id, c)
			}
		}
	})
}

func TestNothingIsDecidedBeforeWake(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		w = w.then(w.plan())
		span := 72 * time.Hour
		if at, ok := w.state.Wake(w.policy, w.now); ok {
			if span = at.Sub(w.now) - 1; span < 0 {
				t.Fatalf("Wake is %v, which is not after %v", at, w.now)
			}
		}
		w.now = w.now.Add(time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, "passes")))
		if early := w.plan(); len(early) > 0 {
			t.Fatalf("decided before the time: %+v", early)
		}
	})
}

func TestAdoptionTouchesTheClaimsOfTheDeadAlone(t *testing.T) {
	check(t, func(t *rapid.T, w fixture) {
		life := rapid.SampledFrom([]schedule.OwnerStatus{schedule.Unknown, schedule.Alive, schedule.Dead})
		lives := map[schedule.Owner]schedule.OwnerStatus{}
		for _, owner := range []schedule.Owner{other, local} {
			lives[owner] = life.Draw(t, "life")
		}
		before := w.state.Clone()
		adopted := w.state.Adopt(lives, w.policy, w.now)

		want := 0
		for id, was := range before.Claims {
			is, kept := w.state.Claims[id]
			lost := lives[was.Owner] == schedule.Dead || lives[was.Owner] == schedule.Unknown && !w.now.Before(was.Lease)
			switch {
			case !kept:
				t.Fatalf("lost the claim %s", id)
			case !holdsSlot(was) || was.Owner == me || !lost:
				if diff := cmp.Diff(was, is); diff != "" {
					t.Fatalf("touched the claim %s:\n%s", id, diff)
				}
			default:
				want++
				if is.Phase != schedule.Parked && (is.Phase != schedule.Waiting || is.Due.After(w.now)) {
					t.Fatalf("adopted %s, and it is %s until %v", id, is.Phase, is.Due)
				}
				if is.Attempt != was.Attempt+1 || is.Tokens != was.Tokens || is.Thread != was.Thread {
					t.Fatalf("adopted %s, and its history is gone: %+v", id, is)
				}
				checkShape(t, is)
			}
		}
		if len(adopted) != want {
			t.Fatalf("says it adopted %d claims, want %d", len(adopted), want)
		}
	})
}

func TestTokensAreCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := simple()
		w.claim(todo(1), schedule.Running, nil)
		var high schedule.Usage // the highest reports: what has really been used
		for range rapid.IntRange(0, 8).Draw(t, "reports") {
			u := genUsage(t)
			high = schedule.Usage{Input: max(high.Input, u.Input), Output: max(high.Output, u.Output)}
			w.state.Heartbeat("1", schedule.Update{Usage: u, RateLimits: json.RawMessage(`{}`)}, w.now)
			if got := w.state.Claims["1"].Tokens; got != high.Total() {
				t.Fatalf("the issue has %d tokens, want %d", got, high.Total())
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "hours")) * time.Hour)
		}
		end := genUsage(t)
		high = schedule.Usage{Input: max(high.Input, end.Input), Output: max(high.Output, end.Output)}
		w.state.Exit("1", schedule.Outcome{Class: schedule.Transient, Why: "busy", Usage: end}, w.policy, w.now)
		w.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1 << 20}}, w.now) // too late

		var days schedule.Usage
		for _, day := range w.state.Days {
			days.Input, days.Output = days.Input+day.Usage.Input, days.Output+day.Usage.Output
		}
		if w.state.Claims["1"].Tokens != high.Total() || w.state.Tick.Usage != high || days != high {
			t.Fatalf("the claim has %d, the tick %v, the days %v; want %v",
				w.state.Claims["1"].Tokens, w.state.Tick.Usage, days, high)
		}
	})
}

func genUsage(t *rapid.T) schedule.Usage {
	return schedule.Usage{
		Input:  rapid.Int64Range(0, 600).Draw(t, "input"),
		Output: rapid.Int64Range(0, 200).Draw(t, "output"),
	}
}
