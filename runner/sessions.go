package runner

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/workspace"
)

func (l *loop) perform(ctx context.Context, decisions []schedule.Decision) {
	for _, d := range decisions {
		if d.Action != schedule.Observe {
			l.display.happened(d.ID, cmp.Or(d.Issue.Identifier, l.nameOf(d.ID)), d.Action.Happened(), d.Why.String())
		}
		switch d.Action {
		case schedule.Dispatch:
			if d.Owner.Shard > 0 {
				l.Log.Info("assigned", "issue_id", d.ID, "issue_identifier", d.Issue.Identifier, "shard", d.Owner.Shard)
				break
			}
			l.dispatch(ctx, d)
		case schedule.Steer:
			l.steer(d)
		case schedule.Stop:
			w := l.running.owned[d.ID]
			w.log.Info(d.Action.Happened(), "session_id", w.last.Session, "pid", w.last.PID, "reason", d.Why.String())
			w.cancel(schedule.StopError(d.Why.Reason))
		case schedule.Release, schedule.Free:
			l.Log.Info(d.Action.Happened(), "issue_id", d.ID, "issue_identifier", d.Issue.Identifier, "reason", d.Why.String())
			if d.Clean {
				l.cleaner.remove(workspace.Issue{ID: string(d.ID), Identifier: d.Issue.Identifier}, d.Hosts)
			}
		case schedule.Finish:
			l.Log.Info(d.Action.Happened(), "issue_id", d.ID, "issue_identifier", l.nameOf(d.ID), "reason", d.Why.String())
			if d.Clean {
				l.cleaner.remove(workspace.Issue{ID: string(d.ID), Identifier: l.nameOf(d.ID)}, d.Hosts)
			}
			l.conversations.finish(ctx, d)
		case schedule.Park:
			l.tick.Parked = append(l.tick.Parked, d.ID)
			l.Log.Warn(d.Action.Happened(), "issue_id", d.ID, "issue_identifier", d.Issue.Identifier, "reason", d.Why.String())
		}
	}
}

// dispatch starts a session on an issue whose claim is saved. speak is the context of the posts
// about it afterwards.
func (l *loop) dispatch(speak context.Context, d schedule.Decision) {
	issue := d.Issue
	claim := l.state.Claims[issue.ID]
	l.issues.learn(issue, l.issues.readAt[issue.ID])
	log := l.Log.With("issue_id", issue.ID, "issue_identifier", issue.Identifier)
	w := &worker{
		id: issue.ID, claim: claim, log: log, started: time.Now(), speak: speak,
		head: l.state.Deliveries[issue.ID].Head,
	}
	if d.Feedback.Round != "" {
		talk := l.state.Conversations[issue.ID]
		w.round, w.rounds = d.Feedback.Summary, talk.Rounds+talk.CheckRounds
	}
	ctx := l.running.begin(w)
	job := l.jobFor(d, claim, &w.given)
	job.Log, job.Own, job.Steering, w.choice = log, &w.own, &w.steering, job.Codex.Choice
	first := l.logs.sessionOf(issue, w.started)
	first.Attempt, first.Number, first.Host = claim.Attempt, claim.Sessions, claim.Host
	logs := l.logs.options(first, log)
	if logs.Folder != "" {
		w.eventLog = filepath.Join(logs.Folder, logs.Name)
		if l.display.show != nil || l.OnSession != nil {
			w.live = transcript.NewLive(l.Redact)
			logs.Live = w.live
		}
	}
	attrs := []any{"state", issue.State, "attempt", claim.Attempt, "session", claim.Sessions}
	if claim.Host != "" {
		attrs = append(attrs, "worker_host", claim.Host)
	}
	if c := w.choice; c.Label != "" {
		attrs = append(attrs, "label", c.Label, "model", c.Model, "effort", c.Effort, "service_tier", c.ServiceTier)
	}
	log.Info(d.Action.Happened(), attrs...)
	l.startSession(w, claim, job)
	handOver := l.wf.Settings.Delivery.HandOver
	run := l.RunSession
	if l.conn.Hosts != nil {
		run = l.conn.Hosts.Run
	}
	l.wg.Go(func() { l.work(ctx, w, job, run, logs, handOver) })
}

// jobFor returns the job of a session on an issue, whose claim this is. It adds the items of
// feedback to given.
func (l *loop) jobFor(d schedule.Decision, claim schedule.Claim, given *givenItems) attempt.Job {
	issue := d.Issue
	job := attempt.Job{
		Issue: issue, Attempt: claim.Attempt, Thread: claim.Thread, Sessions: claim.Sessions, Spent: claim.Spent(), Host: claim.Host,
		Prompt: l.wf.Prompt, PromptLine: l.wf.PromptLine, MaxTurns: l.wf.Settings.MaxTurns, Codex: l.wf.Settings.Codex.For(issue.Labels), Policy: l.policy(),
		Tracker: l.conn.Tracker, Workspaces: l.conn.Workspaces, Version: l.Version,
		Preflight: l.preflight, Redact: l.Redact, Account: l.Account, SessionDir: l.SessionDir, Program: l.Program, Denied: l.Denied,
		Loopback: l.wf.Settings.Loopback, UnixSockets: l.wf.Settings.UnixSockets, Network: l.wf.Settings.Network, HookNetwork: l.wf.Settings.HookNetwork, Services: l.wf.Settings.Services, Lookup: l.Lookup,
		Images: l.wf.Settings.Images, CanAsk: l.conn.Feedback != nil, StopAt: l.deadline.stopAt, Test: l.pauseTest.causes.of(l.wf),
	}
	job.Feedback, job.Reply = l.conversations.itemsFor(d, given), l.conversations.replyTo(d.ID, given)
	if l.conn.Feedback != nil {
		job.PullPictures = l.conn.Feedback.Pictures
	}
	if claim.Feedback {
		job.Policy = job.Policy.Answering()
	}
	if l.conn.Repository != nil {
		job.Repository = l.files.forSession(issue)
		job.Unsettled = claim.Unsettled && len(job.Feedback) == 0
		last := l.state.Deliveries[issue.ID]
		job.Refused, job.LeftOut, job.Blocked = last.Refused, last.LeftOut, last.Blocked
	}
	return job
}

// runSession runs one session to its end, as [attempt.Run] does.
type runSession func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome

// work runs a session in the worker's own goroutine. Updates that arrive while
// the loop is busy are merged, so a session never waits for the loop.
func (l *loop) work(ctx context.Context, w *worker, job attempt.Job, run runSession, logs attempt.LogOptions, to workflow.HandOver) {
	defer w.cancel(nil)
	updates := newMailbox()
	l.wg.Go(func() {
		for u := range updates.out {
			l.send(func() { l.hear(w, u) })
		}
		updates.drained <- struct{}{}
	})
	if logs.Folder != "" {
		job.EventLog = attempt.OpenEventLog(logs)
	}
	var log SessionLog
	outcome := run(ctx, job, func(u attempt.Update) {
		log.append(u)
		updates.put(u)
	})
	outcome = job.EventLog.End(handOver(ctx, job, to, outcome))
	updates.close()
	l.send(func() { l.end(exited{w, outcome, log}) })
	l.logs.writePage(w.log, job.EventLog) // only now: nothing waits for it but the end of the run
	l.logs.prune()
}

// hear applies an update of a session.
func (l *loop) hear(w *worker, u attempt.Update) {
	w.last = u.Merge(w.last)
	l.display.heard(w, u, l.nameOf(w.id))
	if l.running.owned[w.id] == w {
		l.heartbeat(w.id, u)
	}
	l.warn(u.Warnings...)
	l.replan = l.replan || l.policy().Budget.LimitsSpending() || u.Turn == schedule.TurnBegan && l.conversations.hasNews(w.id)
	l.display.refresh()
}

// end applies the end of a session.
func (l *loop) end(m exited) {
	now := time.Now()
	if l.running.end(m.worker, now) {
		l.endLost(m, now)
		return
	}
	m.outcome = l.reclassify(m.id, m.outcome, now)
	claim := l.state.Claims[m.id]
	switch o := m.outcome; {
	case o.Gone:
		l.issues.gone(m.id, now)
	case o.Issue != nil:
		l.issues.learn(*o.Issue, now)
	default:
		l.issues.doubt(m.id)
	}
	next := l.recordExit(m.id, m.outcome, now)
	l.record(m, claim, next, now)
	l.conversations.tellOfRound(m.worker, m.outcome, next)
	l.logSession(m, claim, next, now)
	if next.Phase == schedule.Parked {
		l.tick.Parked = append(l.tick.Parked, m.id)
	}
	l.warnUnfinished(claim, next)
	if next.Phase == "" && isOver(next.Why.Reason) {
		l.issues.drop(m.id) // no plan needs to look at it again
	}
	if next.Clean {
		l.cleaner.remove(workspace.Issue{ID: string(m.id), Identifier: claim.Identifier, Attempt: claim.Attempt}, claim.Hosts())
	}
	l.replan = true
	l.display.refresh()
}

// endLost applies the end of a session that lost its claim. It changes no claim.
func (l *loop) endLost(m exited, now time.Time) {
	l.issues.doubt(m.id)
	next := schedule.Next{Why: schedule.Why{Reason: schedule.ClaimLost, Detail: "the state no longer holds its claim"}}
	l.record(m, m.claim, next, now)
	l.logSession(m, m.claim, next, now)
	l.replan = true
	l.display.refresh()
}

// unfinishedSessions is the number of sessions on an issue from which on a run that stops
// one at its end says so.
const unfinishedSessions = 5

// warnUnfinished warns of an issue whose sessions the end of each run stops. That counts as
// no failure, so such an issue is never parked, and without a budget of tokens it goes on for
// ever.
func (l *loop) warnUnfinished(claim schedule.Claim, next schedule.Next) {
	switch claim.StopReason {
	case schedule.DeadlineReached, schedule.Interrupted:
	default:
		return
	}
	if next.Phase == schedule.Waiting && claim.Sessions >= unfinishedSessions {
		l.warn(fmt.Sprintf("%s: the end of the run stopped session %d on it, and the next run goes on: if that happens each time, give runs more time, make the issue smaller, or set budget.max_tokens_per_issue",
			l.nameOf(claim.ID), claim.Sessions))
	}
}

// mailbox passes updates from a session to the loop. It holds at most one: a new
// update is merged into the waiting one, so put never blocks and nothing that
// counts is lost.
type mailbox struct {
	out     chan attempt.Update // capacity 1: the waiting update
	drained chan struct{}
}

func newMailbox() mailbox {
	return mailbox{out: make(chan attempt.Update, 1), drained: make(chan struct{}, 1)}
}

// put adds an update. It is called by one goroutine at a time.
func (m mailbox) put(u attempt.Update) {
	for {
		select {
		case m.out <- u:
			return
		case old := <-m.out:
			u = u.Merge(old)
		}
	}
}

// close ends the mailbox. It returns once the last update has been received.
func (m mailbox) close() {
	close(m.out)
	<-m.drained
}

func (l *loop) startSession(w *worker, claim schedule.Claim, job attempt.Job) {
	if l.OnSession == nil {
		return
	}
	s := SessionStart{Claim: claim, Workspace: filepath.Join(l.root(), workspace.Key(claim.Identifier)), File: w.eventLog, Live: w.live}
	if job.Repository != nil {
		s.Branch = job.Repository.Checkout.Branch.String()
	}
	w.onEnd = l.OnSession(s)
}

func (l *loop) logSession(m exited, claim schedule.Claim, next schedule.Next, now time.Time) {
	if m.onEnd == nil {
		return
	}
	session := m.session
	session.Claim, session.Outcome, session.Next, session.Took = claim, m.outcome, next, now.Sub(m.started)
	session.Delivers, session.File, session.Prices = l.delivers(), m.eventLog, l.wf.Settings.Policy.Budget.Prices
	m.onEnd(session)
}
