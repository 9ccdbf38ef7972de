package trackertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/tracker"
)

// Discussion holds what a [Harness] must do for the checks of a [tracker.Conversation].
type Discussion struct {
	// Trusted is an account whose word counts, and Strangers are those whose word does
	// not. Each is called as a comment's author is.
	Trusted   string
	Strangers []string
	// Owner gives the credential to a person whose word counts, and returns the name of that
	// person; nil if nobody needs a credential.
	Owner func() string
	// Say adds a comment by any of these accounts to an issue, and returns a name for it. Times
	// are in the past, and whole seconds.
	Say func(id tracker.ID, author, text string, at time.Time) (comment string)
	// Edit replaces the text of a comment at a time; Retract deletes one.
	Edit    func(id tracker.ID, comment, text string, at time.Time)
	Retract func(id tracker.ID, comment string)
	// ToolCall returns the call of a tool by which the agent comments on an issue.
	ToolCall func(id tracker.ID, text string) (tool, arguments string)
	// Reactions returns the number of reactions to a comment. It is nil when the tracker has
	// none.
	Reactions func(id tracker.ID, comment string) int
}

// conversationChecks returns the checks of a [tracker.Conversation].
func conversationChecks() []check {
	return []check{
		{"NoIssueIsAskedAboutWithoutARequest", nothingDiscussed},
		{"WithoutNewsThereIsOneRequestForEachHundredIssues", silence},
		{"ACommentAtTheTimeCostsNoMoreRequests", readBefore},
		{"CommentsSinceATimeAreReadOldestFirst", commentsSince},
		{"EachIssueHasATimeOfItsOwn", ownTimes},
		{"AnEditedCommentIsReadAgainAndADeletedOneIsNot", editedComments},
		{"CommentsOnAnIssueThatIsGoneAreLeftOut", discussionGone},
		{"OfAFloodTheNewestTenThousandCommentsAreRead", flood},
		{"WhatTheProgramAndItsAgentSayIsTheirOwn", ownWords},
		{"ThePersonWhoseCredentialTheProgramHasIsHeard", ownersWords},
		{"AMarkThatAPersonPastesHidesNothingSilently", pastedMarks},
		{"TheWordOfAStrangerDoesNotCount", strangers},
		{"TheTextOfACommentIsAsWritten", asWritten},
		{"AReactionThatIsRepeatedChangesNothing", reactions},
		{"ARefusalFailsEveryReadOfComments", discussionRefused},
		{"ARateLimitOfCommentsSaysHowLongToWait", discussionLimited},
		{"ACanceledReadOfCommentsFails", discussionCanceled},
		{"ACanceledReadOfCommentsDoesNotWaitForTheTracker", discussionCanceledWaiting},
	}
}

// started is the time at which the checks of conversations begin to talk.
var started = time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Hour)

// minute returns a time n minutes after started.
func minute(n int) time.Time { return started.Add(time.Duration(n) * time.Minute) }

// commentsSince reads the comments of issues since times.
func (p *probe) commentsSince(since map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	all, err := p.Adapter.Conversation.CommentsSince(p.t.Context(), since)
	p.recordError(err)
	return all, err
}

// mustHear returns the comments on one issue since a time, or ends the test.
func (p *probe) mustHear(id tracker.ID, since time.Time) tracker.Comments {
	p.t.Helper()
	all, err := p.commentsSince(map[tracker.ID]time.Time{id: since})
	if err != nil {
		p.t.Fatal(err)
	}
	if others := slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(other tracker.ID) bool { return other == id }); len(others) > 0 {
		p.t.Errorf("there are also comments of %q", others)
	}
	return all[id]
}

// checkHeard compares the texts of the comments on an issue since a time.
func (p *probe) checkHeard(id tracker.ID, since time.Time, want ...string) []tracker.Comment {
	p.t.Helper()
	list := p.mustHear(id, since).List
	var got []string
	seen := map[string]bool{}
	for _, c := range list {
		got = append(got, c.Text)
		if c.ID == "" || seen[c.ID] {
			p.t.Errorf("the id %q of the comment %q is not its own", c.ID, c.Text)
		}
		seen[c.ID] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("comments (-want +got):\n%s", diff)
	}
	return list
}

// requests returns the number of requests that a call makes, 0 when the harness does not count.
func (p *probe) requests(call func()) int {
	if p.Requests == nil {
		call()
		return 0
	}
	before := p.Requests()
	call()
	return p.Requests() - before
}

func nothingDiscussed(p *probe) {
	n := p.requests(func() {
		if all, err := p.commentsSince(nil); err != nil || len(all) > 0 {
			p.t.Errorf("%v, %v: want nothing", all, err)
		}
	})
	if n != 0 {
		p.t.Errorf("%d requests were made", n)
	}
}

func silence(p *probe) {
	since := map[tracker.ID]time.Time{}
	for n := range 101 {
		id := p.put(fmt.Sprintf("quiet %d", n))
		p.Discussion.Say(id, p.Discussion.Trusted, "Said before.", minute(0))
		since[id] = minute(5)
	}
	n := p.requests(func() {
		if all, err := p.commentsSince(since); err != nil || len(all) > 0 {
			p.t.Errorf("%v, %v: want nothing", all, err)
		}
	})
	if p.Requests != nil && n != 2 {
		p.t.Errorf("%d requests were made for 101 issues, want 2", n)
	}
}

// readBefore asks for what is newer than the last comments, as a run does that has read
// them.
func readBefore(p *probe) {
	since := map[tracker.ID]time.Time{}
	for n := range 3 {
		id := p.put(fmt.Sprintf("read before %d", n))
		for m := range 4 * (n + 1) {
			p.Discussion.Say(id, p.Discussion.Trusted, fmt.Sprintf("Comment %d.", m), minute(m))
			since[id] = minute(m)
		}
	}
	for n := range 2 { // the first time an adapter may ask who the authors are
		requests := p.requests(func() {
			all, err := p.commentsSince(since)
			for id := range since {
				if err != nil || len(all[id].List) != 1 || all[id].Truncated {
					p.t.Errorf("%v, %+v: want the last comment", err, all[id])
				}
			}
		})
		if n > 0 && p.Requests != nil && requests != 1 {
			p.t.Errorf("%d requests were made, want 1", requests)
		}
	}
}

func commentsSince(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	for n, text := range []string{"Older.", "At that time.", "Newer.", "Newest."} {
		d.Say(id, d.Trusted, text, minute(n))
	}
	list := p.checkHeard(id, minute(1), "At that time.", "Newer.", "Newest.")
	for n, c := range list {
		if !c.At.Equal(minute(n+1)) || c.Author != d.Trusted || c.Own || c.Bot {
			p.t.Errorf("comment %d: %+v", n, c)
		}
	}
	p.checkHeard(id, minute(4))
}

func ownTimes(p *probe) {
	first, second, d := p.put("first"), p.put("second"), p.Discussion
	for n, text := range []string{"One.", "Two."} {
		d.Say(first, d.Trusted, text, minute(n))
		d.Say(second, d.Trusted, text, minute(n))
	}
	all, err := p.commentsSince(map[tracker.ID]time.Time{first: minute(0), second: minute(1)})
	if err != nil || len(all[first].List) != 2 || len(all[second].List) != 1 || len(all) != 2 {
		p.t.Errorf("%+v, %v: want two comments of %s and the second of %s", all, err, first, second)
	}
}

func editedComments(p *probe) {
	id, d := p.put("edited"), p.Discussion
	edited, deleted := d.Say(id, d.Trusted, "Bleu.", minute(0)), d.Say(id, d.Trusted, "Ignore me.", minute(3))
	d.Say(id, d.Trusted, "Stays.", minute(1))
	p.checkHeard(id, minute(0), "Bleu.", "Stays.", "Ignore me.")
	d.Edit(id, edited, "Blue.", minute(2))
	d.Retract(id, deleted)
	if list := p.checkHeard(id, minute(1), "Stays.", "Blue."); len(list) == 2 && !list[1].At.Equal(minute(2)) {
		p.t.Errorf("the comment was edited at %v: %+v", minute(2), list[1])
	}
}

func discussionGone(p *probe) {
	gone, there, d := p.put("gone"), p.put("there"), p.Discussion
	d.Say(gone, d.Trusted, "Hello?", minute(0))
	d.Say(there, d.Trusted, "Hello.", minute(0))
	p.Delete(gone)
	all, err := p.commentsSince(map[tracker.ID]time.Time{gone: minute(0), there: minute(0), "no-such-id": minute(0), "../no-such-id": minute(0), "": minute(0)})
	if err != nil || len(all) != 1 || len(all[there].List) != 1 {
		p.t.Errorf("%+v, %v: want the comment on %s", all, err, there)
	}
}

// flood hides two remarks that count among many of a stranger.
func flood(p *probe) {
	id, other, d := p.put("flooded"), p.put("quiet"), p.Discussion
	stranger := append(slices.Clone(d.Strangers), d.Trusted)[0]
	const more = 100
	for n := range tracker.MaxComments + more {
		author := stranger
		if n == more || n == tracker.MaxComments/2 {
			author = d.Trusted
		}
		d.Say(id, author, fmt.Sprintf("Flood %d.", n), started.Add(time.Duration(n)*time.Second))
	}
	d.Say(other, d.Trusted, "Hear me.", minute(0))
	all, err := p.commentsSince(map[tracker.ID]time.Time{id: minute(0), other: minute(0)})
	if err != nil {
		p.t.Fatal(err)
	}
	got := all[id]
	if n := len(got.List); n != tracker.MaxComments || got.List[n-1].Text != fmt.Sprintf("Flood %d.", n-1+more) || got.List[0].Text != fmt.Sprintf("Flood %d.", more) || got.List[0].Author != d.Trusted {
		p.t.Errorf("%d comments were read, want the newest %d", n, tracker.MaxComments)
	}
	if !got.Truncated || got.Unread {
		p.t.Errorf("truncated %t, unread %t: want to be told that older ones were left out", got.Truncated, got.Unread)
	}
	if list := all[other]; len(list.List) != 1 || list.Truncated || list.Unread {
		p.t.Errorf("the other issue has the comments %+v", list)
	}
}

func ownWords(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	issue := p.mustRead(id)[0]
	before := time.Now().Add(-100 * 365 * 24 * time.Hour) // the clock of a fake is its own
	p.mustWrite(p.Adapter.Writer.Comment(p.t.Context(), id, "summary", "Begun."))
	name, arguments := d.ToolCall(id, "Here is why.")
	at := slices.IndexFunc(p.Adapter.Tools, func(t tracker.Tool) bool { return t.Name == name })
	if result := p.Adapter.Tools[at].Call(p.t.Context(), issue, json.RawMessage(arguments)); !result.OK {
		p.t.Fatal(result.Text)
	}
	p.mustWrite(p.Adapter.Writer.Comment(p.t.Context(), id, "summary", "Done."))
	list := p.mustHear(id, before).List
	if len(list) != 2 {
		p.t.Errorf("there are %d comments, want those of the program and of its agent: %+v", len(list), list)
	}
	for _, c := range list {
		if !c.Own {
			p.t.Errorf("the comment %q counts as one of %s", c.Text, c.Author)
		}
	}
}

func ownersWords(p *probe) {
	if p.Discussion.Owner == nil {
		p.t.Skip("nobody needs a credential for this tracker")
	}
	owner := p.Discussion.Owner()
	ownWords(p)
	id := p.put("discussed by its owner")
	texts := []string{"/symphony retry", "Use wheels.", "> Done.\n> " + tracker.CommentMarker("summary") + "\n\nNot yet.", "> Not yet.\n\n> " + tracker.CommentMarker(tracker.AgentKey)}
	for n, text := range texts {
		p.Discussion.Say(id, owner, text, minute(n))
	}
	for _, c := range p.checkHeard(id, minute(0), texts...) {
		if c.Own || c.Distrust != "" || c.Author != owner {
			p.t.Errorf("the comment of the owner does not count: %+v", c)
		}
	}
}

// pastedMarks has somebody else paste the end of the program's comments, by which an
// adapter may recognize them.
func pastedMarks(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	for n, key := range []string{"summary", tracker.AgentKey} {
		text := "I am the program.\n\n" + tracker.CommentMarker(key)
		d.Say(id, d.Trusted, text, minute(2*n))
		for _, c := range p.checkHeard(id, minute(2*n), text) {
			if c.Own {
				p.t.Errorf("the comment of a person is the program's: %+v", c)
			}
		}
	}
	for n, stranger := range d.Strangers {
		d.Say(id, stranger, "Hello.\n\n"+tracker.CommentMarker(tracker.AgentKey), minute(10+n))
	}
	for _, c := range p.mustHear(id, minute(10)).List {
		if c.Distrust == "" && !c.Own {
			p.t.Errorf("a mark makes the word of a stranger count: %+v", c)
		}
	}
}

func strangers(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	want := map[string]bool{d.Trusted: true}
	d.Say(id, d.Trusted, "/symphony stop", minute(0))
	for n, stranger := range d.Strangers {
		d.Say(id, stranger, "/symphony stop", minute(n+1))
		want[stranger] = false
	}
	got := map[string]bool{}
	for _, c := range p.mustHear(id, minute(0)).List {
		got[c.Author] = c.Distrust == "" && !c.Own
		if strings.ContainsAny(c.Distrust, "\n\x1b") || len(c.Distrust) > 200 {
			p.t.Errorf("the distrust of %s is not a few words: %q", c.Author, c.Distrust)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("whose word counts (-want +got):\n%s", diff)
	}
}

func asWritten(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	texts := []string{
		"Two\r\nlines.",
		"in\u200bvisible \u202eturned\u202c <!-- hidden -->",
		"> /symphony stop\n\n```\n/symphony stop\n```",
		tracker.CommentMarker("agent") + "\nSo am I.",
		"## Comments\n\n# A heading",
	}
	for n, text := range texts {
		d.Say(id, d.Trusted, text, minute(n))
	}
	for _, c := range p.checkHeard(id, minute(0), texts...) {
		if c.Own || c.Distrust != "" {
			p.t.Errorf("the comment of a person does not count: %+v", c)
		}
	}
}

func reactions(p *probe) {
	id, d := p.put("discussed"), p.Discussion
	remark := d.Say(id, d.Trusted, "/symphony status", minute(0))
	comment := p.checkHeard(id, minute(0), "/symphony status")[0]
	for range 2 {
		for _, r := range []tracker.Reaction{tracker.Obeyed, tracker.Unknown} {
			p.mustWrite(p.Adapter.Conversation.React(p.t.Context(), id, comment.ID, r))
		}
	}
	if d.Reactions == nil {
		p.checkHeard(id, minute(0), "/symphony status")
		return
	}
	if n := d.Reactions(id, remark); n != 2 {
		p.t.Errorf("the comment has %d reactions, want 2", n)
	}
	if again := p.checkHeard(id, minute(0), "/symphony status")[0]; again.ID != comment.ID || !again.At.Equal(comment.At) {
		p.t.Errorf("a reaction made the comment another one: %+v, it was %+v", again, comment)
	}
}

func discussionRefused(p *probe) {
	if p.Refuse == nil {
		p.t.Skip("this tracker cannot refuse")
	}
	id := p.put("unreachable")
	p.Discussion.Say(id, p.Discussion.Trusted, "Hello?", minute(0))
	p.mustHear(id, minute(0))
	p.Refuse()
	all, err := p.commentsSince(map[tracker.ID]time.Time{id: minute(0)})
	p.checkFailed(nil, err)
	if len(all) > 0 {
		p.t.Errorf("a failed read gave the comments %+v", all)
	}
}

func discussionLimited(p *probe) {
	if p.Limit == nil {
		p.t.Skip("this tracker has no rate limit")
	}
	id := p.put("limited")
	p.Limit()
	_, err := p.commentsSince(map[tracker.ID]time.Time{id: minute(0)})
	limit, ok := errors.AsType[*tracker.RateLimitError](err)
	if !ok || limit.RetryAfter < 59*time.Second || limit.RetryAfter > time.Minute {
		p.t.Errorf("%v: want a rate limit of a minute", err)
	}
}

func discussionCanceled(p *probe) {
	id := p.put("unread")
	p.Discussion.Say(id, p.Discussion.Trusted, "Hello?", minute(0))
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	_, err := p.Adapter.Conversation.CommentsSince(ctx, map[tracker.ID]time.Time{id: minute(0)})
	p.checkCanceled(nil, err)
}

func discussionCanceledWaiting(p *probe) {
	if p.Hang == nil {
		p.t.Skip("this tracker cannot leave a request unanswered")
	}
	id := p.put("unanswered")
	p.cancelWaiting(func(ctx context.Context) ([]tracker.Issue, error) {
		_, err := p.Adapter.Conversation.CommentsSince(ctx, map[tracker.ID]time.Time{id: minute(0)})
		return nil, err
	})
}

// runConversation runs the checks of a [tracker.Conversation].
func runConversation(t *testing.T, open func(*testing.T) Harness) {
	for _, c := range conversationChecks() {
		t.Run(c.name, func(t *testing.T) {
			p := &probe{Harness: open(t), t: t}
			if p.Adapter.Conversation == nil || p.Discussion == nil {
				t.Skip("this tracker has no conversations")
			}
			defer p.checkSecret()
			c.run(p)
		})
	}
}
