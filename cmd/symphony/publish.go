package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// runFollows reports whether this is the plan of the Action, which runs the same
// tick afterwards if there is work. What both would publish is left to the run.
func (t *tickCommand) runFollows() bool {
	dryRun, _ := t.getenv("INPUT_DRY_RUN")
	return t.actions.InActions() && t.dryRun && dryRun == "false"
}

// publish writes the outputs of a tick, and its annotations and summary unless a later step or
// job does, inside Actions only. The tick holds no secrets any more.
func (t *tickCommand) publish(tick report.Tick, summarizes bool, outputs [][2]string) error {
	if !t.actions.InActions() {
		return nil
	}
	var errs []error
	if summarizes {
		r := report.Of(tick)
		t.annotate(r)
		errs = append(errs, t.actions.Summary(r.Markdown(t.links())))
	}
	for _, output := range outputs { // the last one of a name counts
		errs = append(errs, t.actions.Output(output[0], output[1]))
	}
	return errors.Join(errs...)
}

// links returns the links of the summary of a step.
func (t *tickCommand) links() report.Links {
	l := t.gitHub().links(workflow.Workflow{}, t.event.Repository)
	l.Branch, l.Run = t.statePlace().branchName(), t.event.RunID
	if !t.dryRun { // a dry run leaves nothing to upload
		l.Artifact, _ = t.getenv("SYMPHONY_ARTIFACT")
	}
	return l
}

// checksWait is the notice for pull requests that the job's own token opened.
const checksWait = "GitHub starts no checks by itself for a pull request that the job's own token opened: approve them on its page, " +
	"or set the inputs app-id and private-key, or a token of your own as github-token"

// openedAsJob reports whether the tick opened a pull request with the job's own token.
func (t *tickCommand) openedAsJob(tick report.Tick, wf workflow.Workflow) bool {
	asJob, _ := t.getenv("SYMPHONY_ACTS_AS_JOB")
	token, _ := t.getenv("GITHUB_TOKEN")
	repository := wf.Settings.Repository
	if asJob != "true" || t.gitHub().hasApp() || repository == nil || repository.Token != token {
		return false
	}
	return slices.ContainsFunc(tick.Rows, func(r report.Row) bool { return r.PullRequest == "opened" })
}

// locateJobs sets the pages of the jobs of shards, which may be those of an earlier run.
func (t *tickCommand) locateJobs(tick *report.Tick, wf workflow.Workflow) {
	links := t.gitHub().links(wf, t.gitHub().ownRepository(wf.Path, wf))
	for i := range tick.Rows {
		row := &tick.Rows[i]
		row.JobURL = links.Job(row.Run, row.Job)
	}
}

// keptBriefly is the notice for work that was not published and that no artifact keeps.
const keptBriefly = "Work that was not published is kept on the runner alone, which loses it: with the input upload-logs true " +
	"the artifact of the run keeps it, and everybody who may read the repository may read that"

// locateKept sets which artifact of the run holds kept work.
func (t *tickCommand) locateKept(tick *report.Tick) {
	artifact, _ := t.getenv("SYMPHONY_ARTIFACT")
	lost := false
	for i := range tick.Rows {
		kept := &tick.Rows[i].Kept
		if !t.actions.InActions() || kept.Folder == "" {
			continue
		}
		inLogs, err := filepath.Rel(t.logs, kept.Folder)
		if artifact == "" || t.logs == "" || err != nil || !filepath.IsLocal(inLogs) {
			lost = true
			continue
		}
		kept.Folder, kept.Artifact = filepath.Join(filepath.Base(t.logs), inLogs), artifact
	}
	if lost {
		tick.Notices = append(tick.Notices, keptBriefly)
	}
}

// locateLogs sets where people find the event logs of a tick: which file of which
// artifact, or which command shows them.
func (t *tickCommand) locateLogs(tick *report.Tick) {
	for i := range tick.Rows {
		switch row := &tick.Rows[i]; {
		case t.actions.InActions():
			row.Log = t.logInArtifact(row.Log.File)
		case row.Log.File != "":
			row.Log.Command = t.logCommand(tick.Workflow, row.Identifier)
		}
	}
}

// logInArtifact returns the place of an event log in the artifact of the job. It is zero in a job
// that uploads none, because the log is lost with the runner.
func (t *tickCommand) logInArtifact(file string) report.Log {
	artifact, _ := t.getenv("SYMPHONY_ARTIFACT")
	inLogs, err := filepath.Rel(t.logs, file)
	if artifact == "" || file == "" || t.logs == "" || err != nil || !filepath.IsLocal(inLogs) {
		return report.Log{}
	}
	return report.Log{File: transcript.PageName(filepath.Join(filepath.Base(t.logs), inLogs)), Artifact: artifact}
}

// logCommand returns the command that shows the latest session on an issue.
func (t *tickCommand) logCommand(workflow, identifier string) string {
	command := t.ownCommand() + " log"
	if t.logs != "" {
		command += " --logs " + quoteIfNeeded(t.logs)
	}
	if strings.HasPrefix(identifier, "-") {
		command += " --"
	}
	command += " " + quoteIfNeeded(identifier)
	if here, err := filepath.Abs("WORKFLOW.md"); err != nil || here != workflow {
		command += " " + quoteIfNeeded(workflow)
	}
	return command
}

// annotate writes the annotations of a tick.
func (t *tickCommand) annotate(r report.Report) {
	show := func(notes []report.Note, write func(title, text string)) {
		for _, n := range notes {
			write(n.Title, n.Text)
		}
	}
	problems, warnings, notices := r.Notes()
	show(problems, t.actions.Error)
	show(warnings, t.actions.Warning)
	show(notices, t.actions.Notice)
}

// outputs returns the names and values of the step's outputs.
func (t *tickCommand) outputs(tick report.Tick, wf workflow.Workflow) [][2]string {
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
		all = append(all, t.needs(wf, tick.Work() && t.runFollows())...)
	}
	return all
}

// needs returns the outputs with what sessions need, for the other steps of the Action.
// It asks whether the repository is private only if there will be sessions.
func (t *tickCommand) needs(wf workflow.Workflow, sessions bool) [][2]string {
	program, starts := firstWord(wf.Settings.Codex.Command), !t.order.stops()
	private := ""
	if sessions {
		private = t.gitHub().isPrivate(t.event)
	}
	return [][2]string{
		{"codex", strconv.FormatBool(starts && program == "codex")}, // of the PATH: to be installed
		{"sandbox", strconv.FormatBool(starts && filepath.Base(program) == "codex" && wf.Settings.Codex.NeedsSandbox())},
		{"prepares", strconv.FormatBool(starts && wf.Settings.Repository != nil && wf.Settings.Setup.Run != "")},
		{"workspaces", wf.Settings.Workspace.Root},
		{"private", private},
	}
}

// firstWord returns the program that a shell command starts.
func firstWord(command string) string {
	for _, word := range strings.Fields(command) {
		if word != "exec" && !strings.Contains(word, "=") {
			return word
		}
	}
	return ""
}

// writeReport writes the report to the file that --report names.
func (t *tickCommand) writeReport(tick report.Tick) error {
	if t.reportFile == "" {
		return nil
	}
	s, err := json.MarshalIndent(report.Of(tick), "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(t.reportFile), 0o700)
	}
	if err == nil {
		err = os.WriteFile(t.reportFile, []byte(text.EscapeJSON(string(s))+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w; give --report a file that can be written", err)
	}
	return nil
}
