package github

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

func onBoard(f *fake, project map[string]any, active ...string) *repository {
	f.AddBoard(3, map[string][]string{"Status": {"Todo", "In Progress", "Done"}, "Size": {"S", "L"}})
	return f.openWith(map[string]any{"project": project}, active, []string{"Done", "closed"})
}

func TestTheBoardGivesTheState(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := onBoard(f, map[string]any{"number": 3}, "todo", "In Progress")
	f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	f.put(func(i *fakeIssue) { i.Status[3] = "" })
	f.put(func(i *fakeIssue) { i.Status[4] = "Todo" })
	f.put(func(i *fakeIssue) { i.Status[3], i.State = "Todo", stateClosed })
	f.put(func(i *fakeIssue) { i.Status[3], i.Status[4] = "In Progress", "Done" })
	var states []string
	for _, issue := range f.read(r, "1", "2", "3", "4", "5") {
		states = append(states, issue.State)
	}
	if diff := cmp.Diff([]string{"Todo", "open", "open", "closed", "In Progress"}, states); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"GH-1", "GH-5"}, identifiers(f.list(r, "Todo", "in progress"))); diff != "" {
		t.Error(diff)
	}
}

func TestABoardCostsOneRequestMorePer100OpenIssues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := onBoard(f, map[string]any{"number": 3}, "Todo")
	for range 3 {
		f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	}
	f.list(r, "Todo")
	f.asked()
	f.list(r, "Todo")
	wantRequests(t, f, listPath+" 304", "POST /graphql 200")
	// An issue that moves on the board is seen, although the list has not changed.
	f.Change(2, func(i *fakeIssue) { i.Status[3] = "Done" })
	if diff := cmp.Diff([]string{"GH-1", "GH-3"}, identifiers(f.list(r, "Todo"))); diff != "" {
		t.Error(diff)
	}
}

func TestAnIssueOnTooManyBoardsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	f.put(func(i *fakeIssue) { i.Status[4], i.ManyBoards = "Todo", true })
	f.put(func(i *fakeIssue) { i.Status[3], i.ManyBoards = "Todo", true }) // the answer lists the board that counts
	r := onBoard(f, map[string]any{"number": 3}, "Todo")
	var dropped []string
	issues, err := r.IssuesByState(tracker.WithDropped(t.Context(), func(m tracker.Malformed) { dropped = append(dropped, m.String()) }), []string{"Todo"})
	if diff := cmp.Diff([]string{"GH-1", "GH-3"}, identifiers(issues)); err != nil || diff != "" {
		t.Errorf("listed %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"GH-2: it is on more than 50 boards: take it off some: look at it on GitHub"}, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	_, err = r.IssuesByID(t.Context(), []tracker.ID{"1", "2", "3"})
	if spoilt, typed := errors.AsType[*tracker.MalformedError](err); !typed || len(spoilt.Records) != 1 || spoilt.Records[0].ID != "2" {
		t.Errorf("read by id: %v", err)
	}
}

func TestABoardThatDoesNotFitIsRefusedByTheFirstReadAlsoWithoutIssues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		project map[string]any
		active  string
		want    string
	}{
		"owner":   {map[string]any{"owner": "nobody", "number": 3}, "Todo", `project.owner is "nobody"`},
		"project": {map[string]any{"number": 9}, "Todo", "project.number is 9: acme has no such project"},
		"field":   {map[string]any{"number": 3, "field": "Stage"}, "Todo", `project.field is "Stage": the single-select fields of the board are`},
		"text":    {map[string]any{"number": 3, "field": "Title"}, "Todo", `project.field is "Title"`},
		"state":   {map[string]any{"number": 3}, "Doing", `tracker.active_states: "Doing" is not an option of the field "Status": the board has "Todo", "In Progress", "Done"`},
	} {
		f := newFake(t)
		r := onBoard(f, test.project, test.active)
		issues, err := r.IssuesByState(t.Context(), []string{test.active})
		if !errors.Is(err, tracker.ErrInvalidConfig) || !strings.Contains(err.Error(), test.want) || len(issues) != 0 {
			t.Errorf("%s: %d issues, %v, want %q", name, len(issues), err, test.want)
		}
	}
	f := newFake(t)
	r := onBoard(f, map[string]any{"number": 3}, "Todo")
	f.list(r, "Todo")
	f.asked()
	f.list(r, "Todo")
	wantRequests(t, f, listPath+" 304")
}
