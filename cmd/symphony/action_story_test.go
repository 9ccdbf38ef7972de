package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/githubtest"
)

// storyOfACart is what the scripted agent does in the sessions of the story, one part in
// each.
const storyOfACart = "- [ ] Create `cart.go` containing `package shop`\n- [ ] Call `deliver` with `{\"title\": \"Keep the cart\", \"body\": \"It has wheels.\"}`\n" +
	"\n## Next turn\n\n- [ ] Create `brake.go` containing `package shop`\n- [ ] Call `reply` with `{\"to\": \"1\", \"text\": \"There is a brake now.\", \"resolve\": true}`\n" +
	"\n## Next turn\n\n- [ ] Create `lint.txt` containing `clean`\n" +
	"\n## Next turn\n\n- [ ] Call `ask` with `{\"question\": \"Which colour?\", \"choices\": [\"red\", \"green\"]}`\n" +
	"\n## Next turn\n\n- [ ] Create `colour.txt` containing `red`\n"

// TestTheStoryOfAnIssueIsToldByRunsOfTheAction has act run the sample workflow, as it
// stands, once for each event of the story in testdata/script/conversation.txt. All that one
// run knows of the others is on the state branch and in the cache.
func TestTheStoryOfAnIssueIsToldByRunsOfTheAction(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.replace("max_turns: 10", "max_turns: 1") // a part of the story in each session
	d.github.SetClock(time.Now)
	d.github.KeepBranches()
	d.github.AddLabel("needs-human")
	d.publishCheckout()
	// run performs the job that an event starts.
	run := func(event, payload string, outputs ...string) outcome {
		t.Helper()
		j := d.job()
		j.start, j.workflow = []string{event, "--eventpath", d.event}, sampleRunOfGitHub(t)
		d.writeFile(d.event, strings.NewReplacer("GH-7", "GH-1", `"number":7`, `"number":1`, `"number":9`, `"number":2`).Replace(payload))
		o := j.perform()
		o.want(t, "success", outputs...)
		if !strings.Contains(o.summary, "Started by "+strings.ReplaceAll(event, "_", `\_`)) {
			t.Errorf("the summary does not say that %s started the run:\n%s", event, o.summary)
		}
		return o
	}
	wantFiles := func(files ...string) {
		t.Helper()
		changed := strings.Fields(d.github.Git("log", "--reverse", "--format=", "--name-only", "main..symphony/GH-1"))
		if !slices.Equal(changed, files) {
			t.Fatalf("the commits of the branch change %q, want %q", changed, files)
		}
	}
	lastComment := func() string {
		comments := d.github.Issue(2).Comments
		if len(comments) == 0 {
			t.Fatal("the pull request has no comment")
		}
		return comments[len(comments)-1].Body
	}
	completed := []string{"dispatched", "1", "completed", "1", "failed", "0", "parked", "0"}
	nothing := []string{"work", "false", "dispatched", "0"}

	d.github.AddIssue(githubtest.Issue{Title: "Carts forget", Body: storyOfACart, Labels: []string{"symphony"}})
	run("issues", ourLabel, completed...)
	wantFiles("cart.go")
	if pulls := d.github.Pulls(); len(pulls) != 1 || pulls[0].Number != 2 || pulls[0].Title != "Keep the cart" || len(d.github.Issue(1).Labels) > 0 {
		t.Fatalf("the pull requests are %+v, the issue is %+v", pulls, d.github.Issue(1))
	}

	d.github.AddReview(2, githubtest.Review{By: "kim", Verdict: "COMMENTED", Lines: []githubtest.LineComment{{Path: "cart.go", Line: 1, Body: "Where is the brake?"}}})
	run("pull_request_review", ourReview, completed...)
	wantFiles("cart.go", "brake.go")
	if threads := d.github.Threads(2); len(threads) != 1 || !threads[0].Resolved || !strings.Contains(threads[0].Comments[1].Body, "There is a brake now.") {
		t.Errorf("the threads of the review are %+v", threads)
	}
	run("schedule", "{}", nothing...)

	d.github.SetCheck(d.github.Head("symphony/GH-1"), githubtest.Check{
		Name: "lint", State: "FAILURE", Log: "lint.txt is missing\n", Steps: []githubtest.Step{{Name: "Run lint", Conclusion: "FAILURE"}},
	})
	run("workflow_run", ourRun, completed...)
	wantFiles("cart.go", "brake.go", "lint.txt")

	d.github.AddComment(2, "kim", "Paint it.")
	run("issue_comment", pullComment, "dispatched", "1", "completed", "0", "parked", "1")
	if said := lastComment(); !strings.Contains(said, "> Which colour?\n> - red\n> - green\n") || !slices.Contains(d.github.Issue(1).Labels, "needs-human") {
		t.Fatalf("the pull request says %q, and the issue is %+v", said, d.github.Issue(1))
	}

	o := run("workflow_dispatch", `{"inputs":{"command":"status","issue":"GH-1"}}`, "dispatched", "0", "parked", "1")
	if !strings.Contains(o.summary, "status GH-1") || !strings.Contains(o.summary, "Which colour?") {
		t.Errorf("the summary of the command is\n%s", o.summary)
	}

	d.github.AddComment(2, "kim", "Red, please.")
	run("issue_comment", pullComment, completed...)
	wantFiles("cart.go", "brake.go", "lint.txt", "colour.txt")
	if i := d.github.Issue(1); len(i.Labels) > 0 {
		t.Errorf("the issue bears the labels %q", i.Labels)
	}

	d.github.Approve(2, "kim")
	d.github.Merge(2, "kim")
	run("pull_request", ourMerge, "dispatched", "0", "completed", "0", "parked", "0")
	if i := d.github.Issue(1); i.State != "closed" || d.github.Head("symphony/GH-1") != "" {
		t.Errorf("after the merge the issue is %s, and the branches are %v", i.State, d.github.Branches())
	}
	if state, ok := d.hub.File("symphony-state", "state.json"); !ok || strings.Contains(state, "GH-1") {
		t.Errorf("the state still knows the issue:\n%s", state)
	}
}
