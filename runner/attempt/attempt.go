package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// StopTime is more than Run takes to return after its context has ended, with any agent, hooks
// and remote. Reserve it before a deadline.
const StopTime = 90 * time.Second

const (
	// stoppedTime is the share of after_run and of the publication of the work in StopTime. The
	// rest is for the turn and the process to end.
	stoppedTime = 75 * time.Second
	// interruptedHookTime bounds after_run when the run was interrupted: the process
	// may have taken five seconds to end, and the runner kills this program after ten.
	interruptedHookTime = 1500 * time.Millisecond
	// rereadTime bounds the read of the issue after a turn.
	rereadTime = 30 * time.Second
)

// errInterruptedHook cancels an after_run that takes too long in an interrupted run.
var errInterruptedHook = fmt.Errorf("not finished: the run was interrupted, which leaves it %v", interruptedHookTime)

// errStopped cancels work that takes too long after a session was stopped.
var errStopped = fmt.Errorf("not finished: the session was stopped, which leaves it and what follows %v", stoppedTime)

// Run makes one attempt and returns its outcome. It calls report from one goroutine at a time
// and never after Run has returned, and stops when ctx is done.
func Run(ctx context.Context, job Job, report func(Update)) schedule.Outcome {
	a := newAttempt(job, report)
	defer context.AfterFunc(ctx, func() { a.stopped() })()
	err := a.run(ctx)
	return a.outcome(ctx, err)
}

func newAttempt(job Job, report func(Update)) *attempt {
	if job.Redact == nil {
		job.Redact = func(text string) string { return text }
	}
	if job.isShared() {
		job.Account = Account{} // that server has a login of its own
	}
	job.Steering = cmp.Or(job.Steering, new(Steering))
	job.stoppedTime = cmp.Or(job.stoppedTime, stoppedTime)
	a := &attempt{Job: job, stopped: sync.OnceValue(time.Now)}
	j := &journal{log: job.Log, eventLog: job.EventLog, redact: job.Redact}
	a.progress = progress{journal: j, report: report, resumes: job.Thread}
	a.issue = IssueOf(job)
	a.conversation.job = &a.Job
	rooms := rooms{lookup: job.Lookup, network: job.Network, kept: job.Codex.Env}
	a.dirs = sessionDirs{
		rooms: rooms, all: job.SessionDir, self: job.Program, key: workspace.Key(job.Issue.Identifier), required: job.Repository != nil || job.isShared(),
		account: job.Account, loopback: job.Loopback, guarded: job.Codex.IsGuarded(), shared: job.isShared(),
	}
	a.sandbox = &sandbox{journal: j, rooms: rooms, networks: networks(job.Repository, job.HookNetwork, false), issue: job.workspaceIssue().Variables()}
	c := &core{sandbox: a.sandbox, repository: job.Repository, workspaces: job.Workspaces}
	a.preparation = &preparation{core: c, Setup: job.Repository.setup()}
	a.leftovers = &leftovers{harvester: &harvester{core: c, began: time.Now()}}
	a.filler = &filler{core: c, leftovers: a.leftovers, preparation: a.preparation}
	a.publication = publication{filler: a.filler, check: check{a.filler, a.dirs.renewCheckTmp}, look: a.newLook(), publishing: make(chan struct{}, 1), told: a.receipt}
	if !job.StopAt.IsZero() {
		a.publication.until = job.StopAt.Add(job.stoppedTime)
	}
	if job.Repository != nil {
		a.sandbox.hooks = job.Repository.Hooks
	}
	return a
}

// attempt is an attempt in progress: the order of its steps, and its parts.
type attempt struct {
	Job
	progress
	stopped func() time.Time // returns the time when the context of the attempt ended; to be called only then

	issue        *SessionIssue
	conversation conversation // tools reply and ask, with which the agent speaks to people
	dirs         sessionDirs
	sandbox      *sandbox
	preparation  *preparation
	leftovers    *leftovers
	filler       *filler
	publication  publication

	usage     schedule.Usage // tokens of the sessions that have ended
	changed   bool           // the session changed the workspace; if its work is taken, it published some
	questions []string       // questions of the agent
	resumed   bool           // the session continues Thread
	acted     bool           // the agent did more than speak in the latest turn
	hooked    bool           // after_run has been started in the sandbox since the latest turn
}

func (a *attempt) run(ctx context.Context) error {
	if a.Unsettled && a.Repository != nil {
		if done, err := a.settleAlone(ctx); done {
			return err
		}
	}
	a.enter(schedule.StatusPreparingWorkspace)
	template, err := prompt.ParseAt(a.Prompt, a.PromptLine)
	if err == nil {
		err = template.Check() // make no workspace for a prompt that cannot be rendered
	}
	if err != nil {
		return err
	}
	prepare := a.Workspaces.Prepare
	if a.Repository != nil {
		prepare = a.Workspaces.Begin
	}
	began := time.Now()
	ws, err := prepare(ctx, a.workspaceIssue())
	if err != nil {
		return a.logHook(began, err)
	}
	defer a.Workspaces.Release(ws)
	defer a.preparation.close()
	a.enter(schedule.StatusBuildingPrompt)
	prompts, err := a.prompts(template, !ws.CreatedNow)
	if err != nil {
		return err
	}
	if a.Repository != nil {
		a.enter(schedule.StatusLaunchingAgentProcess)
		return a.runInRepository(ctx, ws, template)
	}
	defer a.afterRun(ctx, ws)
	a.enter(schedule.StatusLaunchingAgentProcess)
	if err := a.beforeRun(ctx, ws); err != nil {
		return err
	}
	before := a.fingerprint(ctx, ws)
	err = a.runAgent(ctx, ws, codex.Open, func() error {
		if err := a.awaitPreflight(ctx); err != nil {
			return err
		}
		return a.runTurns(ctx, prompts.first(a.sandbox.session.Resumed()))
	})
	a.changed = before == "" || before != a.fingerprint(context.WithoutCancel(ctx), ws)
	return err
}

func (a *attempt) beforeRun(ctx context.Context, ws workspace.Workspace) error {
	began := time.Now()
	return a.logHook(began, a.Workspaces.BeforeRun(ctx, ws))
}

// afterRun runs the hook after every attempt, also a failed one (SPEC §5.3.4). Its
// failure does not change the outcome but is reported: the commits that a hook
// pushes, for example, exist nowhere else. In a stopped session it has less time.
func (a *attempt) afterRun(ctx context.Context, ws workspace.Workspace) {
	a.enter(schedule.StatusFinishing)
	rest, cancel := a.restOf(ctx)
	defer cancel()
	began := time.Now()
	if err := a.logHook(began, a.Workspaces.AfterRun(rest, ws)); err != nil {
		a.warnings = append(a.warnings, a.brief(err.Error())) // package workspace has logged it
	}
}

// restOf returns the context of the work after the turns: the context of the attempt, which
// ends stoppedTime later, or soon if the run is interrupted.
func (a *attempt) restOf(ctx context.Context) (rest context.Context, cancel func()) {
	rest, end := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() { // runs at once if the attempt was stopped before
		wait, cause := time.Until(a.stopped().Add(a.stoppedTime)), errStopped
		if context.Cause(ctx) == schedule.ErrInterrupted {
			wait, cause = interruptedHookTime, errInterruptedHook
		}
		time.AfterFunc(wait, func() { end(cause) })
	})
	return rest, func() { forget(); end(nil) }
}

// openSession opens a session over the connection to an agent process, with or without
// a thread.
type openSession func(context.Context, io.ReadWriteCloser, codex.Options) (*codex.Session, error)

// runAgent starts the agent process, opens a session, calls use while it is open, and stops the
// process. When it returns, no process of the session is alive.
func (a *attempt) runAgent(ctx context.Context, ws workspace.Workspace, open openSession, use func() error) error {
	defer a.cleanDirs()
	if err := a.dirs.make(ctx, a.Thread); err != nil {
		return err
	}
	isRepository := true // once the agent's program runs
	if a.Repository == nil {
		var err error
		if isRepository, err = a.Workspaces.Seal(ws); err != nil {
			return err
		}
	}
	defer func() {
		if err := a.Workspaces.Tidy(ws); err != nil {
			a.warn("the workspace was not cleaned up after the session", err)
		}
	}()
	server, options, err := a.start(ctx, ws, isRepository)
	if err != nil {
		return err
	}
	a.pid = options.PID
	a.enter(schedule.StatusInitializingSession)
	a.sandbox.here = place{Workspace: ws, room: a.dirs.temp}
	err = a.runSession(ctx, server, options, open, use)
	a.enter(schedule.StatusFinishing)
	server.log = a.log.With("session_id", a.lastSession)
	err = server.end(ctx, err)
	if errors.Is(err, endpoint.ErrLost) {
		a.endLost(ctx, options)
	}
	return err
}

func (a *attempt) runSession(ctx context.Context, server *appServer, options codex.Options, open openSession, use func() error) error {
	options.Events = func(e codex.Event) {
		a.EventLog.event(e)
		a.onEvent(e)
	}
	options.Wire = a.EventLog.wire
	session, err := open(ctx, server, options)
	if err != nil {
		return err
	}
	defer func() {
		session.Close()
		a.usage = usage(session.Tariffs())
	}()
	a.sandbox.session = session
	return a.dirs.withTokenFailure(use())
}

// awaitPreflight waits, before the first turn or program, until it is known whether sessions
// can work. The first session runs the check itself.
func (a *attempt) awaitPreflight(ctx context.Context) error {
	mustCheck, err := a.Preflight.enter(ctx)
	if mustCheck {
		err = a.sandbox.session.Check(ctx)
		a.Preflight.leave(err)
	}
	return err
}

// prompts holds the text of the first turn for a new thread and for a resumed one. The open
// session decides which of them is used.
type prompts struct{ fresh, resumed string }

// prompts renders the template for a workspace that has the files of the last session, or does
// not. It runs before the agent is started, so a template that fails costs no process.
func (a *attempt) prompts(template *prompt.Template, kept bool) (p prompts, err error) {
	run := prompt.Run{
		Attempt: a.Attempt, WorkspaceKept: kept, Refused: a.Redact(a.Refused), LeftOut: a.Redact(cmp.Or(a.leftovers.lost, a.LeftOut)), Delivers: a.Repository.delivers(),
		Blocked: a.Redact(a.Blocked), Hosts: a.Network.Hosts, Services: codex.ServiceNames(a.Services), Prepared: a.Repository.setup() != nil,
		Replies: a.CanAsk && len(itemIDs(a.Feedback)) > 0, Asks: a.CanAsk,
		Loopback: a.Loopback && a.Codex.UsesProfile(), UnixSockets: a.opensSockets(),
	}
	for _, f := range a.Feedback {
		f.Text, f.Code = a.Redact(f.Text), a.Redact(f.Code)
		run.Feedback = append(run.Feedback, f)
	}
	if repo := a.Repository; repo != nil {
		run.Branch, run.Base = repo.Checkout.Branch.String(), repo.Checkout.Base.String()
		run.Submodules = len(a.filler.submodules) > 0
		for i := range a.leftovers.aside {
			run.Aside = append(run.Aside, git.AsideBranch(i))
		}
	}
	if p.fresh, err = template.Render(a.Issue, run); err != nil || a.Thread == "" {
		return p, err
	}
	run.Resumed = true
	p.resumed, err = template.Render(a.Issue, run)
	return p, err
}

// FirstPrompt returns the prompt of a job's first turn in a new workspace and a new thread.
// Facts that only a workspace shows, such as submodules, are not in it.
func FirstPrompt(ctx context.Context, job Job) (string, error) {
	template, err := prompt.ParseAt(job.Prompt, job.PromptLine)
	if err != nil {
		return "", err
	}
	job.Thread = ""
	a := newAttempt(job, nil)
	p, err := a.prompts(template, false)
	if err != nil {
		return "", err
	}
	set, _ := a.gatherPictures(ctx, p.fresh, nil) // without them, as the session that reports the error
	return p.fresh + set.Text(), nil
}

func (p prompts) first(resumed bool) string {
	if resumed {
		return p.resumed
	}
	return p.fresh
}

// deniedPaths returns the paths that the agent may not read: the Codex home, the credential
// paths, the paths of codex.deny, and every file of this program that is not the session's own.
// These are the other workspaces, the homes and temporary folders of other sessions, the event
// logs, and the stores with the work of other agents.
func (a *attempt) deniedPaths(home string) []string {
	paths := slices.Concat(a.Denied.Paths, a.Codex.Deny, a.dirs.sockets.Denied, []string{a.Workspaces.Path()})
	if home != "" {
		paths = append(paths, filepath.Clean(home)) // the server cleans the path too
	}
	if a.dirs.all != "" {
		paths = append(paths, a.dirs.all)
	}
	if a.dirs.tokens != nil {
		paths = append(paths, a.dirs.tokens.Dir)
	}
	if a.Repository != nil && a.Repository.Host != nil { // the preflight has none
		paths = append(paths, a.Repository.Host.Dir())
	}
	if s := a.Repository.setup(); s != nil && s.Preparations != nil {
		paths = append(paths, s.Preparations.Folder.Path)
	}
	if logs := a.EventLog.folder(); logs != "" {
		paths = append(paths, logs)
	}
	return paths
}

func (a *attempt) cleanDirs() {
	if tokens := a.dirs.tokens; tokens != nil && tokens.Stranger() != nil {
		a.warn("look at what the session did", tokens.Stranger())
	}
	if err := a.dirs.clean(cmp.Or(a.thread, a.Thread)); err != nil {
		a.warn("files of the session were not removed", err)
	}
}

func (a *attempt) tools() []codex.Tool {
	tools := a.issue.tools()
	if a.Repository.delivers() {
		tools = append(tools, a.publication.tool())
	}
	if a.Repository.setup() != nil {
		tools = append(tools, a.preparation.tool())
	}
	if a.CanAsk { // both from the first session on: a thread keeps the tools that it began with
		tools = append(tools, a.conversation.replyTool(), a.conversation.askTool())
	}
	return tools
}

// runTurns runs turns until the issue needs no more of them, the agent has called
// deliver, or max_turns is reached (SPEC §7.1).
func (a *attempt) runTurns(ctx context.Context, text string) error {
	a.resumed = a.sandbox.session.Resumed()
	text, images := a.withPictures(ctx, text)
	for n := 1; ; n++ {
		if err := a.runTurn(ctx, text, images...); err != nil {
			return err
		}
		if len(a.questions) > 0 || !a.reread(ctx) || n >= a.MaxTurns || a.publication.done.Load() {
			return nil
		}
		if n > 1 && !a.acted && a.Repository.delivers() {
			return nil // it was asked to go on and had nothing to do: the host hands the issue over
		}
		text, images = prompt.Continuation(*a.issue.now, n+1, a.MaxTurns, a.Repository.delivers()), nil
		a.issue.now = nil // the next turn may change it
	}
}

func (a *attempt) runTurn(ctx context.Context, text string, images ...string) error {
	a.publication.done.Store(false)
	session := a.sandbox.session
	endSteering := a.Steering.Serve(ctx, a.steer)
	turn, err := session.Turn(ctx, codex.Input{Text: text, Images: images})
	endSteering()
	a.acted = turn.Acted
	if turn.ID != "" {
		a.lastSession = session.ThreadID() + "-" + turn.ID
	}
	a.questions = append(a.questions, turn.Questions...)
	a.questions = append(a.questions, a.conversation.take()...)
	return err
}

// reread reads the issue again, and reports whether the session should continue
// with it. If the issue cannot be read, the session ends without a failure: the next
// one starts with a read of the issue.
func (a *attempt) reread(ctx context.Context) bool {
	if err := a.issue.reread(ctx); err != nil {
		a.warn("the issue was not read after the turn, so the session ended there", err)
	}
	return a.issue.now != nil && a.Policy.IneligibleToContinue(*a.issue.now).None()
}

// fingerprint returns a digest of the workspace that changes with its content;
// empty when there is none.
func (a *attempt) fingerprint(ctx context.Context, ws workspace.Workspace) string {
	print, err := a.Workspaces.Fingerprint(ctx, ws)
	if err != nil {
		a.logger().Debug("workspace not fingerprinted", "error", err)
		return ""
	}
	return print
}

func (a *attempt) receipt(r receipt.Receipt) receipt.Receipt {
	r.Identifier, r.Title, r.URL = a.Issue.Identifier, a.Issue.Title, a.Issue.URL
	r.Sessions, r.Blocked = a.Sessions, a.progress.blocked.text()
	spent := a.Spent
	if session := a.sandbox.session; session != nil {
		r.Model = named(a.Codex.Choice)
		spent = spent.Plus(usage(session.Tariffs()))
	}
	r.Tokens = spent.Total()
	r.Cost = a.Policy.Budget.Prices.Words(spent)
	return r
}

// named returns a choice in Markdown; empty for Codex's own settings.
func named(c codex.Choice) string {
	var parts []string
	for _, part := range []struct{ before, value string }{
		{"", c.Model}, {"effort ", c.Effort}, {"service tier ", c.ServiceTier}, {"by the label ", c.Label},
	} {
		if part.value != "" {
			parts = append(parts, part.before+receipt.Code(part.value))
		}
	}
	return strings.Join(parts, ", ")
}

func usage(tariffs []codex.TariffUsage) (u schedule.Usage) {
	var list []schedule.TariffUsage
	for _, t := range tariffs {
		list = append(list, schedule.TariffUsage{
			Tariff: schedule.Tariff{Model: t.Model, Tier: t.Tier, Long: t.Long},
			Input:  t.Input, Cached: t.Cached, CacheWrite: t.CacheWrite, Output: t.Output, Reasoning: t.Reasoning,
		})
		u.Input, u.Output = u.Input+t.Input, u.Output+t.Output
	}
	u.Tariffs = schedule.TariffsOf(list)
	return u
}
