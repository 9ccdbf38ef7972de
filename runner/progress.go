package runner

import (
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
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

// display holds the data that the loop keeps only for people who watch the run.
type display struct {
	show    func(progress.Progress) // Progress of [Runner]; nil without a display, and then nothing is kept
	events  progress.Events
	queue   progress.Queue              // queue of the last round
	held    map[tracker.ID]schedule.Why // reasons why claims did not start in it
	budget  schedule.Why                // spent budget of all issues; zero for none
	shownAt time.Time
	stale   bool // something has changed since
}

// happened notes an event of the run about an issue.
func (d *display) happened(id tracker.ID, identifier, kind, text string) {
	if d.show != nil {
		d.events = d.events.Add(progress.Event{At: time.Now(), ID: id, Identifier: identifier, Kind: kind, Text: text}, runEvents)
	}
}

// heard notes an update of a session.
func (d *display) heard(w *worker, u attempt.Update, identifier string) {
	if d.show != nil && u.Event != "" {
		w.events = w.events.Add(progress.Event{At: u.At, ID: w.id, Identifier: identifier, Kind: u.Event, Text: u.Summary}, sessionEvents)
	}
}

// isDue reports whether a change is to be shown now. If another was shown a moment ago, it
// will be soon.
func (d *display) isDue(now time.Time) bool {
	if d.show == nil {
		return false
	}
	d.stale = now.Sub(d.shownAt) < showEvery
	return !d.stale
}

// update shows the present progress.
func (d *display) update(p progress.Progress) {
	d.shownAt, d.stale = p.At, false
	p.Events, p.Queue, p.Held = d.events, d.queue, d.held
	if !d.budget.None() {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Budget, Text: d.budget.Detail})
	}
	d.show(p)
}

// noteQueue notes which issues wait for room, and why claims that wait do not start.
func (d *display) noteQueue(verdicts []schedule.Verdict, listed time.Time) {
	issues := schedule.Queue(verdicts)
	d.queue = progress.Queue{Length: len(issues), Listed: listed}
	for _, issue := range issues[:min(len(issues), progress.MaxNext)] {
		d.queue.Next = append(d.queue.Next, schedule.Claim{ID: issue.ID, Identifier: issue.Identifier, Title: issue.Title, URL: issue.URL, State: issue.State})
	}
	d.held = map[tracker.ID]schedule.Why{}
	for _, v := range verdicts {
		if v.Why.Reason == schedule.OpenLimit && d.queue.Limit.None() {
			d.queue.Limit = v.Why
		}
		if v.Phase == schedule.Waiting && v.Action == "" && v.Why.Reason != schedule.NotDue {
			d.held[v.Issue.ID] = v.Why
		}
	}
}

// progress shows the present progress, if that is due.
func (l *loop) progress() {
	if now := time.Now(); l.display.isDue(now) {
		l.display.update(l.view(now))
	}
}

// view returns the run as a display shows it.
func (l *loop) view(now time.Time) progress.Progress {
	policy := l.policy()
	p := progress.Progress{
		At: now, Started: l.tick.Started, Workflow: l.wf.Path, Tracker: l.wf.Settings.Tracker.Kind,
		Slots: policy.MaxConcurrent, NextPoll: l.nextPoll, Deadline: l.deadline.stopAt, Pause: l.state.Pause,
		Root: l.root(), Logs: l.logs.readable(), Comments: l.comments(),
		Asked: map[tracker.ID]string{}, Deliveries: maps.Clone(l.state.Deliveries), Checks: l.state.Checks(),
		Spent: l.spent(), Today: l.state.SpentToday(now), Prices: policy.Budget.Prices, Limits: l.state.RateLimits, Completed: l.state.Completed,
		NoRoom: schedule.NoRoom(l.state, schedule.Snapshot{Hold: l.hold(now)}, policy, now),
	}
	for _, t := range l.problems {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: t.source, Text: t.text})
	}
	if down := schedule.NameDownHosts(l.state.DownHosts(policy, now)); down != "" {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Hosts, Text: "left alone after a failure: " + down})
	}
	for _, w := range slices.SortedFunc(maps.Values(l.running.owned), l.compareWorkers) {
		p.Sessions = append(p.Sessions, progress.Session{
			Claim: l.state.Claims[w.id], ID: w.last.Session, PID: w.last.PID, Status: w.last.Status, Started: w.started, Model: report.Choice(w.choice).Words(),
			Event: w.last.Event, Summary: w.last.Summary, Doing: w.last.Doing, Log: w.eventLog, Live: w.live, Events: w.events,
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
	return p
}

// noteRound notes for the display the issues that the round has left waiting.
func (l *loop) noteRound(now time.Time) {
	if l.display.show != nil {
		l.display.noteQueue(schedule.Explain(l.state, l.snapshot(now), l.policy(), now), l.issues.listedAt)
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
