package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestADispatchClaimsTheIssueAndIsCounted(t *testing.T) {
	t.Parallel()
	f, issue := simple(), todo(1)
	issue.URL = "https://tracker.example/1"
	dispatch := schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: issue}
	f.state.Apply(dispatch, noon)
	want := schedule.Claim{
		ID: "1", Identifier: "ABC-1", Title: "Issue 1", URL: issue.URL, State: "Todo", Content: issue.ContentDigest(),
		Phase: schedule.Running, Since: noon, Owner: me, Lease: noon.Add(10 * time.Minute), Sessions: 1,
		Course: schedule.Course{Ready: noon, Sessions: 1},
	}
	if diff := cmp.Diff(want, f.state.Claims["1"]); diff != "" {
		t.Errorf("the claim (-want +got):\n%s", diff)
	}

	f.state.Exit("1", schedule.Outcome{Class: schedule.Done}, f.policy, noon)
	f.state.Apply(dispatch, noon)
	if got := f.state.Claims["1"].Sessions; got != 2 {
		t.Errorf("the issue had %d sessions, want 2", got)
	}
	if tick, day := f.state.Tick.Sessions, f.state.SpentToday(noon).Sessions; tick != 2 || day != 2 {
		t.Errorf("the tick had %d sessions and the day %d, want 2", tick, day)
	}
}

func TestAClaimStoresTheIssueAsPeopleSeeIt(t *testing.T) {
	t.Parallel()
	edits := map[string]func(*tracker.Issue){
		"identifier": func(issue *tracker.Issue) { issue.Identifier = "XYZ-1" },
		"title":      func(issue *tracker.Issue) { issue.Title = "Another title" },
		"url":        func(issue *tracker.Issue) { issue.URL = "https://tracker.example/1" },
		"state":      func(issue *tracker.Issue) { issue.State = "In Progress" },
	}
	for _, phase := range []schedule.Phase{schedule.Running, schedule.Waiting, schedule.Parked} {
		for name, edit := range edits {
			t.Run(string(phase)+" "+name, func(t *testing.T) {
				f, issue := simple(), todo(1)
				f.claim(issue, phase, func(c *schedule.Claim) {
					if phase == schedule.Waiting {
						c.Due = noon.Add(time.Hour)
					}
					if phase == schedule.Parked {
						c.Content = "" // else an edit would release it
					}
				})
				edit(&issue)
				f.snap.Claimed[issue.ID] = &issue
				c := f.then(f.plan()).state.Claims[issue.ID]
				got := tracker.Issue{Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State}
				want := tracker.Issue{Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State}
				if diff := cmp.Diff(want, got); diff != "" || c.Phase != phase {
					t.Errorf("%s (-want +got):\n%s", c.Phase, diff)
				}
			})
		}
	}
}

func TestWakeIsTheNextTimeThatMatters(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	tests := []struct {
		name string
		with func(fixture) fixture
		want time.Duration // time after noon; 0 for never
	}{
		{"nothing is claimed", func(f fixture) fixture { return f }, 0},
		{"a wait that is over already", func(f fixture) fixture {
			f.claim(todo(1), schedule.Waiting, nil)
			return f
		}, 0},
		{"the first of two waits", func(f fixture) fixture {
			f.claim(todo(1), schedule.Waiting, func(c *schedule.Claim) { c.Due = in(time.Hour) })
			f.claim(todo(2), schedule.Waiting, func(c *schedule.Claim) { c.Due = in(time.Minute) })
			return f
		}, time.Minute},
		{"a session falls silent", func(f fixture) fixture {
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.TurnSince, c.Heard = in(-2*time.Minute), in(-time.Minute) })
			return f
		}, 4*time.Minute + 1},
		{"a session that was not heard of since its turn began", func(f fixture) fixture {
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since, c.TurnSince = in(-time.Hour), noon })
			return f
		}, 5*time.Minute + 1},
		{"a session between two turns", func(f fixture) fixture {
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Since, c.Heard = in(-time.Hour), in(-time.Hour) })
			return f
		}, 0},
		{"no stall detection", func(f fixture) fixture {
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.TurnSince = noon })
			f.policy.Stall = 0
			return f
		}, 0},
		{"a session of another run, and one that ends", func(f fixture) fixture {
			f.claim(todo(1), schedule.Running, func(c *schedule.Claim) { c.Owner, c.TurnSince = other, noon })
			f.claim(todo(2), schedule.Stopping, nil)
			return f
		}, 0},
		{"a pause", func(f fixture) fixture {
			f.state.Pause = schedule.Pause{Why: "unauthorized", Until: in(time.Minute)}
			return f
		}, time.Minute},
		{"the budget of the day is spent", func(f fixture) fixture {
			f.policy.Budget.TokensPerDay = 10
			f.state.Days = []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Output: 10}}}
			return f
		}, 12 * time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := test.with(simple())
			at, ok := f.state.Wake(f.policy, f.now)
			if want := in(test.want); ok != (test.want != 0) || ok && !at.Equal(want) {
				t.Errorf("Wake = %v, %v; want %v", at, ok, want)
			}
		})
	}
}

func TestARetryWaitsForPausesAndTheBudgetOfTheDay(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	pause := func(f fixture) fixture {
		f.state.Pause = schedule.Pause{Why: "unauthorized", Until: in(5 * time.Minute)}
		return f
	}
	spent := func(f fixture) fixture {
		f.policy.Budget.TokensPerDay = 10
		f.state.Days = []schedule.Day{{Date: "2026-03-10", Usage: schedule.Usage{Output: 10}}}
		return f
	}
	retries := func(after ...time.Duration) func(fixture) fixture {
		return func(f fixture) fixture {
			for n, d := range after {
				f.claim(todo(n+1), schedule.Waiting, func(c *schedule.Claim) { c.Due = in(d) })
			}
			f.claim(todo(9), schedule.Parked, nil)
			return f
		}
	}
	for name, test := range map[string]struct {
		with []func(fixture) fixture
		want time.Duration // time after noon; 0 for none
	}{
		"nothing waits":                    {[]func(fixture) fixture{retries(), pause, spent}, 0},
		"the first of two":                 {[]func(fixture) fixture{retries(time.Hour, time.Minute)}, time.Minute},
		"one that is over already":         {[]func(fixture) fixture{retries(-time.Minute, time.Hour)}, -time.Minute},
		"during a pause":                   {[]func(fixture) fixture{retries(time.Minute), pause}, 5 * time.Minute},
		"after a pause":                    {[]func(fixture) fixture{retries(time.Hour), pause}, time.Hour},
		"the budget of the day is spent":   {[]func(fixture) fixture{retries(time.Minute), pause, spent}, 12 * time.Hour},
		"later than the budget of the day": {[]func(fixture) fixture{retries(13 * time.Hour), spent}, 13 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			f := simple()
			for _, with := range test.with {
				f = with(f)
			}
			at, ok := f.state.NextRetry(f.policy, f.now)
			if want := in(test.want); ok != (test.want != 0) || ok && !at.Equal(want) {
				t.Errorf("NextRetry = %v, %v; want %v", at, ok, want)
			}
		})
	}
}
