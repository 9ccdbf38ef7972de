package linear

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// both reads the fake's first issue in the two ways there are, which must agree.
func (c client) both(t *testing.T, f *fake) tracker.Issue {
	t.Helper()
	listed, err := c.IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(listed) == 0 {
		t.Fatalf("listed %d issues, %v", len(listed), err)
	}
	read, err := c.IssuesByID(t.Context(), []tracker.ID{tracker.ID(f.issues[0]["id"].(string))})
	if err != nil || len(read) != 1 {
		t.Fatalf("read %d issues, %v", len(read), err)
	}
	if diff := cmp.Diff(read[0], listed[0]); diff != "" {
		t.Errorf("a list and a read by id differ (-read +listed):\n%s", diff)
	}
	return read[0]
}

func TestEveryFieldIsNormalized(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := f.add(tracker.Issue{Title: "Login fails", Description: "Steps.", State: "Todo", Priority: new(1), Labels: []string{" Bug", "BUG", "Needs Work", " "}})
	done := f.add(tracker.Issue{Title: "first", State: "Done"})
	open := f.add(tracker.Issue{Title: "second", State: "In Review"})
	relations := []object{
		{"type": "blocks", "issue": done}, {"type": "duplicate", "issue": open}, {"type": "related", "issue": open}, {"type": "blocks", "issue": open},
	}
	o["inverseRelations"] = f.connection(&relations)
	o["assignee"] = f.users[1]
	o["createdAt"], o["updatedAt"] = "2026-01-02T03:04:05.678Z", "2026-02-03T06:05:06.000+02:00"

	want := tracker.Issue{
		ID: "5b2f7d3e-0000-4000-8000-000000000001", Identifier: "ENG-1", Title: "Login fails", Description: "Steps.",
		Priority: new(1), State: "Todo", BranchName: "kim/eng-1", URL: "https://linear.app/acme/issue/ENG-1", AssigneeID: "user-kim",
		Labels: []string{"bug", "needs work"},
		BlockedBy: []tracker.Blocker{
			{ID: "5b2f7d3e-0000-4000-8000-000000000002", Identifier: "ENG-2", State: "Done"},
			{ID: "5b2f7d3e-0000-4000-8000-000000000003", Identifier: "ENG-3", State: "In Review"},
		},
		NativeRef:    map[string]string{"id": "5b2f7d3e-0000-4000-8000-000000000001", "team_id": "team-eng", "team_key": "ENG"},
		CreatedAt:    time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
		UpdatedAt:    time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Dispatchable: true,
	}
	if diff := cmp.Diff(want, f.serve(t).both(t, f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPriorityIsAWholeNumberOrNone(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]*int{0: nil, 1: new(1), 4: new(4), 2.5: nil, -1: nil, 0.5: nil, 1e300: nil} {
		if diff := cmp.Diff(want, priority(p)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", p, diff)
		}
	}
}

func TestATimeThatCannotBeReadIsNone(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"", "yesterday", "2026-13-01T00:00:00Z"} {
		if at := parseTime(written); !at.IsZero() {
			t.Errorf("%q: got %v", written, at)
		}
	}
}

func TestTimesAreConvertedToUTC(t *testing.T) {
	t.Parallel()
	if got := parseTime("2026-02-03T06:05:06+02:00").String(); got != "2026-02-03 04:05:06 +0000 UTC" {
		t.Errorf("got %s", got)
	}
}

func TestWhatDoesNotFitIntoARecordIsFetched(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := f.add(tracker.Issue{Title: "busy", State: "Todo"})
	var labels, relations []object
	var wantLabels []string
	var wantBlockers []tracker.Blocker
	for i := range 123 {
		name := fmt.Sprintf("label-%d", i)
		labels, wantLabels = append(labels, object{"name": name}), append(wantLabels, name)
		blocker := object{"id": fmt.Sprintf("id-%d", i), "identifier": fmt.Sprintf("ENG-%d", 1000+i), "state": f.state("Todo")}
		relations = append(relations, object{"type": "blocks", "issue": blocker})
		wantBlockers = append(wantBlockers, tracker.Blocker{ID: tracker.ID(fmt.Sprintf("id-%d", i)), Identifier: fmt.Sprintf("ENG-%d", 1000+i), State: "Todo"})
	}
	o["labels"], o["inverseRelations"] = f.connection(&labels), f.connection(&relations)
	c := f.serve(t)
	issue := c.both(t, f)
	if diff := cmp.Diff(wantLabels, issue.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantBlockers, issue.BlockedBy); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}

	// One of the further pages fails: so does the read.
	f.faults = []http.HandlerFunc{nil, nil, nil, nil, answer(403, `{}`)}
	issues, err := c.IssuesByState(t.Context(), []string{"Todo"})
	trackertest.CheckError(t, err, tracker.ErrStatus, "blockers", `"ENG-1"`)
	if issues != nil {
		t.Error("a failed read gave issues")
	}
	f.faults = []http.HandlerFunc{nil, answer(403, `{}`)}
	_, err = c.IssuesByID(t.Context(), []tracker.ID{issue.ID})
	trackertest.CheckError(t, err, tracker.ErrStatus, "labels", `"ENG-1"`)
	// A record that does not say whether there are more is malformed.
	o["inverseRelations"] = object{"nodes": []object{}, "pageInfo": nil}
	_, err = c.IssuesByState(t.Context(), []string{"Todo"})
	trackertest.CheckError(t, err, tracker.ErrResponse, "linear_unknown_payload", "ENG-1: its blockers")
	// And so is one that has a cursor missing.
	o["inverseRelations"] = object{"nodes": []object{}, "pageInfo": object{"hasNextPage": true, "endCursor": nil}}
	_, err = c.IssuesByID(t.Context(), []tracker.ID{issue.ID})
	trackertest.CheckError(t, err, tracker.ErrResponse, "linear_missing_end_cursor", "ENG-1: its blockers")
}

func TestARecordWithoutItsPartsKeepsNoOtherFromBeingRead(t *testing.T) {
	t.Parallel()
	for part, broken := range map[string]any{
		"labels": nil, "inverseRelations": object{"nodes": []object{}, "pageInfo": nil}, "id": "", "title": " ",
	} {
		f := newFake(t)
		ids := f.addMany(3)
		f.find(string(ids[1]))[part] = broken
		c := f.serve(t)
		var dropped []string
		ctx := tracker.WithDropped(t.Context(), func(m tracker.Malformed) { dropped = append(dropped, m.Name()) })
		issues, err := c.IssuesByState(ctx, []string{"Todo"})
		if err != nil || len(issues) != 2 || !slices.Equal(dropped, []string{"ENG-2"}) {
			t.Errorf("%s: %d issues, dropped %q, %v", part, len(issues), dropped, err)
		}
	}
}

func TestARecordWithoutAnIDMayBeThatOfAnyIssueNotFound(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ids := f.addMany(2)
	base := f.serve(t)
	nameless := roundTrip(func(req *http.Request) *http.Response {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(bytes.Replace(body, []byte(`"id":"`+ids[1]), []byte(`"id":"`), 1)))
		return resp
	})
	c := open(t, base.cfg.Endpoint, &http.Client{Transport: nameless})
	_, err := c.IssuesByID(t.Context(), ids)
	malformed, typed := errors.AsType[*tracker.MalformedError](err)
	if !typed || len(malformed.Records) != 1 || malformed.Records[0].ID != ids[1] {
		t.Errorf("got %v, want %s malformed: it is not gone", err, ids[1])
	}
}

func TestWhatIsArchivedTrashedOrElsewhereIsNotVisible(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	ids := f.addMany(4)
	f.issues[0]["archivedAt"] = "2026-01-01T00:00:00.000Z"
	f.issues[1]["trashed"] = true
	f.issues[2]["project"] = f.projects[1]
	c := f.serve(t)
	listed, err := c.IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(listed) != 1 || listed[0].ID != ids[3] {
		t.Errorf("listed %+v, %v, want the last alone", listed, err)
	}
	read, err := c.IssuesByID(t.Context(), ids)
	if err != nil || len(read) != 1 || read[0].ID != ids[3] {
		t.Errorf("read %+v, %v, want the last alone", read, err)
	}
}

func TestAStateThatOnlyResemblesTheOneAskedIsNotListed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.states = append(f.states, object{"id": "long-s", "name": "Taſk"}) // equal to Task in some definitions of case
	f.add(tracker.Issue{Title: "one", State: "Taſk"})
	issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Task"})
	if err != nil || len(issues) != 0 || f.counted() != 1 {
		t.Errorf("got %+v, %v after %d requests, want nothing after one", issues, err, f.counted())
	}
}

func TestHostileTextArrivesAsData(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]string{
		"workflow commands": "::set-output name=x::y\n::error::no\r\n##[group]",
		"Liquid":            "{{ issue.secret }}{% include 'x' %}",
		"JSON":              `"}],"errors":[{"message":"x"}]}`,
		"escapes":           "\x1b[2J\u202e\u2028\u200b<script>&amp;",
	} {
		f := newFake(t)
		o := f.add(tracker.Issue{Title: written, Description: written, State: "Todo", Labels: []string{written}})
		o["branchName"], o["url"] = written, written
		got := f.serve(t).both(t, f)
		want := []string{written, written, written, written, tracker.NormalLabel(written)}
		if have := []string{got.Title, got.Description, got.BranchName, got.URL, got.Labels[0]}; !slices.Equal(want, have) {
			t.Errorf("%s: the text did not arrive as it was", name)
		}
	}
}

func TestALongTextArrivesWhole(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	written := strings.Repeat("ü", 1_000_000)
	f.add(tracker.Issue{Title: "one", Description: written, State: "Todo"})
	if got := f.serve(t).both(t, f); got.Description != written {
		t.Errorf("%d bytes arrived, want %d", len(got.Description), len(written))
	}
}

func TestWhatCannotBeTextIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.add(tracker.Issue{Title: "one", State: "Todo"})
	f.broken = answer(200, `{"data":{`+project+`,"issues":{"pageInfo":{"hasNextPage":false},"nodes":[{"id":"i","identifier":"ENG-1","title":"a\u0000b`+"\xff"+`c","description":"\ud800","state":{"name":"Todo"},
		"labels":{"nodes":[],"pageInfo":{"hasNextPage":false}},"inverseRelations":{"nodes":[],"pageInfo":{"hasNextPage":false}}}]}}}`)
	issues, err := f.serve(t).IssuesByState(t.Context(), []string{"Todo"})
	if err != nil || len(issues) != 1 {
		t.Fatalf("%d issues, %v", len(issues), err)
	}
	if got := issues[0].Title + issues[0].Description; got != "a\uFFFDb\uFFFDc\uFFFD" {
		t.Errorf("got %q", got)
	}
}
