package linear

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
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
		"a circle":       {func(end int) any { return fmt.Sprintf("cursor-%d", end%100) }, []string{"linear_missing_end_cursor", "came twice"}},
	} {
		f := newFake(t)
		f.addMany(160)
		f.cursor = test.cursor
		issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
		trackertest.CheckError(t, err, tracker.ErrPagination, test.words...)
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
	trackertest.CheckError(t, err, tracker.ErrPagination, "more than 200 pages")
	if f.counted() != maxPages {
		t.Errorf("%d requests, want %d", f.counted(), maxPages)
	}
}

func TestAnIssueOnTwoPagesIsListedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addMany(60)
	f.cursor = func(end int) any { return fmt.Sprintf("cursor-%d", end-3) } // issues moved between the two pages
	issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(issues) != 60 {
		t.Errorf("%d issues, %v, want 60", len(issues), err)
	}
}

// everyQuery makes the adapter send every query that it has, and returns them by
// name.
func everyQuery(t *testing.T) map[string]string {
	t.Helper()
	f := newFake(t)
	o := f.add(tracker.Issue{Title: "busy", State: "Todo"})
	many := make([]object, 60)
	for i := range many {
		many[i] = object{"name": "l" + strconv.Itoa(i), "type": "related", "issue": o}
	}
	o["labels"], o["inverseRelations"] = f.connection(&many), f.connection(&many)
	c := f.serve(t)
	for range 2 {
		if _, err := c.IssuesByState(t.Context(), []string{"Todo"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.IssuesByID(t.Context(), []tracker.ID{tracker.ID(o["id"].(string))}); err != nil {
		t.Fatal(err)
	}
	for range 120 {
		f.say(o["id"].(string), object{"user": f.users[1], "body": "Hello."}, time.Now())
	}
	if _, err := c.Conversation.CommentsSince(t.Context(), map[tracker.ID]time.Time{tracker.ID(o["id"].(string)): {}}); err != nil {
		t.Fatal(err)
	}
	issue := tracker.Issue{ID: tracker.ID(o["id"].(string))}
	for _, err := range c.Pictures.Read(t.Context(), issue, []tracker.Picture{{Comment: "0c0ffee0-0000-4000-8000-000000000001", Address: c.cfg.Endpoint + "/a"}, {Address: c.cfg.Endpoint + "/b"}}, 1) {
		if err == nil {
			t.Error("a file that no text shows was read")
		}
	}
	c.cfg.RequiredLabels = []string{"ready"}
	if err := c.check(t); err != nil {
		t.Fatal(err)
	}
	c.cfg.ProjectSlug = "none"
	trackertest.CheckError(t, c.check(t), tracker.ErrInvalidConfig)
	named := make(map[string]string)
	for _, query := range f.asked {
		for name, part := range map[string]string{
			"list": "filter: $filter", "read": "after: $after, filter: {id: {in: $ids}", "comments": "comments: {some:", "newest comments": "{comments(first: 100",
			"files of an issue": "attachments(first: 50)", "files of comments": "comments(first: $first, filter: {id: {in: $ids}}",
			"labels": "{labels(first: 50", "relations": "{inverseRelations(first: 50",
			"scope": "){projects(first: 1", "projects": "projects(first: 50)", "label": "eqIgnoreCase: $label",
		} {
			if !strings.Contains(query, part) {
				continue
			}
			if name == "list" && strings.Contains(query, "{teams(") {
				name = "first list"
			}
			named[name] = query
		}
	}
	return named
}

// complexity returns what Linear charges for a query: a scalar costs 0.1, an object
// 1, and what is inside a page counts as often as the page is large.
func complexity(t *testing.T, schema *ast.Schema, query string, first int) float64 {
	t.Helper()
	document, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	var cost func(set ast.SelectionSet, size float64) float64
	cost = func(set ast.SelectionSet, size float64) float64 {
		sum := 0.0
		for _, selection := range set {
			field := selection.(*ast.Field)
			inner := 50.0
			if argument := field.Arguments.ForName("first"); argument != nil {
				if inner, _ = strconv.ParseFloat(argument.Value.Raw, 64); argument.Value.Kind == ast.Variable {
					inner = float64(first)
				}
			}
			switch {
			case field.SelectionSet == nil:
				sum += 0.1
			case field.Name == "nodes":
				sum += size * (1 + cost(field.SelectionSet, inner))
			default:
				sum += 1 + cost(field.SelectionSet, inner)
			}
		}
		return sum
	}
	return math.Ceil(math.Round(cost(document.Operations[0].SelectionSet, 1)*10) / 10)
}

func TestWhatIsAskedCostsWhatThePackageSays(t *testing.T) {
	t.Parallel()
	schema := newFake(t).schema
	queries := everyQuery(t)
	got := make(map[string]float64)
	for name, query := range queries {
		got[name] = complexity(t, schema, query, 50)
	}
	got["read of 3"] = complexity(t, schema, queries["read"], 3)
	got["files of 3 comments"] = complexity(t, schema, queries["files of comments"], 3)
	delete(got, "files of comments")
	got["comments on 3"] = complexity(t, schema, queries["comments"], 3)
	want := map[string]float64{
		"first list": 3172, "list": 2003, "read": 2003, "read of 3": 123, "labels": 59, "relations": 174, "scope": 1170, "projects": 63, "label": 123,
		"comments": 1498, "comments on 3": 92, "newest comments": 534,
		"files of an issue": 59, "files of 3 comments": 6,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("change the package's documentation too (-want +got):\n%s", diff)
	}
}
