package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// runFollows reports whether this is the plan of the Action, which runs the same tick
// afterwards if there is work. Outputs that both would publish are left to the run.
func (t *tickReport) runFollows() bool {
	return t.Actions.InActions() && t.dryRun && t.Value("INPUT_DRY_RUN") == "false"
}

// publish writes the outputs of a tick, and its annotations and summary unless a later step or
// job does, inside Actions only. The tick holds no secrets any more.
func (t *tickReport) publish(tick report.Tick, summarizes bool, outputs [][2]string) error {
	if !t.Actions.InActions() {
		return nil
	}
	var errs []error
	if summarizes {
		r := report.Of(tick)
		annotate(t.Actions, r)
		errs = append(errs, t.Actions.Summary(r.Markdown(t.links())))
	}
	for _, output := range outputs { // the last output of a name counts
		errs = append(errs, t.Actions.Output(output[0], output[1]))
	}
	return errors.Join(errs...)
}

func (t *tickReport) links() report.Links {
	l := t.gitHub().Links(workflow.Workflow{}, t.event.Repository)
	l.Branch, l.Run = t.statePlace().BranchName(), t.event.RunID
	if !t.dryRun { // a dry run leaves nothing to upload
		l.Artifact = t.Value("SYMPHONY_ARTIFACT")
	}
	return l
}

// checksWait is the notice for pull requests that the job's own token opened.
const checksWait = "GitHub starts no checks by itself for a pull request that the job's own token opened: approve them on its page, " +
	"or set the inputs app-id and private-key, or a token of your own as github-token"

func (t *tickReport) openedAsJob(tick report.Tick) bool {
	repository := t.wf.Settings.Repository
	if t.Value("SYMPHONY_ACTS_AS_JOB") != "true" || t.gitHub().HasApp() || repository == nil || repository.Token != t.Value("GITHUB_TOKEN") {
		return false
	}
	return slices.ContainsFunc(tick.Rows, func(r report.Row) bool { return r.PullRequest == "opened" })
}

// locateJobs sets the pages of the jobs of shards, which may belong to an earlier run.
func (t *tickReport) locateJobs(tick *report.Tick) {
	links := t.gitHub().Links(t.wf, t.gitHub().OwnRepository(t.wf.Path, t.wf))
	for i := range tick.Rows {
		row := &tick.Rows[i]
		row.JobURL = links.Job(row.Run, row.Job)
	}
}

func (t *tickReport) outputs(tick report.Tick) [][2]string {
	counts := tick.Counts()
	due := ""
	if !tick.NextDue.IsZero() {
		due = tick.NextDue.Add(time.Second - 1).UTC().Format(time.RFC3339) // whole seconds, and never too early
	}
	all := [][2]string{
		{"work", strconv.FormatBool(tick.Work())},
		{"dispatched", strconv.Itoa(counts.Dispatched)},
		{"completed", strconv.Itoa(counts.Completed)},
		{"failed", strconv.Itoa(counts.Failed)},
		{"parked", strconv.Itoa(counts.Parked)},
		{"retrying", strconv.Itoa(counts.Retrying)},
		{"tokens", strconv.FormatInt(tick.Spent.Usage.Total(), 10)},
		{"next-due-at", due},
		{"pull-requests", tick.PullRequests()},
		{"report", t.reportFile},
	}
	if t.dryRun {
		all = append(all, needs(t.gitHub(), t.event, t.wf, !t.order.stops(), tick.Work() && t.runFollows())...)
	}
	return all
}

func annotate(to *action.Runtime, r report.Report) {
	show := func(notes []report.Note, write func(title, text string)) {
		for _, n := range notes {
			write(n.Title, n.Text)
		}
	}
	problems, warnings, notices := r.Notes()
	show(problems, to.Error)
	show(warnings, to.Warning)
	show(notices, to.Notice)
}

// needs returns the outputs on the needs of sessions, for the other steps of the Action. It
// asks whether the repository is private only if there will be sessions.
func needs(g wiring.GitHub, event action.Event, wf workflow.Workflow, starts, sessions bool) [][2]string {
	program := shell.Program(wf.Settings.Codex.Command)
	if wf.Settings.Codex.Endpoint.Address != "" || len(wf.Settings.Worker.Hosts) > 0 {
		program = "" // it runs already, or elsewhere
	}
	private := ""
	if sessions {
		private = g.IsPrivate(event)
	}
	return [][2]string{
		{"codex", strconv.FormatBool(starts && program == "codex")}, // the codex of the PATH is to be installed
		{"sandbox", strconv.FormatBool(starts && filepath.Base(program) == "codex" && wf.Settings.Codex.NeedsSandbox())},
		{"prepares", strconv.FormatBool(starts && wf.Settings.Repository != nil && wf.Settings.Setup.Run != "")},
		{"workspaces", wf.Settings.Workspace.Root},
		{"private", private},
	}
}
