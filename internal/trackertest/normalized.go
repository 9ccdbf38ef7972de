package trackertest

import (
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

func normalized(p *probe) {
	want := tracker.Issue{
		Title:       "Normal",
		Description: "First line.\n\nSecond, with ünïcode and {{ braces }}.",
		State:       p.Active,
		Priority:    new(2),
		CreatedAt:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		UpdatedAt:   time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
	}
	put := want
	put.Labels = []string{"Bug", "NEEDS Work"}
	id := p.Put(put)
	plain := p.put("Plain")

	read, listed := p.mustRead(id, plain), p.mustList(p.Active)
	if diff := cmp.Diff(read, listed); diff != "" {
		p.t.Errorf("a list and a read by id differ (-read +listed):\n%s", diff)
	}
	if len(read) != 2 {
		p.t.Fatalf("got %d issues, want 2", len(read))
	}
	got := read[0]
	if missing := got.MissingFields(); len(missing) > 0 {
		p.t.Errorf("it has no %v", missing)
	}
	for _, label := range []string{"bug", "needs work"} {
		if !slices.Contains(got.Labels, label) {
			p.t.Errorf("labels %q: want %q among them", got.Labels, label)
		}
	}
	for _, label := range got.Labels {
		if label != tracker.NormalLabel(label) {
			p.t.Errorf("label %q is not normalized", label)
		}
	}
	fields := tracker.Issue{
		Title: got.Title, Description: got.Description, State: got.State,
		Priority: got.Priority, CreatedAt: got.CreatedAt, UpdatedAt: got.UpdatedAt,
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		p.t.Errorf("(-want +got):\n%s", diff)
	}
	if read[1].Priority != nil {
		p.t.Errorf("priority of an issue without one: %d, want none", *read[1].Priority)
	}
	for _, issue := range read {
		if !issue.Dispatchable {
			p.t.Errorf("%s is not dispatchable (%q)", issue.Identifier, issue.WhyNot)
		}
	}
}

func blockerState(p *probe) {
	blocker := p.Put(tracker.Issue{Title: "blocker", State: p.Done})
	id := p.Put(tracker.Issue{Title: "blocked", State: p.Active, BlockedBy: []tracker.Blocker{{ID: blocker}}})
	want := []tracker.Blocker{{ID: blocker, Identifier: p.mustRead(blocker)[0].Identifier, State: p.Done}}
	for how, issues := range map[string][]tracker.Issue{"listed": p.mustList(p.Active), "read": p.mustRead(id)} {
		if len(issues) != 1 {
			p.t.Fatalf("%s: got %d issues, want 1", how, len(issues))
		}
		if diff := cmp.Diff(want, issues[0].BlockedBy); diff != "" {
			p.t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

func malformedListed(p *probe) {
	if p.Corrupt == nil {
		p.t.Skip("this tracker cannot hold a malformed record")
	}
	first, broken, last := p.put("first"), p.put("broken"), p.put("last")
	p.Corrupt(broken)
	for range 2 { // the second answer may be a cached one
		var dropped []tracker.Malformed
		ctx := tracker.WithDropped(p.t.Context(), func(m tracker.Malformed) { dropped = append(dropped, m) })
		issues, err := p.Adapter.IssuesByState(ctx, []string{p.Active})
		p.recordError(err)
		if err != nil {
			p.t.Fatal(err)
		}
		if diff := cmp.Diff([]tracker.ID{first, last}, ids(issues)); diff != "" {
			p.t.Errorf("listed (-want +got):\n%s", diff)
		}
		p.checkNamed(dropped, broken)
	}
}

func malformedAll(p *probe) {
	if p.Corrupt == nil {
		p.t.Skip("this tracker cannot hold a malformed record")
	}
	first, second := p.put("first"), p.put("second")
	p.Corrupt(first)
	p.Corrupt(second)
	for range 2 {
		issues, err := p.byState(p.Active)
		p.checkFailed(issues, err)
		if !errors.Is(err, tracker.ErrResponse) {
			p.t.Errorf("listed: %v, want %v", err, tracker.ErrResponse)
		}
	}
}

func malformedRead(p *probe) {
	if p.Corrupt == nil {
		p.t.Skip("this tracker cannot hold a malformed record")
	}
	first, broken, last, other := p.put("first"), p.put("broken"), p.put("last"), p.put("other")
	p.Corrupt(broken)
	p.Corrupt(other)
	for range 2 {
		issues, err := p.byID(first, broken, last, other)
		p.checkFailed(issues, err)
		malformed, typed := errors.AsType[*tracker.MalformedError](err)
		if !typed {
			p.t.Fatalf("read by id: %v, want a %T", err, malformed)
		}
		p.checkNamed(malformed.Records, broken, other)
	}
	if diff := cmp.Diff([]tracker.ID{first, last}, ids(p.mustRead(first, last))); diff != "" {
		p.t.Errorf("read without them (-want +got):\n%s", diff)
	}
}

// checkNamed checks that records have exactly these ids, each once and with a reason.
func (p *probe) checkNamed(records []tracker.Malformed, want ...tracker.ID) {
	p.t.Helper()
	var got []tracker.ID
	for _, m := range records {
		got = append(got, m.ID)
		if m.Identifier == "" || m.Reason == "" {
			p.t.Errorf("%q is not said to be malformed in words: %+v", m.ID, m)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("malformed (-want +got):\n%s", diff)
	}
}
