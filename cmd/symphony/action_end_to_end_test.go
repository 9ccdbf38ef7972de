package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

// TestAnIssueIsWorkedOnByRunsOfTheAction has act run the sample workflow, as it stands, once for
// each event in the life of an issue: the agent delivers, asks back and goes on with the answer,
// and a person merges. All that one run knows of the others is on the state branch and in the
// cache. testdata/script/conversation.txt shows more events, without the Action.
func TestAnIssueIsWorkedOnByRunsOfTheAction(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.replace("max_turns: 10", "max_turns: 1") // a part of the issue in each session
	d.github.SetClock(time.Now)
	d.github.KeepBranches()
	d.github.AddLabel("needs-human")
	d.publishCheckout()
	// run performs a job that somebody starts, as [TestAnEventStartsARunOfTheDefaultBranch] shows
	// it for other events; inputs are those of the workflow, in JSON.
	run := func(inputs string, labels []string, outputs ...string) outcome {
		t.Helper()
		j := d.job()
		j.start, j.workflow = []string{"workflow_dispatch", "--eventpath", d.event}, workflowOfSample(t, "github.yml")
		d.writeFile(d.event, fmt.Sprintf(`{"repository":{"private":true},"inputs":%s}`, inputs))
		o := j.perform()
		o.want(t, "success", outputs...)
		if got := d.github.Issue(1).Labels; !slices.Equal(got, labels) || !strings.Contains(o.summary, `Started by workflow\_dispatch`) {
			t.Errorf("the issue bears the labels %q, want %q; the summary is\n%s", got, labels, o.summary)
		}
		return o
	}
	completed, asked := []string{"dispatched", "1", "completed", "1", "failed", "0", "parked", "0"}, []string{"dispatched", "1", "completed", "0", "parked", "1"}

	d.github.AddIssue(githubtest.Issue{Title: "Carts forget", Labels: []string{"symphony"}, Body: scripts[1] +
		"\n## Next turn\n\n- [ ] Call `ask` with `{\"question\": \"Which colour?\", \"choices\": [\"red\", \"green\"]}`\n" +
		"\n## Next turn\n\n- [ ] Create `colour.txt` containing `red`\n"})
	run("{}", nil, completed...)
	d.github.AddComment(2, "kim", "Paint it.")
	run("{}", []string{"needs-human"}, asked...)
	if comments := d.github.Issue(2).Comments; !strings.Contains(comments[len(comments)-1].Body, "> Which colour?\n> - red\n> - green\n") {
		t.Errorf("the pull request says %+v", comments)
	}
	o := run(`{"command":"status","issue":"GH-1"}`, []string{"needs-human"}, "dispatched", "0", "parked", "1")
	if !strings.Contains(o.summary, "status GH-1") || !strings.Contains(o.summary, "Which colour?") {
		t.Errorf("the summary of the command is\n%s", o.summary)
	}
	d.github.AddComment(2, "kim", "Red, please.")
	run("{}", nil, completed...)
	if changed := d.github.Git("log", "--reverse", "--format=", "--name-only", "main..symphony/GH-1"); changed != "list.go\ncolour.txt" {
		t.Errorf("the commits of the branch change %q", changed)
	}
	d.github.Approve(2, "kim")
	d.github.Merge(2, "kim")
	run("{}", nil, "dispatched", "0", "completed", "0", "parked", "0")
	if state, ok := d.hub.File("symphony-state", "state.json"); !ok || strings.Contains(state, `"identifier": "GH-1"`) || d.github.Head("symphony/GH-1") != "" || d.github.Issue(1).State != "closed" {
		t.Errorf("after the merge the branches are %v, the issue is %s, the state\n%s", d.github.Branches(), d.github.Issue(1).State, state)
	}
}
