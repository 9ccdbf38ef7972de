package linear

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func requiring(labels ...string) func(*Config) {
	return func(cfg *Config) {
		for _, label := range labels {
			cfg.RequiredLabels = append(cfg.RequiredLabels, tracker.NormalLabel(label))
		}
	}
}

// titles lists the issues in Todo, by their titles.
func (c client) titles(t *testing.T) []string {
	t.Helper()
	issues, err := c.IssuesByState(t.Context(), []string{"Todo"})
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, issue := range issues {
		list = append(list, issue.Title)
	}
	return list
}

func TestIssuesWithoutTheRequiredLabelCostNoRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addMany(1200)
	c := f.serve(t, requiring("symphony"))
	if got := c.titles(t); len(got) > 0 || f.counted() != 1 {
		t.Errorf("%d issues by %d requests, want none by one", len(got), f.counted())
	}
}

func TestAListByLabelsFindsEveryIssueThatCarriesAllOfThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ required, issue []string }{
		"one":                  {[]string{"symphony"}, []string{"Bug", "symphony"}},
		"several":              {[]string{"symphony", "backend"}, []string{"Backend", "Symphony"}},
		"another case":         {[]string{"SYMPHONY"}, []string{"Symphony"}},
		"commas and quotes":    {[]string{`go, "now"`}, []string{`Go, "now"`}},
		"letters beyond ASCII": {[]string{"für agenten"}, []string{"FÜR Agenten"}},
	} {
		f := newFake(t)
		f.add(tracker.Issue{Title: "none", State: "Todo"})
		f.add(tracker.Issue{Title: "another", State: "Todo", Labels: []string{"Backend"}})
		f.add(tracker.Issue{Title: "all", State: "Todo", Labels: test.issue})
		c := f.serve(t, requiring(test.required...))
		got := c.titles(t)
		if name == "letters beyond ASCII" { // such a label is not sent: the scheduler compares it
			got = got[len(got)-1:]
		}
		if diff := cmp.Diff([]string{"all"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestABlankRequiredLabelMatchesNothingAndAsksNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Todo", Labels: []string{"symphony"}})
	c := f.serve(t, requiring("symphony", " "))
	if got := c.titles(t); len(got) > 0 || f.counted() != 0 {
		t.Errorf("%q by %d requests, want none by none", got, f.counted())
	}
}

func TestFinishedIssuesAreListedWhateverTheirLabels(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Done"})
	c := f.serve(t, requiring("symphony", ""))
	issues, err := c.IssuesByState(t.Context(), []string{"done", "Cancelled"})
	if err != nil || len(issues) != 1 {
		t.Errorf("got %+v, %v, want the finished issue", issues, err)
	}
}

func TestTheQueriesByLabelAreValidAtLinear(t *testing.T) {
	t.Parallel()
	schema := published(t)
	f := newFake(t)
	f.schema = schema
	f.add(tracker.Issue{Title: "one", State: "Todo", Labels: []string{"a", "b"}})
	if got := f.serve(t, requiring("a", "b")).titles(t); strings.Join(got, "") != "one" {
		t.Errorf("got %q", got)
	}
}

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
			if issue.Dispatchable != (issue.WhyNot == "") {
				t.Errorf("%q: %s: dispatchable %t because %q", test.assignee, issue.Identifier, issue.Dispatchable, issue.WhyNot)
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
