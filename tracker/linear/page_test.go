package linear

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

func (f *fake) addMany(n int) []tracker.ID {
	ids := make([]tracker.ID, n)
	for i := range ids {
		ids[i] = tracker.ID(f.add(tracker.Issue{Title: fmt.Sprintf("issue %d", i), State: "Todo"})["id"].(string))
	}
	return ids
}

func TestRequestsAreOnePerFiftyIssues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ issues, want int }{{1, 1}, {50, 1}, {51, 2}, {100, 2}, {130, 3}} {
		f := newFake(t)
		ids := f.addMany(test.issues)
		c := f.serve(t)
		for how, read := range map[string]func() ([]tracker.Issue, error){
			"list": func() ([]tracker.Issue, error) { return c.IssuesByState(t.Context(), []string{"Todo"}) },
			"read": func() ([]tracker.Issue, error) { return c.IssuesByID(t.Context(), ids) },
		} {
			before := f.counted()
			issues, err := read()
			if err != nil || len(issues) != test.issues {
				t.Fatalf("%s: %d issues, %v, want %d", how, len(issues), err, test.issues)
			}
			if got := f.counted() - before; got != test.want {
				t.Errorf("%s of %d issues: %d requests, want %d", how, test.issues, got, test.want)
			}
		}
	}
}

func TestPagesThatDoNotFitTogetherAreAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cursor func(int) any
		words  []string
	}{
		"no cursor":      {func(int) any { return nil }, []string{"linear_missing_end_cursor", "no cursor"}},
		"empty cursor":   {func(int) any { return "" }, []string{"linear_missing_end_cursor"}},
		"the same again": {func(int) any { return "cursor-0" }, []string{"linear_missing_end_cursor", "came twice"}},
		"a circle":       {func(end int) any { return position(end % 100) }, []string{"linear_missing_end_cursor", "came twice"}},
	} {
		f := newFake(t)
		f.addMany(160)
		f.cursor = test.cursor
		issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
		mentions(t, err, tracker.ErrPagination, test.words...)
		if issues != nil {
			t.Errorf("%s: %d issues beside the error", name, len(issues))
		}
	}
}

func TestPagesWithoutEndAreAnError(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	served, scope := 0, project+","
	f.broken = func(w http.ResponseWriter, r *http.Request) {
		served++
		answer(200, fmt.Sprintf(`{"data":{%s"issues":{"nodes":[],"pageInfo":{"hasNextPage":true,"endCursor":"c%d"}}}}`, scope, served))(w, r)
		scope = ""
	}
	_, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
	mentions(t, err, tracker.ErrPagination, "more than 200 pages")
	if f.counted() != maxPages {
		t.Errorf("%d requests, want %d", f.counted(), maxPages)
	}
}

func TestAnIssueOnTwoPagesIsListedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addMany(60)
	f.cursor = func(end int) any { return position(end - 3) } // somebody moved issues meanwhile
	issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(issues) != 60 {
		t.Errorf("%d issues, %v, want 60", len(issues), err)
	}
}
