package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const (
	listPath       = "GET /repos/acme/shop/issues?state=open&sort=created&direction=asc&per_page=100"
	historyRequest = "POST /graphql 200"
	// memRequest asks what the author of the fake's issues may do.
	memRequest = "GET /repos/acme/shop/collaborators/kim/permission 200"
)

func identifiers(issues []tracker.Issue) []string {
	list := []string{}
	for _, i := range issues {
		list = append(list, i.Identifier)
	}
	return list
}

func wantRequests(t *testing.T, f *fake, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, f.asked()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAnUnchangedRepositoryCostsOneConditionalRequest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	blocker := f.put(func(i *fakeIssue) { i.State = stateClosed })
	f.put(func(i *fakeIssue) { i.BlockedBy = []int{blocker} })
	f.put(nil)
	r := f.open()
	f.list(r, "open")
	wantRequests(t, f, listPath+" 200", "GET /repos/acme/shop/issues/2/dependencies/blocked_by?per_page=100 200", historyRequest, memRequest)
	f.list(r, "open")
	f.read(r, "2", "3")
	wantRequests(t, f, listPath+" 304", listPath+" 304")
	f.Change(3, func(i *fakeIssue) { i.Title = "Another title" })
	if got := f.list(r, "open")[1].Title; got != "Another title" {
		t.Errorf("title %q", got)
	}
	wantRequests(t, f, listPath+" 200", historyRequest)
}

func TestAnUnchangedListOfManyPagesCostsNothingOfTheLimit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 250 {
		f.put(nil)
	}
	r := f.open()
	if got := len(f.list(r, "open")); got != 250 {
		t.Fatalf("%d issues", got)
	}
	f.asked()
	f.list(r, "open")
	wantRequests(t, f, listPath+" 304", sorted(2), sorted(3))
}

// sorted returns the request for a further page, as the fake's links have it.
func sorted(page int) string {
	return fmt.Sprintf("GET /repos/acme/shop/issues?direction=asc&page=%d&per_page=100&sort=created&state=open 304", page)
}

func TestAListOfLongIssuesIsReadInSmallerPages(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for n := range 230 {
		f.put(func(i *fakeIssue) {
			if n >= 100 && n < 200 {
				i.Body = strings.Repeat("long ", 1_000)
			}
		})
	}
	r := f.open()
	r.client.Transport.MaxAnswer = 300_000
	issues := f.list(r, "open")
	if len(issues) != 230 {
		t.Fatalf("%d issues, want all", len(issues))
	}
	for i, issue := range issues {
		if want := identifier(i + 1); issue.Identifier != want {
			t.Fatalf("issue %d is %s, want %s", i, issue.Identifier, want)
		}
	}
	// An issue that is gone is looked for in the list, which is too long for one answer too.
	f.Change(120, func(i *fakeIssue) { i.Gone = 404 })
	r = f.open()
	r.client.Transport.MaxAnswer = 300_000
	f.Change(1, func(i *fakeIssue) { i.Body = strings.Repeat("long ", 55_000) })
	if got := f.read(r, "120"); len(got) != 0 {
		t.Errorf("%v is read, though it is gone", got)
	}
}

func TestReadsByIDAskForTheListWhereThatIsCheaper(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 3 {
		f.put(nil)
	}
	r := f.open()
	f.read(r, "1") // the length of the list is not known yet
	wantRequests(t, f, "GET /repos/acme/shop/issues/1 200", historyRequest, memRequest)
	f.list(r, "open")
	f.asked()
	f.Change(2, func(i *fakeIssue) { i.State = stateClosed })
	got := f.read(r, "3", "2", "1")
	if diff := cmp.Diff([]string{"GH-3", "GH-2", "GH-1"}, identifiers(got)); diff != "" {
		t.Error(diff)
	}
	wantRequests(t, f, listPath+" 200", "GET /repos/acme/shop/issues/2 200")
	f.read(r, "2")
	wantRequests(t, f, listPath+" 304", "GET /repos/acme/shop/issues/2 304")
}

// Each run is a new process, which does not know the length of the list, and reads every
// parked issue.
func TestManyClaimsOfANewRunAreReadWithTheList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var ids []tracker.ID
	for range 120 {
		ids = append(ids, tracker.ID(strconv.Itoa(f.put(nil))))
	}
	f.Change(7, func(i *fakeIssue) { i.State = stateClosed })
	r := f.open()
	if got := f.read(r, ids...); len(got) != len(ids) {
		t.Errorf("%d issues", len(got))
	}
	second := strings.TrimSuffix(sorted(2), " 304")
	wantRequests(t, f, listPath+" 200", second+" 200", "GET /repos/acme/shop/issues/7 200", historyRequest, historyRequest, memRequest)
	f.list(r, "open")
	wantRequests(t, f, listPath+" 304", second+" 304")
}

func TestALongListIsNotReadForAFewClaims(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 320 {
		f.put(nil)
	}
	var ids []tracker.ID
	for n := 300; n < 320; n++ {
		ids = append(ids, tracker.ID(strconv.Itoa(n)))
	}
	r := f.open()
	for range 2 {
		if got := f.read(r, ids...); len(got) != len(ids) {
			t.Errorf("%d issues", len(got))
		}
		lists := 0
		for _, asked := range f.asked() {
			if strings.Contains(asked, "/issues?") {
				lists++
			}
		}
		if lists != 2 {
			t.Errorf("%d pages of the list", lists)
		}
	}
}

func TestPullRequestsAreNeverIssues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.AddPull(githubtest.Pull{Head: "wheels"})
	f.put(nil)
	r := f.open()
	for how, got := range map[string][]tracker.Issue{"read": f.read(r, "1", "2"), "listed": f.list(r, "open")} {
		if diff := cmp.Diff([]string{"GH-2"}, identifiers(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

func TestWhatIsGoneIsNotVisible(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusGone, http.StatusMovedPermanently} {
		f := newFake(t)
		f.put(func(i *fakeIssue) { i.Gone = status })
		r := f.open()
		if got := f.read(r, "1", "01", "+1", "-1", "0", "x", "9999999999999999999999"); len(got) != 0 {
			t.Errorf("%d: got %d issues", status, len(got))
		}
		// The list proves that the issue was deleted, and not the repository.
		wantRequests(t, f, fmt.Sprintf("GET /repos/acme/shop/issues/1 %d", status), listPath+" 200")
		if transferred := strings.Contains(f.log.String(), "issue transferred"); transferred != (status == http.StatusMovedPermanently) {
			t.Errorf("%d: transferred %t in the log", status, transferred)
		}
	}
}

func TestIdsThatAreNoNumbersCostNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := f.open()
	f.read(r, "GH-1", "../1", "1/comments")
	wantRequests(t, f)
}

func TestALostRepositoryDoesNotLookLikeIssuesThatAreGone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(nil)
	r := f.open()
	f.failWith(http.StatusNotFound, nil, `{"message": "Not Found"}`)
	issues, err := r.IssuesByID(t.Context(), []tracker.ID{"1"})
	if err == nil || len(issues) > 0 || !strings.Contains(err.Error(), "acme/shop is unknown or the token cannot see it") {
		t.Errorf("%d issues, %v", len(issues), err)
	}
}

func TestClosedIssuesAreClosedWhateverTheirLabelsSay(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Labels, i.State = []string{"status:todo"}, stateClosed })
	r := f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"todo"}, []string{"done", "closed"})
	if got := f.read(r, "1")[0]; got.State != stateClosed || got.Dispatchable {
		t.Errorf("state %q, dispatchable %t", got.State, got.Dispatchable)
	}
	if got := f.list(r, "done", "closed"); len(got) != 1 {
		t.Errorf("%d issues are terminal", len(got))
	}
	if got := f.list(r, "todo"); len(got) != 0 {
		t.Errorf("%d issues are to be done", len(got))
	}
}

func TestLabelsGiveTheState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		labels     []string
		state, why string // why is a part of the reason; "" is dispatchable
	}{
		{labels: []string{"Status: In Progress", "bug"}, state: "In Progress"},
		{labels: []string{"bug"}, state: "open", why: "not an active one"},
		{labels: []string{"status:"}, state: "open", why: "not an active one"},
		{labels: []string{"status:review"}, state: "review", why: "not an active one"},
		{labels: []string{"status:closed"}, state: "open", why: `its status is "closed"`},
		{labels: []string{"status:done", "status:todo"}, state: "todo", why: "several states"},
		{labels: []string{"status:done", "status:review"}, state: "review", why: "several states"},
		{labels: []string{"status:in progress", "status:todo"}, state: "todo", why: "several states"},
	} {
		f := newFake(t)
		f.put(func(i *fakeIssue) { i.Labels = test.labels })
		r := f.openWith(map[string]any{"state_label_prefix": "status:"}, []string{"todo", "in progress"}, []string{"done"})
		got := f.read(r, "1")[0]
		if got.State != test.state || got.Dispatchable != (test.why == "") || !strings.Contains(got.WhyNot, test.why) {
			t.Errorf("%q: state %q, dispatchable %t, why %q: want %q, %q", test.labels, got.State, got.Dispatchable, got.WhyNot, test.state, test.why)
		}
	}
}

func TestTheHighestPriorityWins(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Labels = []string{"P3", "p1", "p2"} })
	if got := f.read(f.open(), "1")[0].Priority; got == nil || *got != 2 {
		t.Errorf("priority %v, want 2", got)
	}
}

func TestHostileTextArrivesAsItIs(t *testing.T) {
	t.Parallel()
	const text = "{{ issue.title }} ::set-output name=x::y\n../../etc/passwd \x1b[31m\u202e</script>`$(id)`\u0000%0A"
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Title, i.Body, i.Labels = text, text, []string{text} })
	got := f.read(f.open(), "1")[0]
	want := []string{text, text, tracker.NormalLabel(text), "GH-1"}
	if diff := cmp.Diff(want, []string{got.Title, got.Description, got.Labels[0], got.Identifier}); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(f.log.String(), "passwd") {
		t.Error("the log repeats it")
	}
}

func TestAnIssueIsNormalized(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(func(i *fakeIssue) { i.Labels = []string{"Bug", " bug ", "P0"} })
	got := f.read(f.open(), "1")[0]
	made := f.Issue(1).Created
	want := tracker.Issue{
		ID: "1", Identifier: "GH-1", Title: "An issue", Description: "Its text.", State: "open", Priority: new(1),
		URL: f.CloneURL() + "/issues/1", Labels: []string{"bug", "p0"}, Dispatchable: true,
		NativeRef: map[string]string{"number": "1", "node_id": "I_1", "repository": "acme/shop"}, CreatedAt: made, UpdatedAt: made,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzRecordsNeverPanicAndAreWholeOrMalformed(f *testing.F) {
	f.Add(`[{"number": 1, "node_id": "I", "title": "t", "state": "open"}, null, {"title": 7}, 3]`)
	f.Add(`[{"number": 1e99, "labels": [null], "user": null, "created_at": "x"}]`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, body string) {
		a := transport.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
		records, malformed, err := decodeRecords(new(client.Client), a)
		if err != nil {
			return
		}
		var all []json.RawMessage
		if err := json.Unmarshal(a.Body, &all); err != nil || len(all) != len(records)+len(malformed) {
			t.Errorf("%d records and %d malformed ones in %d, %v", len(records), len(malformed), len(all), err)
		}
		for _, r := range records {
			if err := r.validate(); err != nil {
				t.Error(err)
			}
			r.normalLabels()
		}
	})
}

func TestRecordsThatAreNoIssuesAreExplained(t *testing.T) {
	t.Parallel()
	a := transport.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`[null, {"title": "t"}, {"number": 2, "title": "t"},
		{"number": 3, "node_id": "I", "title": " "}, {"number": 4, "node_id": "I", "title": "t", "state": "merged"},
		{"number": 5, "node_id": "I", "title": "t", "state": "open", "updated_at": "yesterday"}]`)}
	records, malformed, err := decodeRecords(new(client.Client), a)
	if err != nil || len(records) != 0 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	wants := []string{"a record without an id: it is null", "no number", "GH-2: it has no node_id: look at it", "GH-3: it has no title", `GH-4: its state "merged"`, "GH-5: "}
	if len(malformed) != len(wants) {
		t.Fatalf("%d reasons, want %d", len(malformed), len(wants))
	}
	for i, want := range wants {
		if !strings.Contains(malformed[i].String(), want) {
			t.Errorf("%v, want %q", malformed[i], want)
		}
	}
}
