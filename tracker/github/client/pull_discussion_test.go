package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// discussion returns what is said about a pull request.
func discussion(t *testing.T, c *client.Client, number int) client.PullDiscussion {
	t.Helper()
	d, err := c.Pulls.Discussion(t.Context(), status(t, c, number).Node, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// at returns the time of an event of the server: the n-th is n minutes after noon.
func at(n int) time.Time { return time.Date(2026, 3, 1, 12, n, 0, 0, time.UTC) }

func TestADiscussionHasCommentsReviewsAndThreads(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1") // event 1
	g.AddComment(n, "kim", "Why?")
	g.AddComment(n, "dependabot[bot]", "Bump.")
	g.AddComment(n, "", "I am gone.")
	if err := c.Issues.AddComment(t.Context(), n, "I am at it."); err != nil {
		t.Fatal(err)
	}
	g.AddReview(n, githubtest.Review{By: "lee", Verdict: "CHANGES_REQUESTED", Body: "Please:", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 3, Body: "nil?"}}}) // 6 to 8
	g.ReplyInThread(g.Threads(n)[0].ID, "kim", "I think so too.")
	g.Approve(n, "kim") // 10 and 11
	page := g.CloneURL() + "/pull/1"
	kim, lee := client.Account{Type: "User", Login: "kim"}, client.Account{Type: "User", Login: "lee"}
	want := client.PullDiscussion{
		Comments: []client.PullComment{
			{Author: kim, Text: "Why?", At: at(2)},
			{Author: client.Account{Type: "Bot", Login: "dependabot"}, Text: "Bump.", At: at(3)},
			{Text: "I am gone.", At: at(4)},
			{Author: client.Account{Type: "Bot", Login: "github-actions"}, Ours: true, Text: "I am at it.", At: at(5)},
		},
		// The comments of a review were created before it was published.
		Reviews: []client.PullReview{
			{PullComment: client.PullComment{Author: lee, Text: "Please:", At: at(8)}, Verdict: "CHANGES_REQUESTED"},
			{PullComment: client.PullComment{Author: kim, At: at(11)}, Verdict: "APPROVED"},
		},
		Threads: []client.ReviewThread{{
			Path: "cart.go", Line: 3, Code: "@@ -0,0 +1,10 @@\n+line 1\n+line 2\n+line 3",
			Comments: []client.PullComment{{Author: lee, Text: "nil?", At: at(8)}, {Author: kim, Text: "I think so too.", At: at(9)}},
		}},
	}
	got := discussion(t, c, n)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(client.PullComment{}, "Node", "URL"), cmpopts.IgnoreFields(client.ReviewThread{}, "Node"), cmpopts.IgnoreUnexported(client.PullDiscussion{}, client.ReviewThread{})); diff != "" {
		t.Error(diff)
	}
	for _, comment := range append(slices.Clone(got.Comments), got.Reviews[0].PullComment, got.Threads[0].Comments[0]) {
		if comment.Node == "" || !strings.HasPrefix(comment.URL, page+"#") {
			t.Errorf("%+v", comment)
		}
	}
}

func TestAnEditMovesACommentAndADeletionRemovesIt(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	first, second := g.AddComment(n, "kim", "Why?"), g.AddComment(n, "kim", "Please.")
	review := g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Body: "Hm.", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 3, Body: "nil?"}, {Path: "cart.go", Line: 4, Body: "zero?"}}}) // 4 to 7
	d := discussion(t, c, n)
	g.EditComment(first, "Why not?")                    // 8
	g.EditComment(review, "Hmm.")                       // 9
	g.EditComment(d.Threads[0].Comments[0].Node, "No.") // 10
	g.DeleteComment(second)
	g.DeleteComment(d.Threads[1].Comments[0].Node)
	d = discussion(t, c, n)
	if len(d.Comments) != 1 || len(d.Reviews) != 1 || len(d.Threads) != 1 {
		t.Fatalf("%+v", d)
	}
	for i, got := range []client.PullComment{d.Comments[0], d.Reviews[0].PullComment, d.Threads[0].Comments[0]} {
		if !got.Edited || !got.At.Equal(at(8+i)) || got.Text != []string{"Why not?", "Hmm.", "No."}[i] {
			t.Errorf("%+v", got)
		}
	}
}

// flood has strangers say so much in each list of a pull request.
func flood(g *githubtest.GitHub, number, count int) {
	thread := g.Threads(number)[0].ID
	for n := range count {
		g.AddComment(number, "mallory", "spam")
		g.ReplyInThread(thread, "mallory", "spam")
		review := githubtest.Review{By: "mallory", Verdict: "COMMENTED", Body: "spam"}
		if n == 0 {
			for range count {
				review.Lines = append(review.Lines, githubtest.LineComment{Path: "cart.go", Line: 2, Body: "spam"})
			}
		}
		g.AddReview(number, review)
	}
}

func TestAFloodOfStrangersPushesNothingOutOfADiscussion(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	before := g.AddComment(n, "kim", "before")
	g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Body: "a review", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "a line"}}})
	g.ReplyInThread(g.Threads(n)[0].ID, "kim", "a reply")
	g.AddComment(n, "kim", "a comment")
	since := discussion(t, c, n).Reviews[0].At
	flood(g, n, 250)
	g.EditComment(before, "edited")
	g.AddComment(n, "kim", "the last")
	node := status(t, c, n).Node
	g.Asked()
	d, err := c.Pulls.Discussion(t.Context(), node, since)
	if err != nil || d.Extent != client.Whole {
		t.Fatal(d.Extent, err)
	}
	var said []string
	note := func(c client.PullComment) {
		if c.Author.Login != "mallory" {
			said = append(said, c.Text)
		}
	}
	for _, one := range d.Comments {
		note(one)
	}
	for _, one := range d.Reviews {
		note(one.PullComment)
	}
	for _, thread := range d.Threads {
		for _, one := range thread.Comments {
			note(one)
		}
	}
	if diff := cmp.Diff([]string{"a comment", "edited", "the last", "a review", "a line", "a reply"}, said); diff != "" {
		t.Error(diff)
	}
	if asked := g.Asked()[githubtest.GraphQL]; asked != 1+2+2+2+2 {
		t.Errorf("asked %d times: want once, and twice more for each of four lists", asked)
	}
	if again, err := c.Pulls.Discussion(t.Context(), node, d.Comments[len(d.Comments)-1].At); err != nil || len(again.Comments) > 100 {
		t.Errorf("%d comments, %v", len(again.Comments), err)
	}
	if asked := g.Asked()[githubtest.GraphQL]; asked != 1+2 {
		t.Errorf("asked %d times when nothing was said since: want once, and twice more for the threads", asked)
	}
}

func TestADiscussionThatWouldCostTooManyRequestsIsReadLater(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	other, _ := openPull(t, g, c, "symphony/GH-2")
	for i := range 10_100 {
		g.AddComment(n, "mallory", fmt.Sprint("spam ", i))
	}
	for range 101 {
		g.AddComment(other, "mallory", "spam")
	}
	first, second := status(t, c, n).Node, status(t, c, other).Node
	g.Asked()
	d, err := c.Pulls.Discussion(t.Context(), first, time.Time{})
	if err != nil || d.Extent != client.Omits || len(d.Comments) != 10_000 || d.Comments[0].Text != "spam 100" {
		t.Errorf("%d comments, extent %d, %v: want the newest 10,000", len(d.Comments), d.Extent, err)
	}
	if d, err = c.Pulls.Discussion(t.Context(), first, d.Comments[9_999].At); err != nil || d.Extent != client.Whole {
		t.Errorf("extent %d, %v: the newest page is read whatever was read before", d.Extent, err)
	}
	c.Pulls.Discussion(t.Context(), second, time.Time{}) // takes the last page of these minutes
	d, err = c.Pulls.Discussion(t.Context(), second, time.Time{})
	if err != nil || d.Extent != client.Postponed || len(d.Comments) > 0 {
		t.Errorf("%d comments, extent %d, %v: want none", len(d.Comments), d.Extent, err)
	}
	if asked := g.Asked()[githubtest.GraphQL]; asked != 100+1+2+1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestADiscussionOfLongTextsIsReadInParts(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	long := strings.Repeat("spam ", 1_000)
	var lines []githubtest.LineComment
	for range 12 {
		lines = append(lines, githubtest.LineComment{Path: "cart.go", Line: 1, Body: long})
	}
	g.AddReview(n, githubtest.Review{By: "mallory", Verdict: "COMMENTED", Body: long, Lines: lines})
	for _, thread := range g.Threads(n) {
		for range 12 {
			g.ReplyInThread(thread.ID, "mallory", long)
		}
	}
	for range 40 {
		g.AddComment(n, "mallory", long)
	}
	g.AddComment(n, "kim", "the last")
	node := status(t, c, n).Node
	c.Transport.MaxAnswer = 300_000
	d, err := c.Pulls.Discussion(t.Context(), node, time.Time{})
	if err != nil || d.Extent != client.Whole || len(d.Comments) != 41 || len(d.Threads) != 12 || len(d.Threads[0].Comments) != 13 {
		t.Errorf("%d comments, %d threads, %v: want all", len(d.Comments), len(d.Threads), err)
	}
	c.Transport.MaxAnswer = 3_000
	if _, err := c.Pulls.Discussion(t.Context(), node, time.Time{}); !errors.Is(err, transport.ErrTooLong) {
		t.Errorf("%v: want an answer that is too long even for the smallest part", err)
	}
}

func TestOlderThreadsOfLongTextsAreReadAgainInParts(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	review := githubtest.Review{By: "mallory", Verdict: "COMMENTED"}
	for range 600 {
		review.Lines = append(review.Lines, githubtest.LineComment{Path: "cart.go", Line: 1, Body: strings.Repeat("spam ", 40)})
	}
	g.AddReview(n, review)
	before := status(t, c, n)
	last, err := c.Pulls.UpdateDiscussion(t.Context(), client.PullDiscussion{}, before, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	threads := g.Threads(n)
	g.ReplyInThread(threads[0].ID, "kim", "the last")
	g.ResolveThread(threads[0].ID)
	g.ReplyInThread(threads[7].ID, "kim", "the very last")
	now := status(t, c, n)
	want, err := c.Pulls.Discussion(t.Context(), now.Node, time.Time{})
	if err != nil || len(want.Threads) != 600 || !want.Threads[0].Resolved {
		t.Fatalf("%d threads, %v", len(want.Threads), err)
	}
	c.Transport.MaxAnswer = 60_000
	g.Asked()
	got, err := c.Pulls.UpdateDiscussion(t.Context(), last, now, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if asked := g.Asked()[githubtest.GraphQL]; asked > 25 {
		t.Errorf("asked %d times", asked)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(client.PullDiscussion{}, client.ReviewThread{})); diff != "" {
		t.Error(diff)
	}
}

func TestTheProgramsCommentIsFoundAmongLongOnes(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	on := client.Thread{Node: status(t, c, n).Node, Number: n}
	if created, err := c.Issues.SetComment(t.Context(), on, "<!-- mark -->", "one"); err != nil || !created {
		t.Fatalf("created %t, %v", created, err)
	}
	for range 40 {
		g.AddComment(n, "mallory", strings.Repeat("spam ", 1_000))
	}
	c.Transport.MaxAnswer = 60_000
	if created, err := c.Issues.SetComment(t.Context(), on, "<!-- mark -->", "two"); err != nil || created {
		t.Errorf("created %t, %v: want the comment edited that is there", created, err)
	}
}

func TestTheStatusesOfIssuesWithLongCommentsAreReadInParts(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	var numbers []int
	for range 9 {
		n := g.AddIssue(githubtest.Issue{Title: "One"})
		for range 5 {
			g.AddComment(n, "mallory", strings.Repeat("spam ", 1_000))
		}
		numbers = append(numbers, n)
	}
	c.Transport.MaxAnswer = 60_000
	statuses, err := c.Issues.Statuses(t.Context(), numbers)
	if err != nil || len(statuses) != len(numbers) || len(statuses[numbers[8]].Latest) != 5 {
		t.Errorf("%d statuses, %v: want all", len(statuses), err)
	}
}

func TestAFloodOfEveryListOfADiscussionIsReadTheFirstTime(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	for range 6_000 {
		g.AddComment(n, "mallory", "spam")
		g.AddReview(n, githubtest.Review{By: "mallory", Verdict: "COMMENTED", Body: "spam"})
	}
	d, err := c.Pulls.Discussion(t.Context(), status(t, c, n).Node, time.Time{})
	if err != nil || d.Extent != client.Whole || len(d.Comments) != 6_000 || len(d.Reviews) != 6_000 {
		t.Errorf("%d comments, %d reviews, extent %d, %v: want all", len(d.Comments), len(d.Reviews), d.Extent, err)
	}
}

func TestAThreadFollowsItsLineUntilThatIsGone(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 3, Body: "nil?"}}})
	type place struct {
		line     int
		outdated bool
	}
	for _, step := range []struct {
		name, content string
		want          place
	}{
		{"with two lines before it", "new 1\nnew 2\n" + lines(10), place{5, false}},
		{"with a line less before it", strings.TrimPrefix(lines(10), "line 1\n"), place{2, false}},
		{"deleted", strings.Replace(lines(10), "line 3\n", "", 1), place{3, true}},
		{"changed", strings.Replace(lines(10), "line 3\n", "line three\n", 1), place{3, true}},
		{"with its file gone", "", place{3, true}},
	} {
		files := map[string]string{"main.go": "package main\n", "other.go": "package main\n"}
		if step.content != "" {
			files["cart.go"] = step.content
		}
		g.ForcePush("symphony/GH-1", files)
		if r := discussion(t, c, n).Threads[0]; (place{r.Line, r.Outdated}) != step.want || r.Path != "cart.go" || !strings.HasSuffix(r.Code, "+line 3") {
			t.Errorf("%s: %+v, want %+v", step.name, r, step.want)
		}
	}
}

// TestALineThatIsGoneMakesAThreadOutdated is about an answer that does not say so itself.
func TestALineThatIsGoneMakesAThreadOutdated(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	const of = `{"data": {"node": {"id": "PR_1", "reviewThreads": {"nodes": [null, {"id": "PRRT_1", "path": "cart.go", %s, "isOutdated": false,
		"comments": {"nodes": [null, {"id": "PRRC_1", "publishedAt": "2026-03-01T12:00:00Z"}, {"id": "draft", "publishedAt": null}]}}]}}}}`
	for lines, want := range map[string]client.ReviewThread{
		`"line": null, "originalLine": 7`:    {Line: 7, Outdated: true},
		`"line": 9, "originalLine": 7`:       {Line: 9},
		`"line": null, "originalLine": null`: {}, // of the file as a whole
	} {
		g.Fail(githubtest.GraphQL, storetest.Fault{Body: fmt.Sprintf(of, lines), Header: http.Header{"Content-Type": {"application/json"}}})
		d, err := c.Pulls.Discussion(t.Context(), "PR_1", time.Time{})
		if err != nil || len(d.Threads) != 1 || len(d.Threads[0].Comments) != 1 {
			t.Fatalf("%s: %+v, %v", lines, d, err)
		}
		if r := d.Threads[0]; r.Line != want.Line || r.Outdated != want.Outdated {
			t.Errorf("%s: %+v", lines, r)
		}
	}
}

func TestADiscussionOfWhatIsNoPullRequestIsAnError(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	g.AddIssue(githubtest.Issue{Title: "No pull request"})
	for _, node := range []string{"I_1", "PR_7", ""} {
		if d, err := c.Pulls.Discussion(t.Context(), node, time.Time{}); !client.HasStatus(err, http.StatusNotFound) {
			t.Errorf("%q: %+v, %v", node, d, err)
		}
	}
}

func TestAThreadIsAnsweredAndResolved(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 3, Body: "nil?"}}})
	thread := discussion(t, c, n).Threads[0].Node
	if err := c.Pulls.Reply(t.Context(), thread, "It is checked now."); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := c.Pulls.Resolve(t.Context(), thread); err != nil {
			t.Error(err)
		}
	}
	want := []githubtest.Thread{{
		ID: thread, Path: "cart.go", Line: 3, Resolved: true,
		Comments: []githubtest.Comment{{Author: "lee", Body: "nil?"}, {Author: "github-actions", Body: "It is checked now."}},
	}}
	if diff := cmp.Diff(want, g.Threads(n)); diff != "" {
		t.Error(diff)
	}
	if r := discussion(t, c, n).Threads[0]; !r.Resolved || !r.Comments[1].Ours {
		t.Errorf("%+v", r)
	}
	g.FailNth(1, storetest.Fault{Lose: true})
	err := c.Pulls.Reply(t.Context(), thread, "Once.")
	if e, ok := errors.AsType[*transport.Error](err); !ok || !e.InDoubt() || len(g.Threads(n)[0].Comments) != 3 {
		t.Errorf("with a lost answer: %v, %+v", err, g.Threads(n)[0].Comments)
	}
	g.Deny("pull-requests: write")
	for name, do := range map[string]func(thread string) error{
		"reply":   func(thread string) error { return c.Pulls.Reply(t.Context(), thread, "More.") },
		"resolve": func(thread string) error { return c.Pulls.Resolve(t.Context(), thread) },
	} {
		if err := do(thread); !client.HasStatus(err, http.StatusForbidden) || !strings.Contains(err.Error(), "pull-requests: write") {
			t.Errorf("%s without the permission: %v", name, err)
		}
	}
}

func TestAReactionIsMadeOnce(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	issue := g.AddIssue(githubtest.Issue{Title: "Carts forget"})
	review := g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Body: "/symphony retry", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 3, Body: "nil?"}}})
	line := discussion(t, c, n).Threads[0].Comments[0].Node
	for _, node := range []string{g.AddComment(issue, "kim", "/symphony stop"), g.AddComment(n, "kim", "/symphony stop"), review, line} {
		for range 2 {
			if err := c.Issues.React(t.Context(), node, "THUMBS_UP"); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]githubtest.Reaction{{By: "github-actions", Content: "THUMBS_UP"}}, g.Reactions(node)); diff != "" {
			t.Errorf("%s: %s", node, diff)
		}
	}
}

func TestAnAnswerToWhatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	_, c := newPulls(t)
	for name, do := range map[string]func() error{
		"reply":   func() error { return c.Pulls.Reply(t.Context(), "PRRT_7", "More.") },
		"resolve": func() error { return c.Pulls.Resolve(t.Context(), "PRRT_7") },
		"react":   func() error { return c.Issues.React(t.Context(), "IC_7", "EYES") },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "GitHub does not find the") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
