package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

const (
	// interruptedHookTime bounds after_run when the run was interrupted: the process may have
	// taken five seconds to end, and after ten the runner kills us.
	interruptedHookTime = 1500 * time.Millisecond
	// rereadTime bounds the look at the issue after a session.
	rereadTime = 30 * time.Second
	// maxWhy bounds the reason of an outcome, in runes.
	maxWhy = 500
)

// errInterruptedHook ends an after_run that outlasts an interrupted run.
var errInterruptedHook = fmt.Errorf("not finished: the run was interrupted, which leaves it %v", interruptedHookTime)

// Run makes one attempt and returns how it ended. It calls report from one
// goroutine at a time, never after it has returned, and stops when ctx is done.
func Run(ctx context.Context, job Job, report func(Update)) schedule.Outcome {
	if job.Redact == nil {
		job.Redact = func(text string) string { return text }
	}
	a := &attempt{Job: job, report: report}
	err := a.run(ctx)
	return a.outcome(ctx, err)
}

// attempt is an attempt in progress.
type attempt struct {
	Job
	report func(Update)

	turnID      string // the latest, and how many there were: by the session's events
	turns       int
	thread      string // once a turn has started on it
	pid         int    // of the agent's process; 0 before it was started
	lastSession string // the session of the latest turn that has ended
	phase       schedule.AttemptStatus
	usage       codex.Usage

	home, temp string // its Codex home, if it is ours, and its temporary folder, if it has one
	repository bool   // the workspace is one

	issue     *tracker.Issue // as read after the latest turn; nil when it could not be
	gone      bool           // it was read, and is no longer visible
	changed   bool           // the workspace
	questions []string
	warnings  []string // failures that do not change the outcome
}

// run is the attempt from the workspace to after_run.
func (a *attempt) run(ctx context.Context) error {
	a.enter(schedule.StatusPreparingWorkspace)
	template, err := prompt.Parse(a.Prompt)
	if err == nil {
		err = template.Check() // no workspace is made for a prompt that cannot be rendered
	}
	if err != nil {
		return err
	}
	ws, err := a.Workspaces.Prepare(ctx, workspace.Issue{ID: string(a.Issue.ID), Identifier: a.Issue.Identifier, Attempt: a.Attempt})
	if err != nil {
		return err
	}
	a.enter(schedule.StatusBuildingPrompt)
	prompts, err := a.prompts(template, ws)
	if err != nil {
		return err
	}
	defer a.afterRun(ctx, ws)
	a.enter(schedule.StatusLaunchingAgentProcess)
	if err := a.Workspaces.BeforeRun(ctx, ws); err != nil {
		return err
	}
	before := a.fingerprint(ctx, ws)
	err = a.runAgent(ctx, ws, prompts)
	a.changed = before == "" || before != a.fingerprint(context.WithoutCancel(ctx), ws)
	return err
}

// afterRun runs the hook whatever happened (SPEC §5.3.4). Its failure changes
// nothing of the outcome, but people must know: what the hook pushes, for one,
// exists nowhere else. An interrupted run has no time to lose.
func (a *attempt) afterRun(ctx context.Context, ws workspace.Workspace) {
	a.enter(schedule.StatusFinishing)
	rest, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { // at once when it was stopped before
		if context.Cause(ctx) == schedule.Interrupted {
			time.AfterFunc(interruptedHookTime, func() { cancel(errInterruptedHook) })
		}
	})()
	if err := a.Workspaces.AfterRun(rest, ws); err != nil {
		a.warnings = append(a.warnings, a.brief(err.Error())) // logged where it ran
	}
}

// warn takes in a failure that does not change the outcome.
func (a *attempt) warn(what string, err error) {
	a.logger().Warn(what, "error", err)
	a.warnings = append(a.warnings, a.brief(what+": "+err.Error()))
}

// runAgent runs the agent process and its turns. When it returns, no process of
// the runAgent is alive.
func (a *attempt) runAgent(ctx context.Context, ws workspace.Workspace, prompts prompts) error {
	defer a.cleanDirs()
	if err := a.prepareDirs(); err != nil {
		return err
	}
	repository, err := a.Workspaces.Seal(ws)
	if err != nil {
		return err
	}
	a.repository = repository
	defer func() {
		if err := a.Workspaces.Tidy(ws); err != nil {
			a.warn("the workspace is not tidied", err)
		}
	}()
	process, err := a.Workspaces.Start(ctx, ws, a.Codex.Command, a.environment())
	if err != nil {
		return err
	}
	a.pid = process.PID()
	events := openEventLog(a.EventLog, a.Redact, a.logger())
	defer func() {
		if err := events.close(); err != nil {
			a.warnings = append(a.warnings, a.brief(err.Error()))
		}
	}()
	a.enter(schedule.StatusInitializingSession)
	err = a.runSession(ctx, ws, process, events, prompts)
	a.enter(schedule.StatusFinishing)
	process.Log(a.Log.With("session_id", a.lastSession))
	if errors.Is(err, codex.ErrPortExit) {
		err = addExitStatus(err, process)
	}
	return errors.Join(err, process.Stop(ctx))
}

func (a *attempt) runSession(ctx context.Context, ws workspace.Workspace, process *workspace.Process, events *eventLog, prompts prompts) error {
	options := a.options(ws, process)
	options.Events = func(e codex.Event) {
		events.event(e)
		a.onEvent(e)
	}
	options.Wire = events.wire
	session, err := codex.Open(ctx, process, options)
	if err != nil {
		return err
	}
	defer func() {
		session.Close()
		a.usage = session.Usage()
	}()
	if err := a.awaitPreflight(ctx, session); err != nil {
		return err
	}
	return a.runTurns(ctx, session, prompts.first(session.Resumed()))
}

// awaitPreflight waits at the gate, before the first turn, until it is known that sessions
// can work. The one that finds out does so in its own session.
func (a *attempt) awaitPreflight(ctx context.Context, session *codex.Session) error {
	first, err := a.Preflight.enter(ctx)
	if first {
		err = session.Check(ctx)
		a.Preflight.leave(err)
	}
	return err
}

// options are those of the session, but for who is told of it.
func (a *attempt) options(ws workspace.Workspace, process *workspace.Process) codex.Options {
	return codex.Options{
		Version: a.Version, PID: process.PID(), Cwd: ws.Path,
		Name:   a.Issue.Identifier + ": " + a.Issue.Title,
		Config: a.Codex, Tools: a.tools(), Resume: a.Thread, Prompt: a.Prompt,
		Key: a.Account.Key, Home: a.home, Temp: a.temp, Repository: a.repository,
		Deny: func(home string) []string {
			return realPaths(a.deniedPaths(home), slices.Concat(a.Denied.Readable, process.Programs()))
		},
	}
}

// runTurns runs turns until the issue needs no more of them, or max_turns is
// reached (SPEC §7.1).
func (a *attempt) runTurns(ctx context.Context, session *codex.Session, text string) error {
	for n := 1; ; n++ {
		turn, err := session.Turn(ctx, text)
		if turn.ID != "" {
			a.lastSession = session.ThreadID() + "-" + turn.ID
		}
		a.questions = append(a.questions, turn.Questions...)
		if err != nil {
			return err
		}
		if len(a.questions) > 0 || !a.reread(ctx) || n >= a.MaxTurns {
			return nil
		}
		text = prompt.Continuation(*a.issue, n+1, a.MaxTurns)
		a.issue = nil // the next turn may change it
	}
}

// reread looks at the issue again, and reports whether a session should go on
// with it. If it cannot be read the session ends here, in good order: the next
// one begins with a look at the issue.
func (a *attempt) reread(ctx context.Context) bool {
	a.issue, a.gone = nil, false
	ctx, cancel := context.WithTimeout(ctx, rereadTime)
	defer cancel()
	issues, err := a.Tracker.IssuesByID(ctx, []tracker.ID{a.Issue.ID})
	switch {
	case err != nil:
		a.warn("the issue was not read after the turn, so the session ended there", err)
		return false
	case len(issues) == 0:
		a.gone = true
		return false
	}
	a.issue = &issues[0]
	return a.Policy.Continues(*a.issue).None()
}

// outcome is what the end of the attempt says.
func (a *attempt) outcome(ctx context.Context, err error) schedule.Outcome {
	o := schedule.Outcome{
		Class: schedule.Done, Thread: a.thread, Turns: a.turns,
		Usage: usage(a.usage), Idle: !a.changed,
	}
	stopped := ctx.Err() != nil
	switch {
	case len(a.questions) > 0 && (err == nil || stopped): // a stop does not answer them
		o.Class, o.Why = schedule.Persons, a.brief("the agent asks: "+strings.Join(a.questions, " / "))
	case stopped && !errors.Is(err, codex.ErrInputRequired):
		o.Class, o.Why = schedule.Stopped, context.Cause(ctx).Error()
	case err != nil:
		o.Class, o.RetryAt = classify(err)
		o.Fault = a.fault(err)
		if a.turns > 0 && errors.Is(err, workspace.ErrNotFound) {
			o.Class = schedule.Failed // an agent that has worked was found
		}
		o.Why = a.brief(err.Error())
	}
	o.Status = status(ctx, o.Class, err)
	if o.Class != schedule.Done && !stopped && a.turns > 0 {
		a.reread(context.WithoutCancel(ctx))
	}
	o.Issue, o.Gone, o.Warnings = a.issue, a.gone, a.warnings
	if now := a.issue; now != nil && (now.State != a.Issue.State || !now.UpdatedAt.Equal(a.Issue.UpdatedAt)) {
		o.Idle = false
	}
	return o
}

// tools are the tracker's, bound to the issue of the session.
func (a *attempt) tools() []codex.Tool {
	tools := make([]codex.Tool, 0, len(a.Tracker.Tools))
	for _, tool := range a.Tracker.Tools {
		tools = append(tools, codex.Tool{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema,
			Call: func(ctx context.Context, arguments json.RawMessage) (string, bool) {
				result := tool.Call(ctx, a.Issue, arguments)
				return a.Redact(result.Text), result.OK
			},
		})
	}
	return tools
}

func (a *attempt) fingerprint(ctx context.Context, ws workspace.Workspace) string {
	print, err := a.Workspaces.Fingerprint(ctx, ws)
	if err != nil {
		a.logger().Debug("workspace not fingerprinted", "error", err)
		return ""
	}
	return print
}

// addExitStatus adds how the process ended to an error that says no more than that
// it did.
func addExitStatus(err error, process *workspace.Process) error {
	select {
	case <-process.Done():
		if exit := process.Err(); exit != nil {
			return fmt.Errorf("%w: %w", err, exit)
		}
	case <-time.After(time.Second): // it hung up and lives on: nothing to add
	}
	return err
}

// brief returns a text for a log line, a table and the state. Secrets are taken
// out before it is cut: half of one would not be recognized.
func (a *attempt) brief(text string) string {
	runes := []rune(strings.Join(strings.Fields(a.Redact(text)), " "))
	if len(runes) > maxWhy {
		runes = append(runes[:maxWhy-1], '…')
	}
	return string(runes)
}

func usage(u codex.Usage) schedule.Usage { return schedule.Usage{Input: u.Input, Output: u.Output} }
