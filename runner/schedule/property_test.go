package schedule_test

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"reflect"
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

// check checks a property in many fixtures.
func check(t *testing.T, property func(t *rapid.T, f fixture)) {
	t.Helper()
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { property(t, genFixture(t)) })
}

// dispatched returns the issues that the decisions start, in order.
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
	check(t, func(t *rapid.T, f fixture) {
		if again := f.then(f.plan()).plan(); len(again) > 0 {
			t.Fatalf("planned again: %+v", again)
		}
	})
}

func TestADispatchNeverExceedsALimit(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		decisions := f.plan()
		started := dispatched(decisions)
		after := f.then(decisions)
		counted, perState := 0, map[string]int{}
		for id, c := range after.state.Claims {
			if after.counts(c) {
				counted++
			}
			if holdsSlot(c) {
				perState[tracker.NormalState(after.latest(id).State)]++
			}
		}
		if len(started) > 0 && counted > f.policy.MaxConcurrent {
			t.Fatalf("%d sessions at once, at most %d are allowed", counted, f.policy.MaxConcurrent)
		}
		if sessions := f.state.Tick.Sessions + len(started); len(started) > 0 && sessions > f.policy.PerTick() {
			t.Fatalf("%d sessions in one tick, at most %d are allowed", sessions, f.policy.PerTick())
		}
		for _, issue := range started {
			state := tracker.NormalState(issue.State)
			if limit, limited := f.policy.MaxPerState[state]; limited && perState[state] > limit {
				t.Fatalf("%d sessions in state %q, at most %d are allowed", perState[state], state, limit)
			}
		}
	})
}

// TestADispatchIsToTheRightHost restates SPEC §8.3 for worker hosts, and the choice among them.
func TestADispatchIsToTheRightHost(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		now := f.settled()
		load := map[string]int{} // sessions by host
		for _, c := range now.state.Claims {
			if holdsSlot(c) {
				load[c.Host]++
			}
		}
		released := map[tracker.ID]bool{}
		for _, d := range f.plan() {
			if d.Action != schedule.Dispatch {
				released[d.ID] = released[d.ID] || d.Action == schedule.Release
				continue
			}
			if len(f.policy.Hosts) == 0 {
				if d.Host != "" {
					t.Fatalf("%s starts on %q, and there are no hosts", d.ID, d.Host)
				}
				continue
			}
			h, failed := f.state.Hosts[d.Host]
			full := func(host string) bool { return f.policy.PerHost > 0 && load[host] >= f.policy.PerHost }
			switch {
			case !slices.Contains(f.policy.Hosts, d.Host):
				t.Fatalf("%s starts on %q, which is not in the policy", d.ID, d.Host)
			case f.now.Before(h.Until):
				t.Fatalf("%s starts on %s, which is down until %v", d.ID, d.Host, h.Until)
			case full(d.Host):
				t.Fatalf("%s starts on %s, which has %d sessions", d.ID, d.Host, load[d.Host])
			}
			last := f.state.Conversations[d.ID].Host
			c, claimed := f.state.Claims[d.ID]
			if claimed {
				last = c.Host
			}
			_, lastFailed := f.state.Hosts[last]
			works := func(host string) bool {
				_, failed := f.state.Hosts[host]
				return slices.Contains(f.policy.Hosts, host) && !failed && !full(host)
			}
			switch {
			case claimed && !released[d.ID] && slices.Contains(f.policy.Hosts, last) && !lastFailed && d.Host != last:
				t.Fatalf("%s starts on %s, and has its workspace on %s, which works", d.ID, d.Host, last)
			case works(last) && d.Host != last:
				t.Fatalf("%s starts on %s, and was on %s, which is free", d.ID, d.Host, last)
			case d.Host != last:
				at := slices.Index(f.policy.Hosts, d.Host)
				for i, other := range f.policy.Hosts {
					if less := load[other] < load[d.Host] || load[other] == load[d.Host] && i < at; works(other) && less {
						t.Fatalf("%s starts on %s with %d sessions, not on %s with %d", d.ID, d.Host, load[d.Host], other, load[other])
					}
				}
			case lastFailed && slices.ContainsFunc(f.policy.Hosts, works):
				t.Fatalf("%s starts again on %s, which has failed", d.ID, last)
			}
			if failed && slices.ContainsFunc(slices.Collect(maps.Values(now.state.Claims)), func(c schedule.Claim) bool {
				return holdsSlot(c) && c.Host == d.Host && !c.Since.Before(h.Until)
			}) {
				t.Fatalf("%s is the second session that tries %s", d.ID, d.Host)
			}
			load[d.Host]++
			now.state.Apply(d, f.now)
			if c := now.state.Claims[d.ID]; c.Host != d.Host || c.Host != last && c.Thread != "" || slices.Contains(c.Left, c.Host) {
				t.Fatalf("%s was on %q: %+v", d.ID, last, c)
			}
		}
	})
}

func TestALostHostChargesNothing(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		before := f.state.Clone()
		class := rapid.SampledFrom([]schedule.Outcome{
			{Class: schedule.HostLost, CutOff: true},
			{Class: schedule.HostLost},
			{Class: schedule.Systemic, Cause: schedule.CauseMachine},
			{Class: schedule.Systemic, Cause: schedule.CauseStart},
		}).Draw(t, "outcome")
		class.Why, class.Turns = "the connection was lost", rapid.IntRange(0, 2).Draw(t, "turns")
		for id, was := range before.Claims {
			if was.Owner != me || was.Host == "" {
				continue
			}
			o, _ := f.state.Reclassify(id, class)
			next := f.state.Exit(id, o, f.policy, f.now)
			is, kept := f.state.Claims[id]
			if !kept && !o.CutOff {
				continue // it is over
			}
			if !kept || next.Phase != is.Phase {
				t.Fatalf("%s was released: %+v", id, next)
			}
			wait := time.Duration(0)
			if o.CutOff {
				wait = schedule.HostNotice
			}
			if is.Phase != schedule.Waiting || is.Due.Sub(f.now) != wait || o.CutOff != is.Due.Equal(is.LostUntil) {
				t.Fatalf("%s became %+v", id, is)
			}
			if is.Attempt != was.Attempt || is.Failures != was.Failures || is.Idle != was.Idle || is.Sessions != was.Sessions ||
				is.Tokens != was.Tokens || is.Thread != was.Thread || is.Unsettled != was.Unsettled || is.Course.Failed != was.Course.Failed || is.Fault != "" {
				t.Fatalf("%s was charged:\n%s", id, cmp.Diff(was, is))
			}
			h, failed := f.state.Hosts[was.Host]
			if listed := slices.Contains(f.policy.Hosts, was.Host); failed != listed {
				t.Fatalf("%s is listed: %v, and has failed: %v", was.Host, listed, failed)
			} else if listed && h.Failures > before.Hosts[was.Host].Failures+1 {
				t.Fatalf("one failure of %s counts as %d", was.Host, h.Failures-before.Hosts[was.Host].Failures)
			}
		}
		if f.state.Pause != before.Pause {
			t.Fatalf("everything is paused: %+v", f.state.Pause)
		}
		for _, d := range f.plan() {
			if c := before.Claims[d.ID]; class.CutOff && d.Action == schedule.Dispatch && c.Owner == me && c.Host != "" {
				t.Fatalf("%s starts again at once", d.ID)
			}
		}
	})
}

func TestOnlyAnEligibleFreeIssueIsDispatched(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		free := map[tracker.ID]bool{} // released, or let go on
		started := map[tracker.ID]bool{}
		for _, d := range f.plan() {
			switch d.Action {
			case schedule.Release, schedule.Free:
				free[d.ID] = true
			case schedule.Dispatch:
				policy := f.policy
				if d.Answers {
					policy = policy.Answering()
				}
				if why := policy.IneligibleToStart(d.Issue); !why.None() {
					t.Fatalf("started %s, which %v", d.ID, why)
				}
				if d.ID != d.Issue.ID || started[d.ID] {
					t.Fatalf("started %s twice, or as another issue", d.ID)
				}
				started[d.ID] = true
				c, claimed := f.state.Claims[d.ID]
				if c.LostUntil.After(f.now) {
					t.Fatalf("started %s, on which an agent may still work", d.ID)
				}
				if claimed && !free[d.ID] && (c.Phase != schedule.Waiting || c.Due.After(f.now)) {
					t.Fatalf("started %s, whose claim is %s and due %v", d.ID, c.Phase, c.Due)
				}
				if known, asked := f.snap.Claimed[d.ID]; asked && known == nil || claimed && !asked {
					t.Fatalf("started %s, which was not read", d.ID)
				}
			}
		}
	})
}

func TestNothingStartsWhileStartsAreForbidden(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		if started := dispatched(f.plan()); startsForbidden(f.settled()) && len(started) > 0 {
			t.Fatalf("started %d sessions", len(started))
		}
	})
}

func TestOneSessionTriesWhenAPauseIsOver(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		f.state.Pause = schedule.Pause{Why: "the quota is used up", Since: noon.Add(-time.Hour), Until: f.now}
		busy := 0
		for _, c := range f.state.Claims {
			if holdsSlot(c) {
				busy++
			}
		}
		if started := len(dispatched(f.plan())); started > 0 && busy+started > 1 {
			t.Fatalf("%d sessions started beside %d", started, busy)
		}
	})
}

func TestNewIssuesStartInOrder(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		f.state.Claims = map[tracker.ID]schedule.Claim{}
		f.snap.Claimed = map[tracker.ID]*tracker.Issue{}
		f.snap.Feedback = nil
		f.policy.MaxPerState, f.policy.MaxOpen, f.policy.MaxOpenByLabel, f.policy.Hosts = nil, 0, nil, nil // every eligible issue fits where another one does

		want := schedule.Sorted(f.snap.Candidates, schedule.Compare)
		want = slices.CompactFunc(want, func(a, b tracker.Issue) bool { return a.ID == b.ID })
		want = slices.DeleteFunc(want, func(issue tracker.Issue) bool { return !f.policy.IneligibleToStart(issue).None() })
		fit := max(0, min(f.policy.MaxConcurrent, f.policy.PerTick()-f.state.Tick.Sessions, len(want)))
		switch {
		case startsForbidden(f):
			fit = 0
		case f.state.Pause.Why != "":
			fit = min(fit, 1)
		}
		if diff := cmp.Diff(ids(want[:fit]), ids(dispatched(f.plan()))); diff != "" {
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
		ab, bc, ac := schedule.Compare(&a, &b), schedule.Compare(&b, &c), schedule.Compare(&a, &c)
		if schedule.Compare(&a, &a) != 0 || ab != -schedule.Compare(&b, &a) {
			t.Fatal("not antisymmetric")
		}
		if ab <= 0 && bc <= 0 && (ac > 0 || ac == 0 && (ab != 0 || bc != 0)) {
			t.Fatal("not transitive")
		}
		if ab == 0 && a.ID != b.ID {
			t.Fatal("two issues have the same place")
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
	check(t, func(t *rapid.T, f fixture) {
		before := f.dump(t)
		plan, verdicts := f.plan(), schedule.Explain(f.state, f.snap, f.policy, f.now)
		if diff := cmp.Diff(before, f.dump(t)); diff != "" {
			t.Fatalf("planning changed its input (-before +after):\n%s", diff)
		}
		if len(f.snap.Candidates) > 0 {
			f.snap.Candidates = rapid.Permutation(f.snap.Candidates).Draw(t, "permutation")
		}
		if diff := cmp.Diff(plan, f.plan()); diff != "" {
			t.Fatalf("the plan depends on the order of candidates:\n%s", diff)
		}
		if diff := cmp.Diff(verdicts, schedule.Explain(f.state, f.snap, f.policy, f.now)); diff != "" {
			t.Fatalf("the reasons depend on the order of candidates:\n%s", diff)
		}
	})
}

func TestExplainAgreesWithPlan(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		type step struct {
			ID     tracker.ID
			Action schedule.Action
			Host   string
		}
		var want, got []step
		for _, d := range f.plan() {
			host := d.Host
			if c := f.state.Claims[d.ID]; c.Phase.HasSession() {
				host = c.Host
			}
			if d.Action != schedule.Observe {
				want = append(want, step{d.ID, d.Action, host})
			}
		}
		explained, freed := map[tracker.ID]bool{}, map[tracker.ID]bool{}
		for _, v := range schedule.Explain(f.state, f.snap, f.policy, f.now) {
			explained[v.Issue.ID] = true
			if v.Action != "" {
				got = append(got, step{v.Issue.ID, v.Action, v.Host})
			}
			if v.Action != schedule.Dispatch && (v.Why.Reason == "" || v.Why.String() == "") {
				t.Fatalf("no reason: %+v", v)
			}
			freed[v.Issue.ID] = freed[v.Issue.ID] || v.Action == schedule.Free
			if v.Phase != f.state.Claims[v.Issue.ID].Phase && v.Phase != "" && !freed[v.Issue.ID] {
				t.Fatalf("%s is %q, not %q", v.Issue.ID, f.state.Claims[v.Issue.ID].Phase, v.Phase)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Explain differs from Plan (-plan +explain):\n%s", diff)
		}
		for id := range f.state.Claims {
			if !explained[id] {
				t.Fatalf("Explain leaves out the claim %s", id)
			}
		}
		for _, issue := range f.snap.Candidates {
			if !explained[issue.ID] {
				t.Fatalf("Explain leaves out the candidate %s", issue.ID)
			}
		}
	})
}

// TestASessionStallsOnlyWhenItIsSilentInATurn restates SPEC §8.5, applied to the turns
// of a session.
func TestASessionStallsOnlyWhenItIsSilentInATurn(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		for _, d := range f.plan() {
			if d.Action != schedule.Stop || d.Why.Reason != schedule.Stalled {
				continue
			}
			c := f.state.Claims[d.ID]
			if silent := func(since time.Time) bool { return f.now.Sub(since) > f.policy.Stall }; f.policy.Stall <= 0 ||
				c.TurnSince.IsZero() || !silent(c.TurnSince) || !silent(c.Heard) {
				t.Fatalf("stopped as stalled: %+v", c)
			}
		}
		f = f.then(f.plan())
		for id, c := range f.state.Claims {
			silent := f.now.Sub(c.TurnSince) > f.policy.Stall && f.now.Sub(c.Heard) > f.policy.Stall
			if c.Phase == schedule.Running && c.Owner == me && f.policy.Stall > 0 && !c.TurnSince.IsZero() && silent {
				t.Fatalf("%s is silent and not stopped: %+v", id, c)
			}
		}
	})
}

func TestNothingIsDecidedBeforeWake(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		f = f.then(f.plan())
		span := 72 * time.Hour
		if at, ok := f.state.Wake(f.policy, f.now); ok {
			if span = at.Sub(f.now) - 1; span < 0 {
				t.Fatalf("Wake is %v, which is not after %v", at, f.now)
			}
		}
		f.now = f.now.Add(time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, "passes")))
		if early := f.plan(); len(early) > 0 {
			t.Fatalf("decided before the time: %+v", early)
		}
	})
}

func TestAdoptionChangesOnlyTheClaimsOfDeadOwners(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		life := rapid.SampledFrom([]schedule.OwnerStatus{schedule.Unknown, schedule.Alive, schedule.Dead})
		lives := map[schedule.Owner]schedule.OwnerStatus{}
		for _, owner := range []schedule.Owner{other, local} {
			lives[owner] = life.Draw(t, "life")
		}
		before := f.state.Clone()
		adopted := f.state.Adopt(lives, f.policy, f.now)

		want := 0
		for id, was := range before.Claims {
			is, kept := f.state.Claims[id]
			lost := lives[was.Owner] == schedule.Dead || lives[was.Owner] == schedule.Unknown && !f.now.Before(was.Lease)
			switch {
			case !kept:
				t.Fatalf("lost the claim %s", id)
			case !holdsSlot(was) || was.Owner == me || !lost:
				if diff := cmp.Diff(was, is); diff != "" {
					t.Fatalf("changed the claim %s:\n%s", id, diff)
				}
			default:
				want++
				if is.Phase != schedule.Parked && (is.Phase != schedule.Waiting || is.Due.After(f.now)) {
					t.Fatalf("adopted %s, which is %s until %v", id, is.Phase, is.Due)
				}
				if is.Attempt != was.Attempt+1 || is.Tokens != was.Tokens || is.Thread != was.Thread {
					t.Fatalf("adopted %s without its history: %+v", id, is)
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
		f := simple()
		f.claim(todo(1), schedule.Running, nil)
		var high schedule.Usage // the highest numbers reported
		for range rapid.IntRange(0, 8).Draw(t, "reports") {
			u := genUsage(t)
			high = high.AtLeast(u)
			f.state.Heartbeat("1", schedule.Update{Usage: u, RateLimits: json.RawMessage(`{}`)}, f.now)
			if got := f.state.Claims["1"].Tokens; got != high.Total() {
				t.Fatalf("the issue has %d tokens, want %d", got, high.Total())
			}
			f.now = f.now.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "hours")) * time.Hour)
		}
		end := genUsage(t)
		high = high.AtLeast(end)
		f.state.Exit("1", schedule.Outcome{Class: schedule.Transient, Why: "busy", Usage: end}, f.policy, f.now)
		f.state.Heartbeat("1", schedule.Update{Usage: schedule.Usage{Input: 1 << 20}}, f.now) // too late

		var days schedule.Usage
		for _, day := range f.state.Days {
			days = days.Plus(day.Usage)
		}
		if f.state.Claims["1"].Tokens != high.Total() || !reflect.DeepEqual(f.state.Tick.Usage, high) || !reflect.DeepEqual(days, high) {
			t.Fatalf("the claim has %d, the tick %v, the days %v; want %v",
				f.state.Claims["1"].Tokens, f.state.Tick.Usage, days, high)
		}
	})
}

func genUsage(t *rapid.T) schedule.Usage {
	var u schedule.Usage
	for _, model := range []string{"", "m", "n"} { // in the order of tariffs
		part := schedule.TariffUsage{
			Tariff: schedule.Tariff{Model: model},
			Input:  rapid.Int64Range(0, 300).Draw(t, "input"),
			Output: rapid.Int64Range(0, 100).Draw(t, "output"),
		}
		if part.Input+part.Output > 0 && rapid.IntRange(0, 3).Draw(t, "has the model "+model) > 0 {
			part.Cached = rapid.Int64Range(0, part.Input).Draw(t, "cached")
			u.Input, u.Output = u.Input+part.Input, u.Output+part.Output
			u.Tariffs = append(u.Tariffs, part)
		}
	}
	return u
}

// prices has no price for the model n and for one without a name.
var prices = schedule.Prices{"m": {Rates: schedule.Rates{Input: 2, Cached: 1, CacheWrite: 2, Output: 5}}}

func sumOf(t schedule.Tariffs) (n int64) {
	for _, u := range t {
		n += u.Input + u.Output
	}
	return n
}
