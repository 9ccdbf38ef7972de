package runner

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

const (
	// showEvery is the least time between two updates of the display: sessions send
	// more of them than anybody can read.
	showEvery     = 100 * time.Millisecond
	runEvents     = 50 // kept of the run
	sessionEvents = 20 // kept of a session
)

// display holds what the loop keeps only for people who watch the run.
type display struct {
	events  progress.Events
	queue   progress.Queue              // as of the last round
	held    map[tracker.ID]schedule.Why // why claims did not start in it
	budget  schedule.Why                // of all issues, which is spent; zero for none
	shownAt time.Time
	stale   bool // something has changed since
}

// happened notes for the display what the run did about an issue.
func (l *loop) happened(id tracker.ID, identifier, kind, text string) {
	if l.Progress == nil {
		return
	}
	l.display.events = l.display.events.Add(progress.Event{At: time.Now(), ID: id, Identifier: identifier, Kind: kind, Text: text}, runEvents)
}

// heard notes an update of a session for the display.
func (l *loop) heard(m updated) {
	if l.Progress == nil || m.update.Event == "" {
		return
	}
	m.events = m.events.Add(progress.Event{At: m.update.At, ID: m.id, Identifier: l.nameOf(m.id), Kind: m.update.Event, Text: m.update.Summary}, sessionEvents)
}

// progress shows what is going on, if there is a display and it was not shown a moment
// ago: then it will be soon.
func (l *loop) progress() {
	switch now := time.Now(); {
	case l.Progress == nil:
	case now.Sub(l.display.shownAt) < showEvery:
		l.display.stale = true
	default:
		l.show(now)
	}
}

// show passes on what is going on.
func (l *loop) show(now time.Time) {
	l.display.shownAt, l.display.stale = now, false
	policy := l.policy()
	p := progress.Progress{
		At: now, Started: l.tick.Started, Workflow: l.wf.Path, Tracker: l.wf.Settings.Tracker.Kind,
		Slots: policy.MaxConcurrent, NextPoll: l.nextPoll, Deadline: l.deadline.stopAt, Pause: l.state.Pause,
		Root: l.conn.Workspaces.Path(), Logs: l.readableLogs(), Comments: l.comments(),
		Asked: map[tracker.ID]string{}, Deliveries: maps.Clone(l.state.Deliveries),
		Spent: l.spent(), Today: l.state.SpentToday(now), Limits: l.state.RateLimits, Completed: l.state.Completed,
		NoRoom: schedule.NoRoom(l.state, schedule.Snapshot{Hold: l.hold(now)}, policy, now),
		Events: l.display.events, Queue: l.display.queue, Held: l.display.held,
	}
	for _, t := range l.problems {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: t.source, Text: t.text})
	}
	if !l.display.budget.None() {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Budget, Text: l.display.budget.Detail})
	}
	for _, w := range slices.SortedFunc(maps.Values(l.workers), l.compareWorkers) {
		p.Sessions = append(p.Sessions, progress.Session{
			Claim: l.state.Claims[w.id], ID: w.last.Session, PID: w.last.PID, Status: w.last.Status, Started: w.started,
			Event: w.last.Event, Summary: w.last.Summary, Doing: w.last.Doing, Log: w.eventLog, Events: w.events,
		})
	}
	for id, c := range l.state.Claims {
		switch c.Phase {
		case schedule.Running, schedule.Stopping:
			if c.Owner != l.state.Self {
				p.Elsewhere = append(p.Elsewhere, c)
			}
		case schedule.Waiting:
			p.Waiting = append(p.Waiting, c)
		case schedule.Parked:
			p.Parked = append(p.Parked, c)
		}
		if asked := l.state.Conversations[id].Asked; asked != "" {
			p.Asked[id] = asked
		}
	}
	p.Elsewhere = schedule.SortedClaims(p.Elsewhere, byName)
	p.Waiting = schedule.SortedClaims(p.Waiting, byName)
	p.Parked = schedule.SortedClaims(p.Parked, byName)
	l.Progress(p)
}

// noteQueue notes for the display which issues wait for room, and why claims that wait do not
// start.
func (l *loop) noteQueue(now time.Time) {
	if l.Progress == nil {
		return
	}
	verdicts := schedule.Explain(l.state, l.snapshot(now), l.policy(), now)
	issues := schedule.Queue(verdicts)
	l.display.queue = progress.Queue{Length: len(issues), Listed: l.issues.listedAt}
	for _, issue := range issues[:min(len(issues), progress.MaxNext)] {
		l.display.queue.Next = append(l.display.queue.Next, schedule.Claim{ID: issue.ID, Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State})
	}
	l.display.held = map[tracker.ID]schedule.Why{}
	for _, v := range verdicts {
		if v.Phase == schedule.Waiting && v.Action == "" && v.Why.Reason != schedule.NotDue {
			l.display.held[v.Issue.ID] = v.Why
		}
	}
}

// noteBudget notes which budget is spent, so that nothing more starts. The log says it
// once: no session and no issue does.
func (l *loop) noteBudget(now time.Time) {
	before := l.display.budget.Reason
	l.display.budget = l.state.SpentBudget(l.policy().Budget, now)
	if why := l.display.budget; !why.None() && why.Reason != before {
		l.Log.Warn("nothing more starts", "reason", why.Detail)
	}
}

// compareWorkers orders sessions by the identifiers of their issues.
func (l *loop) compareWorkers(a, b *worker) int {
	return tracker.CompareNaturally(l.state.Claims[a.id].Identifier, l.state.Claims[b.id].Identifier)
}

// byName orders claims by the identifiers of their issues.
func byName(a, b *schedule.Claim) int {
	return tracker.CompareNaturally(a.Identifier, b.Identifier)
}
