package client_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const pullToken = "ghs_0123456789abcdefPULLS"

// newPulls returns a GitHub with these files on main, and a client of it.
func newPulls(t *testing.T) (*githubtest.GitHub, *client.Client) {
	t.Helper()
	g := githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: pullToken})
	c, err := client.New(client.Config{Repo: g.Repo(), APIURL: g.URL(), Token: pullToken}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	return g, c
}

// lines returns a file with numbered lines.
func lines(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	return text.String()
}

// openPull opens a pull request of a branch that adds cart.go with ten lines, and returns
// its number and its head.
func openPull(t *testing.T, g *githubtest.GitHub, c *client.Client, branch string) (int, string) {
	t.Helper()
	head := g.ForcePush(branch, map[string]string{"main.go": "package main\n", "cart.go": lines(10)})
	title, text, base := "A cart", "It has wheels.", "main"
	pull, err := c.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Body: &text, Head: &branch, Base: &base})
	if err != nil {
		t.Fatal(err)
	}
	return pull.GetNumber(), head
}

// status returns how a pull request stands, which the token may see.
func status(t *testing.T, c *client.Client, number int) client.PullStatus {
	t.Helper()
	statuses, lacks, err := c.Pulls.Statuses(t.Context(), []int{number})
	if err != nil || len(lacks) > 0 || len(statuses) != 1 {
		t.Fatalf("%+v, %v, %v", statuses, lacks, err)
	}
	return statuses[number]
}

// isSame reports whether statuses show that nothing has happened.
func isSame(a, b client.PullStatus) bool {
	return cmp.Equal(a, b, cmpopts.IgnoreFields(client.PullStatus{}, "Lines"))
}

func TestAHundredPullRequestsAreOneRequest(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	first, _ := openPull(t, g, c, "symphony/GH-1")
	issue := g.AddIssue(githubtest.Issue{Title: "No pull request"})
	second, _ := openPull(t, g, c, "symphony/GH-2")
	numbers := []int{second, first, second, issue}
	for n := range 197 {
		numbers = append(numbers, 1000+n)
	}
	g.Asked()
	statuses, lacks, err := c.Pulls.Statuses(t.Context(), numbers)
	if err != nil || lacks != nil || !slices.Equal(slices.Sorted(maps.Keys(statuses)), []int{first, second}) {
		t.Errorf("%v, %v, %v", statuses, lacks, err)
	}
	if diff := cmp.Diff(map[storetest.Op]int{githubtest.GraphQL: 2}, g.Asked()); diff != "" {
		t.Error(diff)
	}
	if statuses, _, err := c.Pulls.Statuses(t.Context(), nil); err != nil || len(statuses) != 0 || len(g.Asked()) != 0 {
		t.Errorf("of no pull request: %v, %v", statuses, err)
	}
}

func TestADraftFromTheStartHasNobodyWhoMadeItOne(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	opened, _ := openPull(t, g, c, "symphony/GH-1")
	g.Git("update-ref", "refs/heads/symphony/GH-2", "refs/heads/symphony/GH-1")
	title, head, base, draft := "Cart", "symphony/GH-2", "main", true
	pull, err := c.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Head: &head, Base: &base, Draft: &draft})
	if err != nil {
		t.Fatal(err)
	}
	if s := status(t, c, pull.GetNumber()); !s.Draft || s.Drafted != "" {
		t.Errorf("opened as a draft: %+v", s)
	}
	g.ConvertToDraft(opened)
	if s := status(t, c, opened); !s.Draft || s.Drafted != githubtest.Member {
		t.Errorf("made a draft: %+v", s)
	}
}

func TestEveryEditIsSeenInTheStatus(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	other, _ := openPull(t, g, c, "symphony/GH-2")
	review := g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Body: "Hm.", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "a"}}})
	reply := g.ReplyInThread(g.Threads(n)[0].ID, "kim", "b")
	quiet := status(t, c, other)
	for name, id := range map[string]string{"a comment": g.AddComment(n, "kim", "Why?"), "a review": review, "a comment of a review": reply} {
		before := status(t, c, n)
		if again := status(t, c, n); !isSame(again, before) {
			t.Errorf("%s: the status is another one without an edit:\n%+v\n%+v", name, before, again)
		}
		g.EditComment(id, "Not so.")
		if after := status(t, c, n); isSame(after, before) {
			t.Errorf("%s: the status is the same after an edit: %+v", name, after)
		}
	}
	if now := status(t, c, other); !isSame(now, quiet) {
		t.Errorf("the edits are told of another pull request:\n%+v\n%+v", quiet, now)
	}
}

func TestAPullRequestTellsHowItStands(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, head := openPull(t, g, c, "symphony/GH-1")
	g.Git("update-ref", "refs/heads/next", "refs/heads/main")
	want := client.PullStatus{
		Node: "PR_1", Number: n, URL: g.CloneURL() + "/pull/1", State: "OPEN", Head: head, HeadRef: "symphony/GH-1", Base: "main", Mergeable: "MERGEABLE",
	}
	last := client.PullStatus{}
	for _, step := range []struct {
		name string
		do   func()
		want func()
	}{
		{"opened", func() {}, func() {}},
		{"a comment", func() { g.AddComment(n, "kim", "Why?") }, func() { want.Comments++ }},
		{"a review of two lines", func() {
			g.AddReview(n, githubtest.Review{By: "lee", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "a"}, {Path: "cart.go", Line: 2, Body: "b"}}})
		}, func() { want.Reviews++; want.Threads += 2 }},
		{"a draft", func() { g.ConvertToDraft(n) }, func() { want.Draft, want.Drafted = true, githubtest.Member }},
		{"retargeted", func() { g.Retarget(n, "next") }, func() { want.Base = "next" }},
		{"force-pushed", func() { head = g.ForcePush("symphony/GH-1", map[string]string{"main.go": "package shop\n"}) }, func() { want.Head = head }},
		{"in conflict", func() { g.Commit("next", map[string]string{"main.go": "package store\n"}) }, func() { want.Mergeable = "CONFLICTING" }},
		{"a cancelled check", func() { g.SetCheck(head, githubtest.Check{Name: "test", State: "CANCELLED"}) }, func() { want.Checks = "FAILURE" }},
		{"a failed check", func() { g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE"}) }, func() { want.Failed = 1 }},
		{"a failed status", func() { g.SetCheck(head, githubtest.Check{Status: true, Name: "legal", State: "ERROR"}) }, func() { want.Failed = 2 }},
		{"closed", func() { g.ClosePull(n, "lee") }, func() { want.State, want.By, want.Mergeable = "CLOSED", "lee", "UNKNOWN" }},
		{"reopened", func() { g.ReopenPull(n) }, func() { want.State, want.By, want.Mergeable = "OPEN", "", "CONFLICTING" }},
		{"without its branch", func() { g.Delete("symphony/GH-1") }, func() { want.State, want.By, want.Mergeable = "CLOSED", githubtest.Member, "UNKNOWN" }},
	} {
		step.do()
		step.want()
		got := status(t, c, n)
		if got.Ended.IsZero() != (want.State == "OPEN") {
			t.Errorf("%s: it ended at %v", step.name, got.Ended)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(client.PullStatus{}, "Updated", "Ended", "Edited", "Lines")); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if isSame(got, last) {
			t.Errorf("%s: the status is the same as before", step.name)
		}
		last = got
	}
}

func TestAMergedPullRequestKeepsItsHeadAndNamesWhoMergedIt(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, head := openPull(t, g, c, "symphony/GH-1")
	g.Merge(n, "lee")
	if s := status(t, c, n); s.State != "MERGED" || s.By != "lee" || s.Head != head || s.HeadRef != "symphony/GH-1" {
		t.Errorf("%+v", s)
	}
}

// TestAnEditedOrDeletedCommentMovesTheStatus covers what moves the time of no pull
// request.
func TestAnEditedOrDeletedCommentMovesTheStatus(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, _ := openPull(t, g, c, "symphony/GH-1")
	old, id := g.AddComment(n, "kim", "Why?"), g.AddComment(n, "kim", "Please.")
	before := status(t, c, n)
	g.EditComment(old, "Why not?")
	edited := status(t, c, n)
	if isSame(edited, before) || !edited.Edited.After(before.Edited) || edited.Updated != before.Updated {
		t.Errorf("before %+v, edited %+v", before, edited)
	}
	g.DeleteComment(id)
	if deleted := status(t, c, n); isSame(deleted, edited) || deleted.Comments != 1 {
		t.Errorf("edited %+v, deleted %+v", edited, deleted)
	}
}

func TestPullRequestsAreReadWithoutTheChecksThatTheTokenMayNotSee(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	n, head := openPull(t, g, c, "symphony/GH-1")
	g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE"})
	g.Deny("checks: read")
	g.Deny("statuses: read")
	statuses, lacks, err := c.Pulls.Statuses(t.Context(), []int{n})
	if err != nil || statuses[n].Head != head || statuses[n].Checks != "" {
		t.Errorf("%+v, %v", statuses, err)
	}
	if len(lacks) != 1 || !strings.Contains(lacks[0].Error(), "may not read checks and commit statuses: write `permissions: {checks: read, statuses: read}`") {
		t.Errorf("lacks %v", lacks)
	}
	g.Deny("pull-requests: read")
	if _, _, err := c.Pulls.Statuses(t.Context(), []int{n}); !client.HasStatus(err, http.StatusForbidden) || !strings.Contains(err.Error(), "permissions: {pull-requests: read}") {
		t.Errorf("without the pull requests: %v", err)
	}
}

// TestARepositoryThatIsNotSeenIsNoRepositoryWithoutPullRequests is about a token that
// lost its access: nothing may look merged or gone.
func TestARepositoryThatIsNotSeenIsNoRepositoryWithoutPullRequests(t *testing.T) {
	t.Parallel()
	g, _ := newPulls(t)
	c, err := client.New(client.Config{Repo: "acme/other", APIURL: g.URL(), Token: pullToken}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if statuses, _, err := c.Pulls.Statuses(t.Context(), []int{1}); !client.HasStatus(err, http.StatusNotFound) || !strings.Contains(err.Error(), "acme/other is unknown") {
		t.Errorf("%v, %v", statuses, err)
	}
	if _, err := c.Checks.Failed(t.Context(), g.Head("main"), ""); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("the checks: %v", err)
	}
	if err := c.Git.DeleteBranchAt(t.Context(), "symphony/GH-1", g.Head("main")); !client.HasStatus(err, http.StatusNotFound) {
		t.Errorf("the branch: %v", err)
	}
}

// A server that ignores ?head= answers with all pull requests. That of a fork which its owner
// has deleted has no repository.
func TestAPullRequestOfADeletedForkIsNotOurs(t *testing.T) {
	t.Parallel()
	const answer = `[{"number": 3, "state": "open", "head": {"ref": "symphony/GH-1", "repo": null}},
		{"number": 2, "state": "open", "head": {"ref": "symphony/GH-1", "repo": {"full_name": "mallory/shop"}}},
		{"number": 1, "state": "open", "head": {"ref": "symphony/GH-1", "repo": {"full_name": "Acme/shop"}}}]`
	pulls, err := newServer(t, 200, nil, answer).client(t).Pulls.OfBranch(t.Context(), "symphony/GH-1")
	if err != nil || len(pulls) != 1 || pulls[0].GetNumber() != 1 {
		t.Errorf("%v, %v", pulls, err)
	}
}

func TestABranchIsDeletedOnlyWhereItIsToBe(t *testing.T) {
	t.Parallel()
	g, c := newPulls(t)
	main := g.Head("main")
	const branch = "symphony/GH-1"
	head := g.ForcePush(branch, map[string]string{"cart.go": "package cart\n"})
	if err := c.Git.DeleteBranchAt(t.Context(), branch, main); !errors.Is(err, client.ErrBranchMoved) || g.Head(branch) != head {
		t.Errorf("at another commit: %v, at %s", err, g.Head(branch))
	}
	pushed := ""
	g.FailNth(2, storetest.Fault{Before: func() { pushed = g.Commit(branch, map[string]string{"wheel.go": "package cart\n"}) }})
	if err := c.Git.DeleteBranchAt(t.Context(), branch, head); !errors.Is(err, client.ErrBranchMoved) || g.Head(branch) != pushed {
		t.Errorf("while somebody pushes: %v, at %s", err, g.Head(branch))
	}
	g.FailNth(2, storetest.Fault{Lose: true})
	if err := c.Git.DeleteBranchAt(t.Context(), branch, pushed); err != nil || g.Head(branch) != "" {
		t.Errorf("with a lost answer: %v, at %s", err, g.Head(branch))
	}
	if err := c.Git.DeleteBranchAt(t.Context(), branch, pushed); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	g.ForcePush(branch, map[string]string{"cart.go": "package cart\n"})
	g.Deny("contents: write")
	if err := c.Git.DeleteBranchAt(t.Context(), branch, g.Head(branch)); !client.HasStatus(err, http.StatusForbidden) || !strings.Contains(err.Error(), "contents: write") {
		t.Errorf("without the permission: %v", err)
	}
}
