package linear

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAnAssigneeNarrowsWhatIsListedAndWhatMayBeWorkedOn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ids := f.addMany(3)
	f.issues[0]["assignee"] = f.users[0] // me
	f.issues[1]["assignee"] = f.users[1]
	for _, test := range []struct {
		assignee string
		listed   []tracker.ID
		may      []bool
	}{
		{"", ids, []bool{true, true, true}},
		{"me", ids[:1], []bool{true, false, false}},
		{"user-me", ids[:1], []bool{true, false, false}},
		{"user-kim", ids[1:2], []bool{false, true, false}},
	} {
		c := f.serve(t, func(cfg *Config) { cfg.Assignee = test.assignee })
		before := f.counted()
		listed, err := c.IssuesByState(t.Context(), []string{"Todo"})
		if err != nil {
			t.Fatal(err)
		}
		var got []tracker.ID
		for _, issue := range listed {
			got = append(got, issue.ID)
			if !issue.Dispatchable {
				t.Errorf("%q: %s is listed and not dispatchable", test.assignee, issue.Identifier)
			}
		}
		if diff := cmp.Diff(test.listed, got); diff != "" {
			t.Errorf("%q: listed (-want +got):\n%s", test.assignee, diff)
		}
		read, err := c.IssuesByID(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		var may []bool
		for _, issue := range read {
			may = append(may, issue.Dispatchable)
			if issue.Dispatchable != (issue.Why == "") {
				t.Errorf("%q: %s: dispatchable %t because %q", test.assignee, issue.Identifier, issue.Dispatchable, issue.Why)
			}
		}
		if diff := cmp.Diff(test.may, may); diff != "" {
			t.Errorf("%q: dispatchable (-want +got):\n%s", test.assignee, diff)
		}
		if n := f.counted() - before; n != 2 {
			t.Errorf("%q: %d requests, want 2: who the assignee is takes none", test.assignee, n)
		}
	}
}

func TestFinishedIssuesAreListedWhoeverHasThem(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Done"})["assignee"] = f.users[1]
	c := f.serve(t, func(cfg *Config) { cfg.Assignee = me })
	issues, err := c.IssuesByState(t.Context(), []string{"done", "Cancelled"})
	if err != nil || len(issues) != 1 || issues[0].Dispatchable {
		t.Errorf("got %+v, %v, want somebody else's issue, not dispatchable", issues, err)
	}
}
