package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

// TestTheActionStartsAFourthIssueWhenOneOfThreePullRequestsIsMerged has act run the sample
// workflow with delivery.max_open. testdata/script/open-limit.txt shows more of the limit, without
// the Action.
func TestTheActionStartsAFourthIssueWhenOneOfThreePullRequestsIsMerged(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.replace("delivery:", "delivery:\n  max_open: 3")
	d.github.KeepBranches()
	d.publishCheckout()
	for n := range 4 {
		d.github.AddIssue(githubtest.Issue{Title: fmt.Sprintf("Work %d", n+1), Body: fmt.Sprintf("- [ ] Create `work%d.go` containing `package shop`\n", n+1), Labels: []string{"symphony"}})
	}
	const full = `3 of 3 pull requests wait for review (delivery.max\_open)`

	o := d.job().perform()
	o.want(t, "success", "work", "true", "dispatched", "3", "completed", "3", "failed", "0")
	if pulls := d.github.Pulls(); len(pulls) != 3 || !strings.Contains(o.summary, full) {
		t.Fatalf("%d pull requests, and the summary is\n%s", len(pulls), o.summary)
	}
	o = d.job().perform() // installs no agent
	o.want(t, "success", "work", "false", "dispatched", "0")
	if !strings.Contains(o.summary, "Nothing new can be started") || !strings.Contains(o.summary, full) {
		t.Errorf("the summary of a run that waits is\n%s", o.summary)
	}
	d.github.Merge(d.github.Pulls()[0].Number, "kim")
	o = d.job().perform()
	o.want(t, "success", "work", "true", "dispatched", "1", "completed", "1")
	if d.github.Head("symphony/GH-4") == "" {
		t.Errorf("after the merge the branches are %v", d.github.Branches())
	}
}
