package trackertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

// write is one call of a Writer.
type write struct {
	name string
	call func(ctx context.Context, id tracker.ID) error
}

// writes returns a call of each method. Each of them changes an active issue.
func (p *probe) writes() []write {
	w := p.Adapter.Writer
	return []write{
		{"Comment", func(ctx context.Context, id tracker.ID) error { return w.Comment(ctx, id, "summary", "Done.") }},
		{"Move", func(ctx context.Context, id tracker.ID) error { return w.Move(ctx, id, p.Done) }},
		{"Label", func(ctx context.Context, id tracker.ID) error { return w.Label(ctx, id, p.Label, true) }},
	}
}

// mustWrite ends the test when a write fails.
func (p *probe) mustWrite(err error) {
	p.t.Helper()
	p.recordError(err)
	if err != nil {
		p.t.Fatal(err)
	}
}

// checkWrite checks that a write failed with the category and that the text of the
// error has the words.
func (p *probe) checkWrite(name string, err, category error, words ...string) {
	p.t.Helper()
	p.recordError(err)
	p.t.Run(name, func(t *testing.T) { CheckError(t, err, category, words...) })
}

// comments returns the texts that people read in the comments of an issue, in order.
func (p *probe) comments(id tracker.ID) []string {
	p.t.Helper()
	var shown []string
	for _, text := range p.Comments(id) {
		before, hidden, found := strings.Cut(text, "<!--")
		if _, after, ok := strings.Cut(hidden, "-->"); found && ok {
			before += after
		}
		shown = append(shown, strings.TrimSpace(before))
	}
	return shown
}

// checkComments compares the comments of an issue.
func (p *probe) checkComments(id tracker.ID, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.comments(id)); diff != "" {
		p.t.Errorf("comments (-want +got):\n%s", diff)
	}
}

// checkUnchanged checks that a call leaves an issue and its comments as they are.
func (p *probe) checkUnchanged(id tracker.ID, call func()) {
	p.t.Helper()
	issue, comments := p.mustRead(id), p.comments(id)
	call()
	if diff := cmp.Diff(issue, p.mustRead(id)); diff != "" {
		p.t.Errorf("the issue was changed (-want +got):\n%s", diff)
	}
	p.checkComments(id, comments...)
}

func moves(p *probe) {
	id, other := p.put("mine"), p.put("not mine")
	for _, state := range []string{p.Done, " " + strings.ToUpper(p.Done) + "\t"} {
		p.mustWrite(p.Adapter.Writer.Move(p.t.Context(), id, state))
		issue := p.mustRead(id)[0]
		if tracker.NormalState(issue.State) != tracker.NormalState(p.Done) || issue.Title != "mine" {
			p.t.Errorf("after a move to %q: %+v", state, issue)
		}
	}
	if state := p.mustRead(other)[0].State; state != p.Active {
		p.t.Errorf("the other issue is in the state %q", state)
	}
}

func movesOnce(p *probe) {
	id := p.put("there already")
	p.checkUnchanged(id, func() {
		p.mustWrite(p.Adapter.Writer.Move(p.t.Context(), id, " "+strings.ToUpper(p.Active)))
	})
}

func finishedStays(p *probe) {
	id := p.Put(tracker.Issue{Title: "finished meanwhile", State: p.Done})
	p.checkUnchanged(id, func() {
		p.checkWrite("Move", p.Adapter.Writer.Move(p.t.Context(), id, p.Active), tracker.ErrFinished, p.Done)
		p.mustWrite(p.Adapter.Writer.Move(p.t.Context(), id, p.Done))
	})
	p.mustWrite(p.Adapter.Writer.Comment(p.t.Context(), id, "summary", "It is merged."))
	p.checkComments(id, "It is merged.")
}

func unknownNames(p *probe) {
	id := p.put("subject")
	w := p.Adapter.Writer
	p.checkUnchanged(id, func() {
		for _, name := range []string{"", " \n", "two\nlines", strings.Repeat("x", 101)} {
			p.checkWrite(fmt.Sprintf("Move to %.8q", name), w.Move(p.t.Context(), id, name), tracker.ErrInvalidConfig)
			p.checkWrite(fmt.Sprintf("Label %.8q", name), w.Label(p.t.Context(), id, name, true), tracker.ErrInvalidConfig)
		}
		if p.FreeNames {
			return
		}
		p.checkWrite("Move", w.Move(p.t.Context(), id, "No Such State"), tracker.ErrInvalidConfig, "No Such State", p.Done)
		p.checkWrite("Label", w.Label(p.t.Context(), id, "no such label", true), tracker.ErrInvalidConfig, "no such label", p.Label)
		p.mustWrite(w.Label(p.t.Context(), id, "no such label", false))
	})
}

func labels(p *probe) {
	id := p.Put(tracker.Issue{Title: "labeled", State: p.Active, Labels: []string{"kept"}})
	before := p.mustRead(id)[0].Labels
	has := slices.Concat(before, []string{tracker.NormalLabel(p.Label)})
	slices.Sort(has)
	for _, step := range []struct {
		label string
		on    bool
		want  []string
	}{
		{p.Label, true, has}, {" " + strings.ToUpper(p.Label), true, has}, {strings.ToUpper(p.Label), false, before}, {p.Label, false, before},
	} {
		p.mustWrite(p.Adapter.Writer.Label(p.t.Context(), id, step.label, step.on))
		issue := p.mustRead(id)[0]
		slices.Sort(issue.Labels)
		if diff := cmp.Diff(step.want, issue.Labels); diff != "" || issue.State != p.Active {
			p.t.Errorf("%q, %t: in the state %q (-want +got):\n%s", step.label, step.on, issue.State, diff)
		}
	}
}

func commentsInPlace(p *probe) {
	id, other := p.put("discussed"), p.put("other")
	before := p.mustRead(id)[0]
	w := p.Adapter.Writer
	comment := func(key, text string) {
		p.t.Helper()
		p.mustWrite(w.Comment(p.t.Context(), id, key, text))
	}
	comment("summary", "Begun.")
	comment("question", "Which?\r\n\r\n* this\r\n* that\n")
	p.checkComments(id, "Begun.", "Which?\n\n* this\n* that")
	comment("summary", "Done.")
	p.checkComments(id, "Done.", "Which?\n\n* this\n* that")
	p.checkUnchanged(id, func() { comment("summary", "Done.") })
	p.checkComments(other)
	if after := p.mustRead(id)[0]; after.Description != before.Description || after.State != before.State {
		p.t.Errorf("the issue was changed: %+v", after)
	}
}

// forgedMarkers gives text that looks like what adapters find their comments by.
func forgedMarkers(p *probe) {
	id := p.put("attacked")
	w := p.Adapter.Writer
	forged := "Hello.\n\n### 2026-01-01T00:00:00Z symphony\n\nx\n" + tracker.CommentMarker("question") + "\n" + tracker.CommentMarker("summary")
	for _, text := range []string{forged, forged + "\nAgain."} {
		p.mustWrite(w.Comment(p.t.Context(), id, "summary", text))
	}
	p.mustWrite(w.Comment(p.t.Context(), id, "question", "Which?"))
	p.mustWrite(w.Comment(p.t.Context(), id, "summary", "Done."))
	p.checkComments(id, "Done.", "Which?")
}

func invalidComments(p *probe) {
	id := p.put("subject")
	before := 0
	if p.Requests != nil {
		before = p.Requests()
	}
	for name, comment := range map[string]struct{ key, text string }{
		"empty": {"summary", ""}, "blank": {"summary", " \r\n\t"}, "huge": {"summary", strings.Repeat("é", tracker.MaxComment)},
		"no key": {"", "Done."}, "a key that ends a comment": {"a --> b", "Done."}, "a long key": {strings.Repeat("k", 65), "Done."},
	} {
		p.checkWrite(name, p.Adapter.Writer.Comment(p.t.Context(), id, comment.key, comment.text), tracker.ErrInvalidWrite)
	}
	if p.Requests != nil && p.Requests() != before {
		p.t.Errorf("%d requests were made", p.Requests()-before)
	}
	p.checkComments(id)
	p.mustWrite(p.Adapter.Writer.Comment(p.t.Context(), id, "summary", "a\x1b[31m\x00b"+strings.Repeat("x", tracker.MaxComment-20)))
	if text := p.comments(id)[0]; strings.ContainsAny(text, "\x1b\x00") {
		p.t.Errorf("the comment has control characters: %.40q", text)
	}
}

func writesNotVisible(p *probe) {
	gone := p.put("gone")
	p.put("other")
	p.Delete(gone)
	for _, id := range []tracker.ID{gone, "no-such-id", "../no-such-id", ""} {
		for _, w := range p.writes() {
			p.checkWrite(w.name, w.call(p.t.Context(), id), tracker.ErrNotVisible)
		}
	}
}

func writesRefused(p *probe) {
	if p.Refuse == nil {
		p.t.Skip("this tracker cannot refuse")
	}
	id := p.put("unreachable")
	p.Refuse()
	for _, w := range p.writes() {
		err := w.call(p.t.Context(), id)
		p.checkFailed(nil, err)
		if errors.Is(err, tracker.ErrNotVisible) {
			p.t.Errorf("%s: a refusal counts as a missing issue: %v", w.name, err)
		}
	}
}

func writesCanceled(p *probe) {
	id := p.put("unwritten")
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	p.checkUnchanged(id, func() {
		for _, w := range p.writes() {
			p.checkCanceled(nil, w.call(ctx, id))
		}
	})
}

func writesCanceledWaiting(p *probe) {
	if p.Hang == nil {
		p.t.Skip("this tracker cannot leave a request unanswered")
	}
	id := p.put("unanswered")
	for _, w := range p.writes() {
		p.cancelWaiting(func(ctx context.Context) ([]tracker.Issue, error) { return nil, w.call(ctx, id) })
	}
}

func lostAnswer(p *probe) {
	if p.LoseAnswer == nil {
		p.t.Skip("this tracker cannot lose an answer")
	}
	id := p.put("commented")
	p.LoseAnswer()
	p.checkWrite("Comment", p.Adapter.Writer.Comment(p.t.Context(), id, "summary", "Done."), tracker.ErrInDoubt, "may have been posted")
	p.checkComments(id, "Done.")
	for _, text := range []string{"Done.", "Done again."} {
		p.mustWrite(p.Adapter.Writer.Comment(p.t.Context(), id, "summary", text))
		p.checkComments(id, text)
	}
}
