package githubtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// openOne opens a pull request of a branch that adds three lines.
func openOne(t *testing.T, g *githubtest.GitHub, c *client.Client) (number int, head string) {
	t.Helper()
	head = g.ForcePush("symphony/GH-1", map[string]string{"cart.go": "a\nb\nc\n"})
	pull, err := open(t.Context(), c, "symphony/GH-1")
	if err != nil {
		t.Fatal(err)
	}
	return pull.GetNumber(), head
}

func TestAMembershipIsHiddenUntilItIsShown(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	const theirs = "ghp_0123456789abcdefMEMBER"
	g.SetAccount(theirs, githubtest.Member)
	c, err := client.New(client.Config{Repo: g.Repo(), APIURL: g.URL(), Token: theirs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := g.AddIssue(githubtest.Issue{Title: "Carts forget"})
	association := func() string {
		a, err := c.Do(t.Context(), client.Request{Path: c.Path("/issues/%d", n)})
		var issue struct {
			Association string `json:"author_association"`
		}
		if err == nil {
			err = c.Decode(a, &issue)
		}
		if err != nil {
			t.Fatal(err)
		}
		return issue.Association
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "NONE"},
		{func() { pull, _ := openOne(t, g, c); g.Merge(pull) }, "CONTRIBUTOR"},
		{func() { g.ShowMembership(githubtest.Member) }, "MEMBER"},
	} {
		step.do()
		if got := association(); got != step.want {
			t.Errorf("the author is %s, want %s", got, step.want)
		}
	}
}

func TestTheTimeOfAPullRequestMovesAsTheDocumentationSays(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	c := newClient(t, g)
	n, head := openOne(t, g, c)
	comment := g.AddComment(n, "kim", "Why?")
	line := githubtest.Review{By: "lee", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 2, Body: "b?"}}}
	review := g.AddReview(n, line)
	thread := g.Threads(n)[0].ID
	updated := func() time.Time {
		t.Helper()
		statuses, _, err := c.Pulls.Statuses(t.Context(), []int{n})
		if err != nil {
			t.Fatal(err)
		}
		return statuses[n].Updated
	}
	for _, step := range []struct {
		name  string
		do    func()
		moves bool
	}{
		{"a comment", func() { g.AddComment(n, "kim", "Please.") }, true},
		{"an edited comment", func() { g.EditComment(comment, "Why not?") }, false},
		{"a deleted comment", func() { g.DeleteComment(comment) }, false},
		{"a review", func() { g.AddReview(n, line) }, true},
		{"an approval", func() { g.Approve(n, "kim") }, true},
		{"a dismissal", func() { g.DismissReview(review) }, true},
		{"a reply", func() { g.ReplyInThread(thread, "kim", "Yes.") }, true},
		{"a resolved thread", func() { g.ResolveThread(thread) }, false},
		{"a check", func() { g.FinishCheck(g.SetCheck(head, githubtest.Check{Name: "test", State: "QUEUED"}), "FAILURE") }, false},
		{"a label", func() { g.PutOn(n, "agent") }, true},
		{"a push", func() { g.Commit("symphony/GH-1", map[string]string{"cart.go": "a\n"}) }, true},
		{"a draft", func() { g.ConvertToDraft(n) }, true},
		{"another base", func() { g.Retarget(n, "next") }, true},
		{"closed", func() { g.ClosePull(n) }, true},
	} {
		if step.name == "another base" {
			g.Git("update-ref", "refs/heads/next", "refs/heads/main")
		}
		before := updated()
		step.do()
		if after := updated(); after.After(before) != step.moves {
			t.Errorf("%s: before %v, after %v", step.name, before, after)
		}
	}
}

func TestAPersonHasThePermissionOfTheirRole(t *testing.T) {
	t.Parallel()
	g := newGitHub(t)
	c := newClient(t, g)
	for _, role := range []string{"admin", "maintain", "write", "triage", "read", "none"} {
		g.SetPermission(role, role)
	}
	for login, want := range map[string][2]string{
		githubtest.Member: {"write", "write"}, "stranger": {"read", "read"}, "admin": {"admin", "admin"}, "maintain": {"write", "maintain"},
		"triage": {"read", "triage"}, "none": {"none", "none"},
	} {
		a, err := c.Do(t.Context(), client.Request{Path: c.Path("/collaborators/%s/permission", login)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Permission string
			Role       string `json:"role_name"`
		}
		if err := json.Unmarshal(a.Body, &got); err != nil || ([2]string{got.Permission, got.Role}) != want {
			t.Errorf("%s: %+v, %v", login, got, err)
		}
	}
}
