package schedule_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestADispatchClaimsTheIssueAndIsCounted(t *testing.T) {
	t.Parallel()
	w, issue := simple(), todo(1)
	issue.URL = "https://tracker.example/1"
	dispatch := schedule.Decision{Action: schedule.Dispatch, ID: "1", Issue: issue}
	w.state.Apply(dispatch, noon)
	want := schedule.Claim{
		ID: "1", Identifier: "ABC-1", Title: "Issue 1", URL: issue.URL, State: "Todo", Content: issue.Content(),
		Phase: schedule.Running, Since: noon, Owner: me, Lease: noon.Add(10 * time.Minute), Sessions: 1,
	}
	if diff := cmp.Diff(want, w.state.Claims["1"]); diff != "" {
		t.Errorf("the claim (-want +got):\n%s", diff)
	}

	w.state.Exit("1", schedule.Outcome{Class: schedule.Done}, w.policy, noon)
	w.state.Apply(dispatch, noon)
	if got := w.state.Claims["1"].Sessions; got != 2 {
		t.Errorf("the issue had %d sessions, want 2", got)
	}
	if tick, day := w.state.Tick.Sessions, w.state.SpentToday(noon).Sessions; tick != 2 || day != 2 {
		t.Errorf("the tick had %d sessions and the day %d, want 2", tick, day)
	}
}

func TestAClaimFollowsWhatPeopleSeeOfTheIssue(t *testing.T) {
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
				w, issue := simple(), todo(1)
				w.claim(issue, phase, func(c *schedule.Claim) {
					if phase == schedule.Waiting {
						c.Due = noon.Add(time.Hour)
					}
					if phase == schedule.Parked {
						c.Content = "" // else an edit would release it
					}
				})
				edit(&issue)
				w.snap.Claimed[issue.ID] = &issue
				c := w.then(w.plan()).state.Claims[issue.ID]
				got := tracker.Issue{Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State}
				want := tracker.Issue{Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State}
				if diff := cmp.Diff(want, got); diff != "" || c.Phase != phase {
					t.Errorf("%s (-want +got):\n%s", c.Phase, diff)
				}
			})
		}
	}
}

func TestIssuesAreOrderedByUrgencyAgeAndName(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	issue := func(priority int, created time.Time, identifier string, id tracker.ID) tracker.Issue {
		return tracker.Issue{ID: id, Identifier: identifier, Priority: &priority, CreatedAt: created}
	}
	unknown := issue(0, at(-9), "ABC-8", "8")
	unknown.Priority = nil
	want := []tracker.Issue{
		issue(1, time.Time{}, "ABC-9", "9"),
		issue(2, at(-1), "ABC-5", "5"),
		issue(4, at(-1), "ABC-4", "4"),
		issue(0, at(-10), "ABC-7", "7"), // what is not 1 to 4 is as if it were nothing
		unknown,
		issue(5, at(-8), "ABC-1", "3"),
		issue(-1, at(-8), "ABC-2", "1"),
		issue(9, at(-8), "ABC-2", "2"),
		issue(7, time.Time{}, "ABC-0", "0"),
	}
	rapid.Check(t, func(t *rapid.T) {
		shuffled := rapid.Permutation(slices.Clone(want)).Draw(t, "shuffled")
		slices.SortFunc(shuffled, schedule.Compare)
		if diff := cmp.Diff(want, shuffled); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestAReportIsTakenIn(t *testing.T) {
	t.Parallel()
	w := running(todo(1))
	see := func(u schedule.Update, at time.Time) { w.state.Heartbeat("1", u, at) }
	see(schedule.Update{Alive: true, Turns: 2, Thread: "t1", RateLimits: json.RawMessage(`{"left":1}`)}, noon.Add(time.Minute))
	see(schedule.Update{Turns: 1}, noon.Add(2*time.Minute)) // says nothing new
	see(schedule.Update{Alive: true}, noon)                 // late

	c := w.state.Claims["1"]
	if c.Turns != 2 || c.Thread != "t1" || !c.Heard.Equal(noon.Add(time.Minute)) {
		t.Errorf("the claim has %d turns, thread %q, heard at %v", c.Turns, c.Thread, c.Heard)
	}
	if got := string(w.state.RateLimits); got != `{"left":1}` {
		t.Errorf("the rate limits are %s", got)
	}
}
