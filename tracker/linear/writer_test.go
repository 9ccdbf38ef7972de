package linear

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// newLabel returns a label of the fake; without a team it is the workspace's.
func newLabel(id, name, team string, group bool) object {
	label := object{"id": id, "name": name, "isGroup": group, "team": object(nil)}
	if team != "" {
		label["team"] = object{"id": team}
	}
	return label
}

// labelIDs returns the ids of the labels of an issue.
func labelIDs(o object) []any {
	var ids []any
	for _, l := range o["labels"].(resolver)(map[string]any{"first": 1000}).(object)["nodes"].([]object) {
		ids = append(ids, l["id"])
	}
	return ids
}

func TestAWriteTakesTwoRequestsAtMost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.labels = []object{newLabel("l1", "Review", "", false)}
	c := f.serve(t)
	id := tracker.ID(f.add(tracker.Issue{Title: "mine", State: "Todo"})["id"].(string))
	w := c.Writer
	for _, step := range []struct {
		name string
		call func() error
		want int
	}{
		{"a new comment", func() error { return w.Comment(t.Context(), id, "summary", "Begun.") }, 2},
		{"the same comment", func() error { return w.Comment(t.Context(), id, "summary", "Begun.") }, 1},
		{"another text", func() error { return w.Comment(t.Context(), id, "summary", "Done.") }, 2},
		{"a label", func() error { return w.Label(t.Context(), id, "review", true) }, 2},
		{"the same label", func() error { return w.Label(t.Context(), id, "Review", true) }, 1},
		{"without it", func() error { return w.Label(t.Context(), id, "review", false) }, 2},
		{"another state", func() error { return w.Move(t.Context(), id, "in review") }, 2},
		{"the same state", func() error { return w.Move(t.Context(), id, "In Review") }, 1},
	} {
		before := f.counted()
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := f.counted() - before; got != step.want {
			t.Errorf("%s: %d requests, want %d", step.name, got, step.want)
		}
	}
	for _, query := range f.asked {
		schema := f.schema
		if cost := complexity(t, schema, query, 50); cost > 250 {
			t.Errorf("%v points: %s", cost, query)
		}
	}
}

func TestEveryWriteIsValidAtLinear(t *testing.T) {
	t.Parallel()
	schema := published(t)
	f := newFake(t)
	f.labels = []object{newLabel("l1", "Review", "", false)}
	w := f.serve(t).Writer
	id := tracker.ID(f.add(tracker.Issue{Title: "mine", State: "Todo"})["id"].(string))
	for _, err := range []error{
		w.Comment(t.Context(), id, "summary", "Begun."), w.Comment(t.Context(), id, "summary", "Done."),
		w.Label(t.Context(), id, "Review", true), w.Label(t.Context(), id, "Review", false), w.Move(t.Context(), id, "Done"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	trackertest.CheckError(t, w.Label(t.Context(), id, "none", true), tracker.ErrInvalidConfig)
	mutations := 0
	for _, query := range f.asked {
		if strings.HasPrefix(query, "mutation") {
			mutations++
		}
		if _, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules()); errs != nil {
			t.Errorf("%v\n%s", errs, query)
		}
	}
	if mutations != 5 {
		t.Errorf("%d mutations, want one of each", mutations)
	}
}

func TestALabelIsThatOfTheTeamOrTheWorkspace(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		labels []object
		want   []any
	}{
		"the team's":      {[]object{newLabel("theirs", "Review", "team-ops", false), newLabel("ours", "REVIEW", "team-eng", false)}, []any{"ours"}},
		"the workspace's": {[]object{newLabel("group", "Review", "", true), newLabel("all", "review", "", false)}, []any{"all"}},
		"another team's":  {[]object{newLabel("theirs", "Review", "team-ops", false), newLabel("bug", "Bug", "team-eng", false)}, nil},
	} {
		f := newFake(t)
		f.labels = row.labels
		o := f.add(tracker.Issue{Title: "mine", State: "Todo"})
		err := f.serve(t).Writer.Label(t.Context(), tracker.ID(o["id"].(string)), "review", true)
		if row.want == nil {
			trackertest.CheckError(t, err, tracker.ErrInvalidConfig, `"review"`, `one of "Bug"`)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row.want, labelIDs(o)); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
	}
}

func TestOnlyTheIssuesOfTheProjectAreChanged(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.labels = []object{newLabel("l1", "Review", "", false)}
	w := f.serve(t).Writer
	var ids []tracker.ID
	for _, change := range []object{{"project": f.projects[1]}, {"trashed": true}, {"archivedAt": "2026-01-01T00:00:00Z"}} {
		o := f.add(tracker.Issue{Title: "not ours", State: "Todo"})
		for key, value := range change {
			o[key] = value
		}
		ids = append(ids, tracker.ID(o["id"].(string)))
	}
	f.add(tracker.Issue{Title: "known by its id alone", State: "Todo"})
	for _, id := range append(ids, "ENG-4") {
		for _, err := range []error{w.Move(t.Context(), id, "Done"), w.Label(t.Context(), id, "Review", true), w.Comment(t.Context(), id, "summary", "Done.")} {
			trackertest.CheckError(t, err, tracker.ErrNotVisible, string(id))
		}
	}
	for _, query := range f.asked {
		if strings.HasPrefix(query, "mutation") {
			t.Errorf("sent %s", query)
		}
	}
}

func TestTheIDOfACommentIsAUUIDThatBelongsToItsIssueAndKey(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for i := range 64 {
		for _, key := range []string{"summary", "question"} {
			id := commentID(tracker.ID(fmt.Sprint(i)), key)
			if !form.MatchString(id) || seen[id] {
				t.Errorf("%d %s: %s", i, key, id)
			}
			seen[id] = true
		}
	}
	// Another version of the program must find the comments of this one.
	if got, want := commentID("5b2f7d3e-0000-4000-8000-000000000001", "summary"), "53594d50-484f-4e59-80e5-29a1b6314d94"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestACommentOfSomebodyElseIsNotEdited(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	w := f.serve(t).Writer
	o := f.add(tracker.Issue{Title: "mine", State: "Todo"})
	id := o["id"].(string)
	for _, change := range []object{{"user": f.users[1], "issue": o}, {"user": f.users[0], "issue": object{"id": "another"}}} {
		comment := object{"id": commentID(tracker.ID(id), "summary"), "body": "Mine.", "user": change["user"], "issue": change["issue"]}
		f.comments[id] = []object{comment}
		trackertest.CheckError(t, w.Comment(t.Context(), tracker.ID(id), "summary", "Done."), tracker.ErrStatus, "not its own", comment["id"].(string))
		if comment["body"] != "Mine." {
			t.Error("it was edited")
		}
	}
}

func TestAFailedMutationSaysWhetherItMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	const limited = `{"errors":[{"message":"slow down","extensions":{"code":"RATELIMITED"}}]}`
	for name, row := range map[string]struct {
		fault    http.HandlerFunc
		category error
		doubt    bool
		words    string
	}{
		"a rate limit":        {answer(400, limited, "Retry-After", "90"), tracker.ErrRateLimited, false, "1m30s"},
		"no permission":       {answer(403, `{"errors":[{"message":"no write scope"}]}`), tracker.ErrStatus, false, "no write scope"},
		"refused by GraphQL":  {answer(200, `{"errors":[{"message":"already exists"}]}`), tracker.ErrResponse, false, "already exists"},
		"a fault of Linear":   {answer(502, `{}`), tracker.ErrStatus, true, "may have been posted"},
		"no answer to use":    {answer(200, `{}`), tracker.ErrResponse, true, "may have been posted"},
		"another answer":      {answer(200, `{"data":{"commentCreate":7}}`), tracker.ErrResponse, true, "may have been posted"},
		"it was not done":     {answer(200, `{"data":{"commentCreate":{"success":false}}}`), tracker.ErrResponse, false, "did not do it"},
		"the connection ends": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, tracker.ErrRequest, true, "may have been posted"},
	} {
		f := newFake(t)
		w := f.serve(t).Writer
		id := tracker.ID(f.add(tracker.Issue{Title: "mine", State: "Todo"})["id"].(string))
		f.faults = []http.HandlerFunc{nil, row.fault}
		err := w.Comment(t.Context(), id, "summary", "Done.")
		t.Run(name, func(t *testing.T) {
			trackertest.CheckError(t, err, row.category, row.words)
			if doubt := strings.Contains(fmt.Sprint(err), tracker.ErrInDoubt.Error()); doubt != row.doubt {
				t.Errorf("in doubt: %t", doubt)
			}
			if wait, limited := tracker.RetryAfter(err); limited && wait != 90*time.Second {
				t.Errorf("wait %v", wait)
			}
			if f.counted() != 2 {
				t.Errorf("%d requests: a comment is sent once", f.counted())
			}
		})
	}
}
