package github

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// TestTheGitHubOfOtherTestsSpeaksAsGitHubDescribes compares the server with which whole
// runs are tested to GitHub's description, in the exchanges of a delivery and of what is
// said about it.
func TestTheGitHubOfOtherTestsSpeaksAsGitHubDescribes(t *testing.T) {
	t.Parallel()
	compare := describedExchange(t)
	if compare == nil {
		t.Skipf("%s names no file: the server is not compared with GitHub's OpenAPI description", openapiEnv)
	}
	var exchanges atomic.Int32
	g := githubtest.New(t, storetest.Config{Repo: fakeRepo, Root: "/", Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			compare(r, body, answer.Code, answer.Header(), answer.Body.Bytes())
			exchanges.Add(1)
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
	}})
	cfg := decode(t, map[string]any{"repo": fakeRepo, "api_key": fakeToken, "api_url": g.URL()})
	cfg.Options = tracker.Options{ActiveStates: []string{"open"}, TerminalStates: []string{"closed"}, Poll: time.Minute, RequiredLabels: []string{"symphony"}}
	cfg.ToolLabels = []string{"agent"}
	r, err := newRepository(cfg, http.DefaultTransport, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if issues, err := r.IssuesByState(t.Context(), []string{"open"}); err != nil || len(issues) != 0 {
		t.Fatalf("%v, %v", issues, err)
	}
	n := g.AddIssue(githubtest.Issue{Title: "Carts forget", Labels: []string{"symphony"}, Assignees: []string{"lee"}})
	if issues, err := r.IssuesByState(t.Context(), []string{"open"}); err != nil || len(issues) != 1 || !issues[0].Dispatchable {
		t.Fatalf("%v, %v", issues, err)
	}
	id, branch := tracker.ID(fmt.Sprint(n)), "symphony/GH-1"
	g.Git("update-ref", "refs/heads/"+branch, "main")
	commit := g.Commit(branch, map[string]string{"README.md": "A cart.\n"})
	title, text, base := "Keep the cart", "It has wheels.", "main"
	for _, do := range []func() error{
		func() error {
			pull, err := r.client.Pulls.Create(t.Context(), client.NewPullRequest{Title: &title, Body: &text, Head: &branch, Base: &base})
			if err == nil {
				_, err = r.client.Pulls.Edit(t.Context(), pull.GetNumber(), &title, &text)
			}
			return err
		},
		func() error { return r.client.Pulls.AddLabels(t.Context(), 2, []string{"agent"}) },
		func() error { return r.client.Pulls.AddAssignees(t.Context(), 2, []string{"kim"}) },
		func() error {
			return r.client.Pulls.SetLabelsAndAssignees(t.Context(), 2, []string{"agent"}, []string{"kim"})
		},
		func() error { return r.client.Pulls.RequestReviewers(t.Context(), 2, []string{"lee", "acme/team"}) },
		func() error { _, err := r.client.Pulls.OfBranch(t.Context(), branch); return err },
		func() error { return writer{r}.Comment(t.Context(), id, "status", "Please look.") },
		func() error { return writer{r}.Comment(t.Context(), id, "status", "Please look again.") },
		func() error { return writer{r}.Label(t.Context(), id, "symphony", false) },
		func() error { return readFeedback(t, g, r.client, commit) },
		func() error { return readArtifacts(t, g, r.client) },
		func() error { return update(t, r, tracker.Issue{ID: id, Identifier: "GH-1"}) },
		func() error { return writer{r}.Move(t.Context(), id, "closed") },
		func() error { _, err := r.IssuesByState(t.Context(), []string{"open", "closed"}); return err },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if i := g.Issue(n); i.State != "closed" || len(i.Labels) != 0 || len(i.Comments) != 4 || len(g.Pulls()) != 1 || exchanges.Load() < 15 {
		t.Errorf("after %d exchanges the issue is %+v, and there are the pull requests %+v", exchanges.Load(), i, g.Pulls())
	}
}

// readArtifacts reads the artifacts of a workflow run.
func readArtifacts(t *testing.T, g *githubtest.GitHub, c *client.Client) error {
	g.AddArtifact(githubtest.Artifact{Run: 77, Name: "symphony-77", Files: map[string]string{"report.json": "{}"}})
	artifacts, err := c.Artifacts.Of(t.Context(), 77)
	if err != nil || len(artifacts) != 1 {
		return fmt.Errorf("%v (%w)", artifacts, err)
	}
	_, err = c.Artifacts.Read(t.Context(), artifacts[0])
	return err
}

// update has the tool do everything at once to the issue.
func update(t *testing.T, r *repository, issue tracker.Issue) error {
	const everything = `{"comment": "I am at it.", "note": "Half of it.", "add_labels": ["agent"], "remove_labels": ["agent"], "state": "open"}`
	for range 2 { // the note is edited then
		if got := r.updateTool().Call(t.Context(), issue, json.RawMessage(everything)); !got.OK || !got.Wrote {
			return fmt.Errorf("wrote %t: %s", got.Wrote, got.Text)
		}
	}
	return nil
}

// readFeedback reads all that people and checks say about pull request 2, and answers.
func readFeedback(t *testing.T, g *githubtest.GitHub, c *client.Client, head string) error {
	g.AddComment(2, "kim", "Why?")
	g.AddReview(2, githubtest.Review{By: "lee", Verdict: "APPROVED", Lines: []githubtest.LineComment{{Path: "README.md", Line: 1, Body: "Why?"}}})
	g.SetCheck(head, githubtest.Check{Name: "test", State: "FAILURE", Log: "no\n"})
	statuses, _, err := c.Pulls.Statuses(t.Context(), []int{2})
	if err != nil {
		return err
	}
	said, err := c.Pulls.Discussion(t.Context(), statuses[2].Node, time.Time{})
	if err != nil {
		return err
	}
	checks, err := c.Checks.Failed(t.Context(), statuses[2].Head, "")
	if err != nil {
		return err
	}
	if _, err := c.Checks.ReadOutputs(t.Context(), checks.Failed); err != nil {
		return err
	}
	if len(said.Comments) != 1 || len(said.Reviews) != 1 || len(checks.Failed) != 1 || checks.Failed[0].Log != "no" {
		t.Errorf("%+v, %+v", said, checks)
	}
	if err := c.Issues.React(t.Context(), said.Comments[0].Node, "EYES"); err != nil {
		return err
	}
	var id int64
	if _, err := fmt.Sscanf(said.Comments[0].Node, "IC_%d", &id); err != nil {
		return err
	}
	for _, path := range []string{"/issues/2/comments", fmt.Sprintf("/issues/comments/%d/reactions", id)} {
		if _, err := c.Do(t.Context(), client.Request{Path: c.Path("%s", path)}); err != nil {
			return err
		}
	}
	return nil
}
