package feedback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// pulled is a GitHub with a pull request that is read poll by poll.
type pulled struct {
	*Channel
	t      *testing.T
	hub    *githubtest.GitHub
	topic  Topic
	number int
}

const token = "ghs_0123456789abcdefTALKS"

// newChannel returns a channel that has read nothing yet.
func newChannel(t *testing.T, hub *githubtest.GitHub) *Channel {
	t.Helper()
	c, err := client.New(client.Config{Repo: hub.Repo(), APIURL: hub.URL(), Token: token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	return &Channel{GitHub: c, Access: client.NewAccess(c, 0, tracker.IsMarked)}
}

func newPulled(t *testing.T) *pulled {
	t.Helper()
	const branch = "symphony/GH-1"
	hub := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})
	d := newChannel(t, hub)
	head := hub.ForcePush(branch, map[string]string{"cart.go": "package shop\n"})
	title, text, base, from := "A cart", "It has wheels.", "main", branch
	pull, err := d.GitHub.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Body: &text, Head: &from, Base: &base})
	if err != nil {
		t.Fatal(err)
	}
	hub.SetPermission("kim", "write")
	return &pulled{
		Channel: d, t: t, hub: hub, number: pull.GetNumber(),
		topic: Topic{ID: "1", PullRequest: PullRequest{Number: pull.GetNumber(), Branch: branch}, Head: head, Base: base},
	}
}

// poll reads the topic and returns what was said there, and the requests that it took, as
// "METHOD path".
func (p *pulled) poll() (pull *Pull, requests []string) {
	p.t.Helper()
	before := len(p.hub.Log())
	heard, warnings, err := p.Read(p.t.Context(), []Topic{p.topic})
	if err != nil || len(warnings) > 0 || heard["1"].Pull == nil {
		p.t.Fatal(heard, warnings, err)
	}
	return heard["1"].Pull, p.hub.Log()[before:]
}

// failed adds a job that failed, with a log.
func (p *pulled) failed(name string) {
	p.hub.SetCheck(p.topic.Head, githubtest.Check{Name: name, State: "FAILURE", Summary: "1 test", Log: "FAIL " + name + "\n"})
}

// count returns how many requests are of a path that has a part.
func count(requests []string, part string) (n int) {
	for _, r := range requests {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

func TestAnUnansweredPullRequestIsReadWholeOnce(t *testing.T) {
	t.Parallel()
	p := newPulled(t)
	p.hub.AddComment(p.number, "kim", "Paint it red.")
	p.failed("lint")
	p.failed("test")
	first, requests := p.poll()
	if len(first.Items) != 1 || len(first.Checks) != 2 || count(requests, "/logs") != 2 {
		t.Fatalf("%+v\n%v", first, requests)
	}
	for range 3 {
		again, requests := p.poll()
		if diff := cmp.Diff(first, again, cmp.AllowUnexported(Item{})); diff != "" {
			t.Error(diff)
		}
		// The status of the pull request, and whether the person may still write.
		if len(requests) != 2 || count(requests, "/graphql") != 1 || count(requests, "/collaborators/kim/permission") != 1 {
			t.Errorf("a poll without news asked %v", requests)
		}
	}
	p.hub.AddComment(p.number, "kim", "Or blue.")
	news, requests := p.poll()
	if len(news.Items) != 2 || len(news.Checks) != 2 || count(requests, "/logs") > 0 {
		t.Errorf("after a comment: %+v\n%v", news, requests)
	}
	p.topic.Since = news.Items[1].At
	if later, _ := p.poll(); len(later.Items) != 1 || later.Items[0].Text != "Or blue." {
		t.Errorf("since the second comment: %+v", later.Items)
	}
}

// A flood would otherwise be read again with each change of the conversation, of which the
// session of an issue sees many, and also after everything was answered.
func TestALongPullRequestIsReadWholeOnce(t *testing.T) {
	t.Parallel()
	const flood = 250
	p := newPulled(t)
	p.hub.AddReview(p.number, githubtest.Review{By: "kim", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "Why?"}}})
	early := p.hub.Threads(p.number)[0].ID
	firstReply := p.hub.ReplyInThread(early, "kim", "And how?")
	first := p.hub.AddComment(p.number, "kim", "Paint it red.")
	spam := githubtest.Review{By: "kim", Verdict: "COMMENTED", Body: "spam"}
	lines := spam
	for range flood {
		lines.Lines = append(lines.Lines, githubtest.LineComment{Path: "cart.go", Line: 1, Body: "spam"})
		p.hub.AddComment(p.number, "kim", "spam")
		p.hub.AddReview(p.number, spam)
		p.hub.ReplyInThread(early, "kim", "spam")
	}
	p.hub.AddReview(p.number, lines)
	read := func(what string, most int) {
		t.Helper()
		pull, requests := p.poll()
		if n := count(requests, "/graphql"); n > most {
			t.Errorf("%s: %d queries, want at most %d", what, n, most)
		}
		other := pulled{Channel: newChannel(t, p.hub), t: t, hub: p.hub, topic: p.topic}
		whole, _ := other.poll()
		byID := cmpopts.SortSlices(func(a, b Item) bool { return a.comment.ID < b.comment.ID })
		if diff := cmp.Diff(whole, pull, byID, cmp.AllowUnexported(Item{})); diff != "" {
			t.Fatalf("%s: other than what is there: %s", what, diff)
		}
	}
	read("the flood", 20)
	for n := range 2 {
		p.hub.AddComment(p.number, "kim", fmt.Sprint("comment ", n))
		read("a comment", 4)
		p.hub.AddReview(p.number, githubtest.Review{By: "kim", Verdict: "COMMENTED", Body: fmt.Sprint("review ", n), Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "line"}}})
		read("a review", 3)
		p.hub.ReplyInThread(early, "kim", fmt.Sprint("reply ", n))
		read("a reply in an early thread", 4)
	}
	p.hub.ResolveThread(early)
	p.hub.EditComment(first, "Paint it blue.")
	read("an edit of the first comment, and a resolved thread", 4)
	for n := range 150 {
		p.hub.AddComment(p.number, "kim", fmt.Sprint("more ", n))
		p.hub.ReplyInThread(early, "kim", "more")
	}
	read("150 comments and replies", 6)
	p.hub.EditComment(firstReply, "And when?")
	p.hub.AddComment(p.number, "kim", "the last")
	read("an edit of an early reply", 30)
	p.hub.AddComment(p.number, "kim", "the very last")
	read("a comment after it", 3)
	p.hub.DeleteComment(first)
	read("the first comment deleted", 30)
	p.hub.DeleteComment(firstReply)
	p.hub.AddComment(p.number, "kim", "really the last")
	read("an early reply deleted", 10)
	answered := p.kept[p.topic.PullRequest].status
	p.topic.Pull = answered
	if _, requests := p.poll(); count(requests, "/graphql") > 1 {
		t.Errorf("after an answer: %v", requests)
	}
	p.hub.AddComment(p.number, "kim", "One more.")
	read("a comment after everything was answered", 3)
}

func TestAPermissionThatWasTakenAwayCountsForWhatWasReadBefore(t *testing.T) {
	t.Parallel()
	p := newPulled(t)
	p.hub.AddComment(p.number, "kim", "Paint it red.")
	if pull, _ := p.poll(); pull.Items[0].comment.Distrust != "" || pull.Items[0].Text == "" {
		t.Fatalf("%+v", pull.Items)
	}
	p.hub.SetPermission("kim", "read")
	if pull, _ := p.poll(); pull.Items[0].comment.Distrust != "kim has no write access" || pull.Items[0].Text != "" {
		t.Errorf("%+v", pull.Items)
	}
	p.hub.SetPermission("kim", "write")
	if pull, _ := p.poll(); pull.Items[0].comment.Distrust != "" || pull.Items[0].Text != "Paint it red." {
		t.Errorf("%+v", pull.Items)
	}
}

func TestWhileOtherChecksRunNoLogIsReadTwice(t *testing.T) {
	t.Parallel()
	p := newPulled(t)
	p.failed("lint")
	runs := p.hub.SetCheck(p.topic.Head, githubtest.Check{Name: "test", State: "IN_PROGRESS", Log: "FAIL test\n"})
	if pull, requests := p.poll(); pull.Running != 1 || len(pull.Checks) != 1 || count(requests, "/logs") != 1 {
		t.Fatalf("%+v\n%v", pull, requests)
	}
	for range 2 { // the status does not tell when the other ends
		if pull, requests := p.poll(); pull.Running != 1 || len(pull.Checks) != 1 || len(requests) != 2 || count(requests, "/graphql") != 2 {
			t.Errorf("%+v\n%v", pull, requests)
		}
	}
	p.hub.FinishCheck(runs, "FAILURE")
	pull, requests := p.poll()
	if pull.Running != 0 || len(pull.Checks) != 2 || count(requests, "/logs") != 1 {
		t.Fatalf("after the end: %+v\n%v", pull, requests)
	}
	for i, name := range []string{"lint", "test"} {
		if c := pull.Checks[i]; !strings.Contains(c.Name, name) || !strings.Contains(c.Output, "FAIL "+name) {
			t.Errorf("%+v", c)
		}
	}
	if _, requests := p.poll(); len(requests) != 1 {
		t.Errorf("when all have ended: %v", requests)
	}
}

func TestALogThatWasNotThereYetIsAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPulled(t)
	p.hub.SetCheck(p.topic.Head, githubtest.Check{Name: "lint", State: "FAILURE"})
	for range 2 {
		if pull, requests := p.poll(); !strings.Contains(pull.Checks[0].Output, "not yet") || count(requests, "/logs") != 1 {
			t.Errorf("%+v\n%v", pull.Checks, requests)
		}
	}
}

func TestOnlyThePullRequestsOfTheTopicsAreKept(t *testing.T) {
	t.Parallel()
	p := newPulled(t)
	p.hub.AddComment(p.number, "kim", "Paint it red.")
	p.poll()
	status := p.kept[p.topic.PullRequest].status
	if len(p.kept) != 1 || status == "" {
		t.Fatalf("%+v", p.kept)
	}
	p.topic.Pull = status // answered
	if p.poll(); len(p.kept) != 1 {
		t.Error("not kept for what is said next")
	}
	long := PullRequest{Number: 99}
	p.kept[long] = reading{said: client.PullDiscussion{Comments: []client.PullComment{{Text: strings.Repeat("x", maxKept/2)}}}}
	if p.forget([]Topic{p.topic, {PullRequest: long, Pull: "older"}}); len(p.kept) != 1 || p.kept[long].said.Comments == nil {
		t.Errorf("%d are kept, want only the one that has news when there is little room", len(p.kept))
	}
	p.topic.Pull = ""
	p.poll()
	if _, _, err := p.Read(t.Context(), []Topic{{ID: "2"}}); err != nil || len(p.kept) != 0 {
		t.Errorf("kept without a topic: %+v, %v", p.kept, err)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	var d Channel
	long := client.PullDiscussion{Comments: []client.PullComment{{Text: strings.Repeat("x", maxKept/4)}}}
	for n := range 10 {
		d.keep(PullRequest{Number: n}, reading{said: long})
	}
	if len(d.kept) != 3 {
		t.Errorf("%d readings of a quarter of the bound are kept", len(d.kept))
	}
	d.keep(PullRequest{Number: 1}, reading{status: "new"})
	if d.kept[PullRequest{Number: 1}].status != "new" || len(d.kept) != 3 {
		t.Errorf("a short one does not replace a long one: %d", len(d.kept))
	}
}
