package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	// maxWait bounds how long a single tick in which nothing runs waits for
	// something that falls due: long enough for a continuation, too short for a
	// backoff.
	maxWait = 2 * time.Second
	// saveTime bounds the last save of an interrupted run.
	saveTime = 3 * time.Second
	// stopTime bounds the wait for everything that stopAll has stopped. It is more than any
	// of it takes.
	stopTime = attempt.StopTime + time.Minute
	// killTime bounds the same wait, and each after it, once the run was killed.
	killTime = 5 * time.Second
	// lookEvery is the time between two looks at WORKFLOW.md.
	lookEvery = time.Second
	// minRound is the least time between the beginnings of two rounds while sessions run:
	// one round, with its save, serves all sessions that end in this time.
	minRound = 20 * time.Millisecond
)

// loop holds the progress of one run. The goroutine of Run owns all of it, and its parts;
// sessions and other tasks send messages to its inbox.
type loop struct {
	*Runner
	core
	account

	// The parts. They know the collaborators that they are given, and not the loop.
	settings      settings
	setup         setupDigest
	issues        issueReader
	conversations conversations
	keeper        keeper
	orders        orders
	owners        owners
	files         files
	cleaner       cleaner
	pauseTest     pauseTest
	collector     collector
	notifier      notifier
	fleet         fleetPart
	outlook       outlook
	running       *sessions
	logs          *eventLogs
	display       display

	preflight *attempt.PreflightOnce // lets one session of a tick check for all

	lookAt     time.Time // time of the next look for changes of WORKFLOW.md
	roundStart time.Time // start of the last round
	abandoned  bool      // something did not end although it was stopped; nothing waits for it any more
}

// Run performs one tick, or ticks until ctx is done. The report is filled in also when the tick
// fails. It fails with the errors of the workflow and of Connect for bad settings, of the store
// (state_unreadable, state_conflict …), of the tracker when a single tick could not read it,
// and with [schedule.ErrInterrupted] when ctx ended it.
func (r *Runner) Run(ctx context.Context) (report.Tick, error) {
	l, err := r.run(ctx)
	return l.tick, err
}

func (r *Runner) run(ctx context.Context) (*loop, error) {
	l := newLoop(r)
	err := l.open(ctx)
	if err == nil {
		err = l.run(ctx)
	}
	l.finish(time.Now())
	if !l.abandoned { // otherwise a session may still use them
		l.files.close()
	}
	if l.display.stale {
		l.display.update(time.Now())
	}
	return l, err
}

func newLoop(r *Runner) *loop {
	l := &loop{
		Runner: r, core: core{remarks: remarks{log: r.Log}, tasks: newTasks(), ledger: ledger{unsaved: newUnsaved()}},
		preflight: attempt.NewPreflightOnce(), running: newSessions(),
	}
	redact := r.Redact
	if redact == nil {
		redact = func(text string) string { return text }
	}
	l.logs = &eventLogs{folder: r.Logs, transcripts: r.Transcripts, pages: r.Pages, run: r.Self.Run, redact: r.Redact, log: r.Log}
	l.policy = l.outlook.currentPolicy
	l.issues = issueReader{core: &l.core, issueCache: newIssueCache(), unasked: map[tracker.ID]bool{}, limit: new(rateLimit)}
	l.setup = setupDigest{core: &l.core, login: r.Login, renews: r.Once && r.Shards == 0, started: func() time.Time { return l.tick.Started }}
	l.settings = settings{core: &l.core, issues: &l.issues, setup: &l.setup, workflows: r.Workflows, open: r.Connect, watched: r.Refresh != nil}
	l.owners = owners{
		core: &l.core, ask: r.OwnerStatuses,
		status: map[schedule.Owner]schedule.OwnerStatus{}, job: map[schedule.Owner]string{}, adopted: map[tracker.ID]bool{}, collected: map[schedule.Owner]bool{},
	}
	l.conversations = conversations{core: &l.core, issues: &l.issues, redact: redact, failed: map[string]bool{}, posting: map[string]bool{}}
	l.account = account{core: &l.core, partial: r.Shards > 0}
	l.orders = orders{core: &l.core, issues: &l.issues, first: r.Order}
	l.collector = collector{core: &l.core, account: &l.account, owners: &l.owners, left: r.LeftResults}
	l.notifier = notifier{core: &l.core, account: &l.account, base: r.Web, hide: redact, isPart: r.Shards > 0, lasts: !r.Once, left: noticeTime}
	l.fleet = fleetPart{core: &l.core, setup: &l.setup, plan: r.Fleet, shards: r.Shards}
	l.keeper = keeper{&l.core, r.Store, r.Self, &l.issues, &l.setup, l.running, &l.fleet}
	l.files = files{core: &l.core, account: &l.account, keeper: &l.keeper, sessions: l.running, logs: r.Logs, repeats: !r.Once}
	l.cleaner = cleaner{
		core: &l.core, issues: &l.issues, conversations: &l.conversations, logs: l.logs, sessionDir: r.SessionDir, once: r.Once, searched: r.Shards > 0, removing: map[tracker.ID]bool{},
	}
	l.outlook = outlook{&l.core, &l.account, r, &l.settings, &l.setup, &l.issues, &l.conversations, &l.orders, l.running, &l.cleaner, &l.files, &l.fleet}
	l.display = display{core: &l.core, account: &l.account, outlook: &l.outlook, running: l.running, logs: l.logs, show: r.Progress}
	l.pauseTest = pauseTest{core: &l.core, causes: newCauseTests(r.Test)}
	l.tick.Started = time.Now()
	return l
}

// open reads the workflow and the state, and adopts the claims of dead runs.
func (l *loop) open(ctx context.Context) error {
	if err := l.settings.first(ctx); err != nil {
		return err
	}
	l.deadline = newDeadline(l.tick.Started, l.Deadline, l.delivers())
	if err := l.keeper.load(ctx); err != nil {
		return err
	}
	l.fleet.sliced = len(l.state.Claims)
	var err error
	if l.tick.Ordered, err = l.orders.takeFirst(); err != nil {
		return err
	}
	l.adopt(ctx)
	if l.tick.DryRun {
		return nil
	}
	l.display.refresh()
	l.Log.Info("started", "workflow", l.wf.Path, "tracker", l.wf.Settings.Tracker.Kind, "claims", len(l.state.Claims), "once", l.Once)
	return nil
}

// run repeats rounds and waits until there is nothing left to do.
func (l *loop) run(ctx context.Context) error {
	l.wg.Go(l.logs.prune)
	defer func() {
		l.awaitGoroutines()
		close(l.over)
		if len(l.tick.Rows) > 0 && !l.abandoned {
			l.logs.pruneLast()
		}
	}()
	l.replan = true
	for {
		if l.replan {
			l.gather(ctx)
		}
		if l.replan && ctx.Err() == nil {
			l.replan, l.roundStart = false, time.Now()
			if err := l.reconcile(ctx); err != nil && ctx.Err() == nil { // otherwise the interruption caused the error
				return l.stopAll(ctx, schedule.Interrupted, err)
			}
		}
		switch now := time.Now(); {
		case ctx.Err() != nil:
			if n := l.running.count(); n > 0 {
				l.Log.Info("interrupted: ending sessions, up to 10 s; interrupt again to kill them", "sessions", n)
			}
			return l.stopAll(ctx, schedule.Interrupted, schedule.ErrInterrupted)
		case l.deadline.stops(now):
			l.Log.Warn("deadline reached: stopping", "deadline", l.Deadline)
			if err := l.stopAll(ctx, schedule.DeadlineReached, nil); err != nil {
				return err
			}
			return l.files.err
		case l.Once && l.finished(now):
			return l.ended(ctx)
		}
		l.wait(ctx)
	}
}

// wait sleeps until a message arrives, it is time to look at WORKFLOW.md, or time alone may
// change the plan, then applies all messages that have arrived.
func (l *loop) wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(l.alarm()))
	defer timer.Stop()
	var show <-chan time.Time
	if l.display.stale {
		show = time.After(time.Until(l.display.shownAt.Add(showEvery)))
	}
	look := time.NewTimer(time.Until(l.lookAt))
	defer look.Stop()
	for {
		select {
		case <-look.C:
			l.lookAt = time.Now().Add(lookEvery)
			if !l.Workflows.Changed() {
				look.Reset(lookEvery)
				continue // nothing has happened
			}
			l.replan = true
		case <-show:
			l.display.refresh()
		case m := <-l.inbox:
			m()
			l.drain()
		case <-timer.C:
			l.replan = true
		case <-l.Refresh:
			l.nextPoll = time.Now()
			l.replan = true
		case r := <-l.Requests:
			r.Done <- l.orders.request(r)
		case <-ctx.Done():
		}
		return
	}
}

// drain applies the messages that are waiting in the inbox, so that one round
// serves them all.
func (l *loop) drain() {
	for {
		select {
		case m := <-l.inbox:
			m()
		default:
			return
		}
	}
}

// gather applies messages until minRound has passed since the last round began, or until
// no session runs.
func (l *loop) gather(ctx context.Context) {
	rest := time.NewTimer(time.Until(l.roundStart.Add(minRound)))
	defer rest.Stop()
	for l.running.count() > 0 {
		select {
		case m := <-l.inbox:
			m()
		case <-rest.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *loop) alarm() time.Time {
	at := l.nextPoll
	if wake, ok := l.state.Wake(l.policy(), l.roundStart); ok && wake.Before(at) {
		at = wake // maybe in the past: something fell due while the round planned
	}
	if stop := l.deadline.stopAt; !stop.IsZero() && stop.Before(at) {
		at = stop
	}
	return at
}

// finished reports whether a single tick is over: nothing runs, and nothing that
// falls due within maxWait would be started.
func (l *loop) finished(now time.Time) bool {
	if l.replan || l.waitsForMessages() || l.issues.awaitsTracker(now) {
		return false
	}
	at, ok := l.state.Wake(l.policy(), l.roundStart)
	switch {
	case !ok || at.Sub(now) > maxWait:
		return true
	case !at.After(now):
		return false // it fell due while the round planned: the next round begins at once
	}
	for _, d := range schedule.Plan(l.state, l.outlook.snapshot(at), l.policy(), at) {
		if d.Action == schedule.Dispatch {
			return false
		}
	}
	return true
}

// ended saves the state of a single tick that was not stopped early.
func (l *loop) ended(ctx context.Context) error {
	err := l.saveLast(ctx, l.failure())
	switch {
	case err != nil:
		return err
	case !l.issues.listed() && !l.settings.bad.None():
		return nil // the report has the workflow's error; reconciling was all there was to do
	case l.issues.unread != nil:
		return l.issues.unread
	}
	return l.files.err
}

// failure returns the reason for which the run did less than it should have; nil if there is
// none.
func (l *loop) failure() error {
	switch {
	case !l.settings.bad.None():
		return errors.New(l.settings.bad.String())
	case l.issues.unread != nil:
		return l.issues.unread
	}
	return l.files.err
}

// saveLast saves the state at the end of a run, with the error that ends the run or nil, and
// tells the destinations of notices what is news. An interrupted run leaves that to the next one.
func (l *loop) saveLast(ctx context.Context, failure error) error {
	var news []telling
	err := l.keeper.saveOver(ctx, "close the state", func() error {
		l.remember(time.Now())
		if !errors.Is(failure, schedule.ErrInterrupted) {
			news = l.notifier.mark(time.Now(), nil, true, failure)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.notifier.flush(news) {
		if err := l.keeper.saveOver(ctx, "note who was not told", func() error { return nil }); err != nil {
			l.Log.Warn("it is not noted which destinations were not told: the next run does not tell them", "error", err)
		}
	}
	return nil
}

// stopAll stops every session for a reason, gracefully and in bounded time, and
// saves their claims.
func (l *loop) stopAll(ctx context.Context, reason schedule.Reason, err error) error {
	l.tick.Stopped, l.conversations.stopped = string(reason), true
	if err != nil && !errors.Is(err, schedule.ErrInterrupted) {
		l.tick.Stopped = "failed"
	}
	for id, w := range l.running.owned {
		if l.state.Claims[id].Phase == schedule.Running { // otherwise it is being stopped for a reason of its own
			l.state.Apply(schedule.Decision{Action: schedule.Stop, ID: id, Why: schedule.Why{Reason: reason, Detail: stopText(reason)}}, time.Now())
		}
		w.cancel(schedule.StopError(reason))
	}
	l.tasks.stop(schedule.StopError(reason))
	l.awaitMessages()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	failure := err
	if err == nil {
		failure = l.failure()
	}
	again := l.saveLast(last, failure)
	if again != nil && err != nil && !errors.Is(err, schedule.ErrInterrupted) {
		l.Log.Warn("the last save failed too", "error", again) // the reason is the one that ends the run
		return err
	}
	return errors.Join(err, again)
}

// waitsForMessages reports whether something is in progress whose end will be a message.
func (l *loop) waitsForMessages() bool {
	return l.running.count() > 0 || len(l.begun) > 0
}

// awaitMessages applies messages until nothing is in progress, for stopTime at most. A killed
// run waits for killTime. Sessions that have not ended then are abandoned: their claims stay as
// they are, and the next run adopts them.
func (l *loop) awaitMessages() {
	enough, killed := time.After(stopTime), l.Killed
	for l.waitsForMessages() {
		select {
		case m := <-l.inbox:
			m()
		case <-killed:
			enough, killed = time.After(killTime), nil
		case <-enough:
			l.abandoned = true
			text := fmt.Sprintf("what was stopped did not end (sessions: %d, other tasks: %d): the next run takes over its issues",
				l.running.count(), len(l.begun))
			l.warn(text)
			l.Log.Error(text)
			return
		}
	}
}

// awaitGoroutines waits until no goroutine of the run is left, in the same bounds. Messages
// that arrive are too late to be applied: the state is saved.
func (l *loop) awaitGoroutines() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.wg.Wait()
	}()
	enough, killed := time.After(stopTime), l.Killed
	if l.abandoned {
		enough = time.After(0)
	}
	for {
		select {
		case <-l.inbox:
		case <-ended:
			return
		case <-killed:
			enough, killed = time.After(killTime), nil
		case <-enough:
			l.abandoned = true
			return
		}
	}
}

// Assign performs the plan of a fleet: a tick that gives its sessions to shards. It returns
// after their claims are saved. It fails with the errors of [Runner.Run].
func (r *Runner) Assign(ctx context.Context) (fleet.Plan, report.Tick, error) {
	l, err := r.run(ctx)
	if err != nil {
		return fleet.Plan{}, l.tick, err
	}
	plan := l.fleet.slices(l.tick.Ended)
	for _, shard := range plan.Shards {
		l.tick.Assigned.Issues += len(shard.State.Claims)
	}
	l.tick.Assigned.Shards = len(plan.Shards)
	if l.tick.Assigned.Shards > 0 {
		l.Log.Info("planned", "issues", l.tick.Assigned.Issues, "shards", l.tick.Assigned.Shards)
	}
	return plan, l.tick, nil
}
