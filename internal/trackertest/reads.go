package trackertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

// many is more issues than two pages of any provider hold.
const many = 120

func nothingAsked(p *probe) {
	p.put("unasked")
	before := 0
	if p.Requests != nil {
		before = p.Requests()
	}
	if p.Refuse != nil {
		p.Refuse() // every request now fails
	}
	if got := p.mustList(); len(got) != 0 {
		p.t.Errorf("no states: got %d issues", len(got))
	}
	if got := p.mustRead(); len(got) != 0 {
		p.t.Errorf("no ids: got %d issues", len(got))
	}
	if p.Requests != nil && p.Requests() != before {
		p.t.Errorf("%d requests were made", p.Requests()-before)
	}
}

func statesMatch(p *probe) {
	active := p.put("active")
	done := p.Put(tracker.Issue{Title: "done", State: p.Done})
	for _, state := range []string{p.Active, strings.ToUpper(p.Active), strings.ToLower(p.Active), "  " + p.Active + "\t"} {
		if diff := cmp.Diff([]tracker.ID{active}, ids(p.mustList(state))); diff != "" {
			p.t.Errorf("state %q (-want +got):\n%s", state, diff)
		}
	}
	if diff := cmp.Diff([]tracker.ID{active, done}, ids(p.mustList(p.Done, p.Active, p.Done))); diff != "" {
		p.t.Errorf("both states (-want +got):\n%s", diff)
	}
	if got := p.mustList("No Such State"); len(got) != 0 {
		p.t.Errorf("unknown state: got %d issues", len(got))
	}
}

func (p *probe) putMany() []tracker.ID {
	list := make([]tracker.ID, many)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range list {
		at := start.Add(time.Duration(i) * time.Minute)
		list[i] = p.Put(tracker.Issue{Title: fmt.Sprintf("issue %d", i), State: p.Active, CreatedAt: at, UpdatedAt: at})
	}
	return list
}

func listOrder(p *probe) {
	want := p.putMany()
	if diff := cmp.Diff(want, ids(p.mustList(p.Active))); diff != "" {
		p.t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func readOrder(p *probe) {
	want := p.putMany()
	slices.Reverse(want)
	asked := append(slices.Clone(want), want[:10]...)
	if diff := cmp.Diff(want, ids(p.mustRead(asked...))); diff != "" {
		p.t.Errorf("read (-want +got):\n%s", diff)
	}
	if p.Requests == nil {
		return
	}
	before := p.Requests()
	p.mustRead(want[0], want[0], want[0])
	thrice := p.Requests() - before
	p.mustRead(want[0])
	if once := p.Requests() - before - thrice; thrice > once {
		p.t.Errorf("one id given three times took %d requests, once %d", thrice, once)
	}
}

func notVisible(p *probe) {
	first, gone, last := p.put("first"), p.put("gone"), p.put("last")
	p.Delete(gone)
	if diff := cmp.Diff([]tracker.ID{last, first}, ids(p.mustRead(last, gone, "no-such-id", "../no-such-id", first))); diff != "" {
		p.t.Errorf("read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]tracker.ID{first, last}, ids(p.mustList(p.Active))); diff != "" {
		p.t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func changeIsSeen(p *probe) {
	id := p.put("before")
	p.mustList(p.Active, p.Done)
	p.mustRead(id)
	p.Put(tracker.Issue{ID: id, Title: "after", State: p.Done})
	for how, issues := range map[string][]tracker.Issue{"listed": p.mustList(p.Done), "read": p.mustRead(id)} {
		if len(issues) != 1 || issues[0].Title != "after" || issues[0].State != p.Done {
			p.t.Errorf("%s: got %+v, want the issue as it is now", how, issues)
		}
	}
	if got := p.mustList(p.Active); len(got) != 0 {
		p.t.Errorf("the former state still lists %d issues", len(got))
	}
}

func answersAreOwn(p *probe) {
	blocker := p.put("blocker")
	id := p.Put(tracker.Issue{
		Title: "mine", State: p.Active, Priority: new(2), Labels: []string{"bug"}, BlockedBy: []tracker.Blocker{{ID: blocker}},
	})
	// The answer is kept as text, because its parts may be what is overwritten.
	want := text(p.mustRead(id))
	for _, issues := range [][]tracker.Issue{p.mustRead(id), p.mustList(p.Active)} {
		for i := range issues {
			overwrite(&issues[i])
		}
	}
	if diff := cmp.Diff(want, text(p.mustRead(id))); diff != "" {
		p.t.Errorf("a caller's change of its answer came back (-want +got):\n%s", diff)
	}
}

func text(issues []tracker.Issue) string {
	encoded, err := json.MarshalIndent(issues, "", "  ")
	if err != nil {
		panic(err) // an issue is plain values
	}
	return string(encoded)
}

// overwrite changes everything an issue refers to.
func overwrite(issue *tracker.Issue) {
	for i := range issue.Labels {
		issue.Labels[i] = "overwritten"
	}
	for i := range issue.BlockedBy {
		issue.BlockedBy[i] = tracker.Blocker{Identifier: "overwritten"}
	}
	if issue.Priority != nil {
		*issue.Priority = -1
	}
	for key := range issue.NativeRef {
		issue.NativeRef[key] = "overwritten"
	}
}

func readsTogether(p *probe) {
	want := []tracker.ID{p.put("one"), p.put("two")}
	const readers = 4
	lists, reads := make([][]tracker.Issue, readers), make([][]tracker.Issue, readers)
	errs := make([]error, 2*readers)
	var group sync.WaitGroup
	for i := range readers {
		group.Go(func() { lists[i], errs[2*i] = p.Adapter.IssuesByState(p.t.Context(), []string{p.Active}) })
		group.Go(func() { reads[i], errs[2*i+1] = p.Adapter.IssuesByID(p.t.Context(), want) })
	}
	group.Wait()
	for _, err := range errs {
		p.recordError(err)
		if err != nil {
			p.t.Error(err)
		}
	}
	for _, issues := range append(lists, reads...) {
		if diff := cmp.Diff(want, ids(issues)); diff != "" {
			p.t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
