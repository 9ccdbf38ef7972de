package linear

import (
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

func TestNamesOfIssuesAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"LIN-3": "LIN-3", "lin-3": "LIN-3", " Lin-3 ": "LIN-3", "A_B-12": "A_B-12",
		"https://linear.app/acme/issue/LIN-3/keep-the-cart":  "LIN-3",
		"https://linear.app/acme/issue/LIN-3#comment-c0ffee": "LIN-3",
		"linear.app/acme/issue/lin-3":                        "LIN-3",
		"https://linear.app.example.org/acme/issue/LIN-3":    "",
		"https://linear.app/acme/project/LIN-3":              "",
		"3":                                                  "", "#3": "", "LIN-0": "", "LIN-03": "", "LIN-": "", "": "", "LIN-3-4": "", "LIN-3\n": "LIN-3", "LIN-99999999999": "",
	} {
		if got := new(Config).Identifier(name); got != want {
			t.Errorf("%q means %q, want %q", name, got, want)
		}
	}
}

func TestAnIssueOfAnotherProjectIsNotFound(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "mine", State: "Backlog"})
	f.add(tracker.Issue{Title: "theirs", State: "Todo"})["project"] = f.projects[1]
	f.add(tracker.Issue{Title: "thrown away", State: "Todo"})["trashed"] = true
	c := f.serve(t)
	for name, want := range map[string]tracker.ID{
		"ENG-1": "5b2f7d3e-0000-4000-8000-000000000001", "5B2F7D3E-0000-4000-8000-000000000001": "5b2f7d3e-0000-4000-8000-000000000001",
		"ENG-2": "", "5b2f7d3e-0000-4000-8000-000000000002": "", "ENG-3": "", "OPS-1": "",
	} {
		if got, err := c.Adapter.Find(t.Context(), name); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
}
