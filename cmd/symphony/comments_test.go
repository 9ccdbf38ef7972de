package main

import (
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/linear"
)

func TestPeopleAreToldToCommentWhereTheTrackerInUseReadsIt(t *testing.T) {
	t.Parallel()
	pulls := workflow.Delivery{Kind: workflow.KindPullRequest}
	for _, test := range []struct {
		tracker  workflow.Tracker
		delivery workflow.Delivery
		want     schedule.Comments
	}{
		{workflow.Tracker{Config: &file.Config{Path: "/issues"}}, workflow.Delivery{}, schedule.Comments{Issues: schedule.InTheFile}},
		{workflow.Tracker{Config: &file.Config{Path: "/issues"}}, pulls, schedule.Comments{Issues: schedule.InTheFile, Pulls: true}},
		{workflow.Tracker{Config: &linear.Config{}}, workflow.Delivery{}, schedule.Comments{Issues: schedule.OnTheIssue}},
		{workflow.Tracker{Config: &linear.Config{}}, pulls, schedule.Comments{Issues: schedule.OnTheIssue, Pulls: true}},
		{workflow.Tracker{Config: &github.Config{}}, workflow.Delivery{}, schedule.Comments{Issues: schedule.OnGitHub}},
		{workflow.Tracker{Config: &github.Config{}}, pulls, schedule.AnyComments},
		{workflow.Tracker{}, pulls, schedule.Comments{}},
	} {
		wf := workflow.Workflow{Settings: workflow.Settings{Tracker: test.tracker, Delivery: test.delivery}}
		if got := wiring.CommentsOf(wf); got != test.want {
			t.Errorf("%T and %q: %+v, want %+v", test.tracker.Config, test.delivery.Kind, got, test.want)
		}
	}
}

// TestTheWorkspacesOfAProjectStayItsOwn pins names that workspaces keep: with another name the
// next version would refuse the workspaces of this one.
func TestTheWorkspacesOfAProjectStayItsOwn(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]tracker.Config{
		"the project whose issues are in ../shop/issues, seen from workspace.root": &file.Config{Path: "/srv/shop/issues"},
		"the project of the GitHub repository acme/shop":                           &github.Config{Repo: "Acme/Shop"},
		"": &linear.Config{ProjectSlug: "0c79b11b75ea"},
	} {
		wf := workflow.Workflow{Settings: workflow.Settings{Tracker: workflow.Tracker{Config: cfg}}}
		wf.Settings.Workspace.Root = "/srv/workspaces"
		if got := wiring.WorkspaceConfig(wf).Project; got != want {
			t.Errorf("%T: %q, want %q", cfg, got, want)
		}
	}
}
