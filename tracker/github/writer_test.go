package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const (
	issueRequest = "GET /repos/acme/shop/issues/1"
)

// mustWrite ends the test when a write fails.
func mustWrite(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAWriteTakesTheRequestsThatItNeeds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.AddLabel("Review")
	f.put(nil)
	w := writer{f.open()}
	for _, step := range []struct {
		name string
		call func() error
		want []string
	}{
		{"a new comment", func() error { return w.Comment(t.Context(), "1", "summary", "Begun.") }, []string{issueRequest + " 200", "POST /graphql 200", "POST /repos/acme/shop/issues/1/comments 201"}},
		{"the same comment", func() error { return w.Comment(t.Context(), "1", "summary", "Begun.") }, []string{issueRequest + " 200", "POST /graphql 200"}},
		{"another text", func() error { return w.Comment(t.Context(), "1", "summary", "Done.") }, []string{issueRequest + " 304", "POST /graphql 200", "POST /graphql 200"}},
		{"a label", func() error { return w.Label(t.Context(), "1", "review", true) }, []string{issueRequest + " 304", labelsRequest, "POST /repos/acme/shop/issues/1/labels 200"}},
		{"the same label", func() error { return w.Label(t.Context(), "1", "review", true) }, []string{issueRequest + " 200"}},
		{"without it", func() error { return w.Label(t.Context(), "1", "review", false) }, []string{issueRequest + " 304", "DELETE /repos/acme/shop/issues/1/labels/Review 200"}},
		{"closed", func() error { return w.Move(t.Context(), "1", "Closed") }, []string{issueRequest + " 200", "PATCH /repos/acme/shop/issues/1 200"}},
		{"closed again", func() error { return w.Move(t.Context(), "1", "closed") }, []string{issueRequest + " 200"}},
	} {
		f.asked()
		mustWrite(t, step.call())
		if diff := cmp.Diff(step.want, f.asked()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

func TestAStateLabelIsExchanged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before  []string
		state   string
		want    []string
		request []string
	}{
		"by the repository's spelling": {[]string{"bug", "status:Todo"}, "in review", []string{"bug", "Status: In Review"},
			[]string{issueRequest + " 200", labelsRequest, "POST /repos/acme/shop/issues/1/labels 200", "DELETE /repos/acme/shop/issues/1/labels/status:Todo 200"}},
		"what a killed run left":        {[]string{"status:Todo", "Status: In Review"}, "In Review", []string{"Status: In Review"}, []string{issueRequest + " 200", "DELETE /repos/acme/shop/issues/1/labels/status:Todo 200"}},
		"the first state of an issue":   {nil, "Todo", []string{"status:Todo"}, []string{issueRequest + " 200", labelsRequest, "POST /repos/acme/shop/issues/1/labels 200"}},
		"no state":                      {[]string{"status:Todo"}, "open", nil, []string{issueRequest + " 200", "DELETE /repos/acme/shop/issues/1/labels/status:Todo 200"}},
		"one that only the case tells":  {[]string{"status:Todo"}, "TODO", []string{"status:Todo"}, []string{issueRequest + " 200"}},
		"a label with no state is kept": {[]string{"status:", "status:Todo"}, "open", []string{"status:"}, []string{issueRequest + " 200", "DELETE /repos/acme/shop/issues/1/labels/status:Todo 200"}},
	} {
		f := newFake(t)
		f.AddLabel("status:Todo", "Status: In Review", "status:Done", "bug")
		f.put(func(i *fakeIssue) { i.Labels = row.before })
		w := writer{f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"Todo"}, []string{"Done", "closed"})}
		mustWrite(t, w.Move(t.Context(), "1", row.state))
		if diff := cmp.Diff(row.want, slices.Clip(append([]string(nil), f.Issue(1).Labels...))); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(row.request, f.asked()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheStatusOnTheBoardIsSet(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		place func(*fakeIssue)
		state string
		want  map[int]string
		calls int // of GraphQL
	}{
		"another status":       {func(i *fakeIssue) { i.Status[3], i.Status[4] = "Todo", "Todo" }, "in progress", map[int]string{3: "In Progress", 4: "Todo"}, 2},
		"the status it has":    {func(i *fakeIssue) { i.Status[3] = "Todo" }, "TODO", map[int]string{3: "Todo"}, 1},
		"not on the board yet": {func(i *fakeIssue) { i.Status[4] = "Done" }, "Done", map[int]string{3: "Done", 4: "Done"}, 3},
		"no status":            {func(i *fakeIssue) { i.Status[3] = "Todo" }, "open", map[int]string{3: ""}, 2},
		"none, and nowhere":    {func(*fakeIssue) {}, "open", map[int]string{}, 1},
	} {
		f := newFake(t)
		w := writer{onBoard(f, map[string]any{"number": 3}, "Todo")}
		f.put(row.place)
		mustWrite(t, w.Move(t.Context(), "1", row.state))
		if diff := cmp.Diff(row.want, f.Issue(1).Status); diff != "" {
			t.Errorf("%s: boards (-want +got):\n%s", name, diff)
		}
		want := append([]string{issueRequest + " 200"}, slices.Repeat([]string{"POST /graphql 200"}, row.calls)...)
		if diff := cmp.Diff(want, f.asked()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
	}
}

func TestAStateThatDoesNotExistIsSaidWithThoseThatDo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.AddLabel("status:Todo")
	f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	for want, r := range map[string]*repository{
		`"open", "closed"`:                                f.open(),
		`"Todo", "open", "closed"`:                        f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"Todo"}, nil),
		`"Todo", "In Progress", "Done", "open", "closed"`: onBoard(f, map[string]any{"number": 3}, "Todo"),
	} {
		trackertest.CheckError(t, writer{r}.Move(t.Context(), "1", "In Review"), tracker.ErrInvalidConfig, `"In Review"`, want)
	}
}

func TestOnlyTheIssuesOfTheRepositoryAreChanged(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.AddLabel("Review")
	f.AddPull(githubtest.Pull{Head: "wheels"})
	f.put(func(i *fakeIssue) { i.Gone = http.StatusMovedPermanently }) // to another repository
	f.put(func(i *fakeIssue) { i.Gone = http.StatusGone })
	w := writer{f.open()}
	for _, id := range []tracker.ID{"1", "2", "3", "4", "01", "1/../2", "-1"} {
		for _, err := range []error{w.Move(t.Context(), id, "closed"), w.Label(t.Context(), id, "Review", true), w.Comment(t.Context(), id, "summary", "Done.")} {
			trackertest.CheckError(t, err, tracker.ErrNotVisible, string(id), fakeRepo)
		}
	}
	for _, request := range f.asked() {
		if !strings.HasPrefix(request, "GET ") {
			t.Errorf("sent %s", request)
		}
	}
}

// TestTheMarkerOfSomebodyElseCountsForNothing lets people and other Apps write the
// marker, also with the login of the App.
func TestTheMarkerOfSomebodyElseCountsForNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	forged := "All is well.\n\n" + tracker.CommentMarker("summary")
	quoted := "I said:\n\n> " + tracker.CommentMarker("summary") + "\n\nNo."
	f.put(nil)
	for _, by := range []string{githubtest.Member, "symphony", "other-app[bot]"} {
		f.AddComment(1, by, forged)
	}
	f.AddComment(1, app, quoted)
	others := f.Issue(1).Comments
	w := writer{f.open()}
	for _, text := range []string{"Begun.", "Done."} {
		mustWrite(t, w.Comment(t.Context(), "1", "summary", text))
		want := append(slices.Clone(others), githubtest.Comment{Author: app, Body: text + "\n\n" + tracker.CommentMarker("summary")})
		if diff := cmp.Diff(want, f.Issue(1).Comments); diff != "" {
			t.Errorf("comments (-want +got):\n%s", diff)
		}
	}
}

func TestACommentIsFoundBelowManyOthers(t *testing.T) {
	t.Parallel()
	const flood = 100*commentPages - 1
	for name, row := range map[string]struct {
		before, after int    // comments of others
		want          string // the last request
		pages         int
	}{
		"the newest":               {flood, 0, "POST /graphql 200", 1},
		"the oldest of the newest": {0, flood, "POST /graphql 200", commentPages},
		"too old":                  {0, flood + 1, "POST /repos/acme/shop/issues/1/comments 201", commentPages},
	} {
		f := newFake(t)
		f.put(nil)
		others := func(n int) {
			for range n {
				f.AddComment(1, githubtest.Member, "More.")
			}
		}
		others(row.before)
		f.AddComment(1, app, "Begun.\r\n\r\n"+tracker.CommentMarker("summary"))
		others(row.after)
		mustWrite(t, writer{f.open()}.Comment(t.Context(), "1", "summary", "Done."))
		asked := f.asked()
		if len(asked) != row.pages+2 || asked[len(asked)-1] != row.want {
			t.Errorf("%s: %d requests, want %d, the last one %s:\n%q", name, len(asked), row.pages+2, row.want, asked)
		}
	}
}

// writeFault answers every write with a status, and reads as usual.
func (f *fake) writeFault(status int, header map[string]string, body string) {
	f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.URL.Path == "/graphql" {
			return false
		}
		reply(w, status, header, body)
		return true
	})
}

func TestARefusedWriteSaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.AddLabel("Review")
	f.put(nil)
	w := writer{f.open()}
	calls := func() []error {
		return []error{w.Move(t.Context(), "1", "closed"), w.Label(t.Context(), "1", "review", true), w.Comment(t.Context(), "1", "summary", "Done.")}
	}
	f.writeFault(http.StatusForbidden, nil, `{"message": "Resource not accessible by integration"}`)
	for _, err := range calls() {
		trackertest.CheckError(t, err, tracker.ErrStatus, "Resource not accessible", "permissions: {issues: write}")
	}
	f.writeFault(http.StatusForbidden, map[string]string{"Retry-After": "90"}, `{"message": "You have exceeded a secondary rate limit"}`)
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // a comment waits within the deadline
	defer cancel()
	if err := (writer{f.open()}).Comment(soon, "1", "summary", "Done."); !errors.Is(err, client.ErrContent) {
		t.Errorf("a comment that GitHub takes after the deadline: %v", err)
	}
	for _, err := range []error{w.Move(t.Context(), "1", "closed"), w.Label(t.Context(), "1", "review", true)} {
		trackertest.CheckError(t, err, tracker.ErrRateLimited)
		if wait, ok := tracker.RetryAfter(err); !ok || wait != 90*time.Second {
			t.Errorf("wait %v, %t", wait, ok)
		}
	}
	if n := len(f.Issue(1).Comments); n != 0 {
		t.Errorf("%d comments", n)
	}
}

func TestAServerFaultLeavesACommentInDoubtAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	f.writeFault(http.StatusBadGateway, nil, `{}`)
	err := writer{f.open()}.Comment(t.Context(), "1", "summary", "Done.")
	trackertest.CheckError(t, err, tracker.ErrInDoubt, "may have been posted", "502")
	trackertest.CheckError(t, err, tracker.ErrStatus)
	wantRequests(t, f, issueRequest+" 200", "POST /graphql 200", "POST /repos/acme/shop/issues/1/comments 0")
}

func TestATokenWithoutProjectsCannotMoveOnTheBoard(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	w := writer{onBoard(f, map[string]any{"number": 3}, "Todo")}
	f.put(func(i *fakeIssue) { i.Status[3] = "Todo" })
	for _, refusal := range []struct {
		kind, message string
		want          []string // parts of the error
	}{
		{"FORBIDDEN", "Resource not accessible by personal access token", []string{"projects: write", "the token of a job cannot have"}},
		{"NOT_FOUND", "Could not resolve to a node", []string{"may not change it"}},
	} {
		asked := 0
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/graphql" {
				return false
			}
			if asked++; asked == 1 { // the status as it is
				return false
			}
			reply(w, http.StatusOK, nil, fmt.Sprintf(`{"data": {"updateProjectV2ItemFieldValue": null},
				"errors": [{"type": %q, "path": ["updateProjectV2ItemFieldValue"], "message": %q}]}`, refusal.kind, refusal.message))
			return true
		})
		trackertest.CheckError(t, w.Move(t.Context(), "1", "Done"), tracker.ErrStatus, refusal.want...)
	}
}

// TestTheMutationsFitTheSchemaThatGitHubPublishes sends each of them.
func TestTheMutationsFitTheSchemaThatGitHubPublishes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.UseSchema(publishedSchema(t))
	w := writer{onBoard(f, map[string]any{"number": 3}, "Todo")}
	f.put(nil)
	for _, state := range []string{"Todo", "open"} {
		mustWrite(t, w.Move(t.Context(), "1", state))
	}
	for _, text := range []string{"Begun.", "Done."} {
		mustWrite(t, w.Comment(t.Context(), "1", "summary", text))
	}
	if got := f.Issue(1); got.Status[3] != "" || len(got.Comments) != 1 || !strings.HasPrefix(got.Comments[0].Body, "Done.") {
		t.Errorf("got %+v", got)
	}
}

// commentPages is how many pages of comments are searched.
const commentPages = 10
