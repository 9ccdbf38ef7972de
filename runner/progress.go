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
	*core
	*account
	outlook *outlook
	running *sessions
	logs    *eventLogs

	show    func(progress.Progress) // Progress of [Runner]; nil without a display, and then nothing is kept
	events  progress.Events
	queue   progress.Queue              // queue of the last round
	held    map[tracker.ID]schedule.Why // reasons why claims did not start in it
	budget  schedule.Why                // spent budget of all issues; zero for none
	shownAt time.Time
	stale   bool // something has changed since
}

func (d *display) happened(id tracker.ID, identifier, kind, text string) {
	if d.show != nil {
		d.events = d.events.Add(progress.Event{At: time.Now(), ID: id, Identifier: identifier, Kind: kind, Text: text}, runEvents)
	}
}

func (d *display) heard(w *worker, u attempt.Update, identifier string) {
	if d.show != nil && u.Event != "" {
		w.events = w.events.Add(progress.Event{At: u.At, ID: w.id, Identifier: identifier, Kind: u.Event, Text: u.Summary}, sessionEvents)
	}
}

// refresh shows the present progress now, or soon if another was shown a moment ago.
func (d *display) refresh() {
	if now := time.Now(); d.show != nil {
		if d.stale = now.Sub(d.shownAt) < showEvery; !d.stale {
			d.update(now)
		}
	}
}

func (d *display) update(now time.Time) {
	d.shownAt, d.stale = now, false
	d.show(d.view(now))
}

func (d *display) view(now time.Time) progress.Progress {
	policy := d.policy()
	p := progress.Progress{
		At: now, Started: d.tick.Started, Workflow: d.wf.Path, Tracker: d.wf.Settings.Tracker.Kind,
		Slots: policy.MaxConcurrent, NextPoll: d.nextPoll, Deadline: d.deadline.stopAt, Pause: d.state.Pause,
		Root: d.root(), Logs: d.logs.readable(), Comments: d.comments(),
		Asked: map[tracker.ID]string{}, Deliveries: maps.Clone(d.state.Deliveries), Checks: d.state.Checks(),
		Spent: d.spent(), Today: d.state.SpentToday(now), Prices: policy.Budget.Prices, Limits: d.state.RateLimits, Completed: d.state.Completed,
		NoRoom: schedule.NoRoom(d.state, d.outlook.hold(now), policy, now),
	}
	for _, t := range d.problems {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: t.source, Text: t.text})
	}
	if down := schedule.NameDownHosts(d.state.Hosts.Down(policy.Hosts, now)); down != "" {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Hosts, Text: "left alone after a failure: " + down})
	}
	for _, w := range slices.SortedFunc(maps.Values(d.running.owned), func(a, b *worker) int {
		return tracker.CompareNaturally(d.state.Claims[a.id].Identifier, d.state.Claims[b.id].Identifier)
	}) {
		p.Sessions = append(p.Sessions, progress.Session{
			Claim: d.state.Claims[w.id], ID: w.last.Session, PID: w.last.PID, Status: w.last.Status, Started: w.started, Model: report.Choice(w.choice).Settings(), Choice: report.Choice(w.choice).Words(),
			Event: w.last.Event, Summary: w.last.Summary, Doing: w.last.Doing, Log: w.eventLog, Live: w.live, Events: w.events,
		})
	}
	for id, c := range d.state.Claims {
		switch c.Phase {
		case schedule.Running, schedule.Stopping:
			if c.Owner != d.state.Self {
				p.Elsewhere = append(p.Elsewhere, c)
			}
		case schedule.Waiting:
			p.Waiting = append(p.Waiting, c)
		case schedule.Parked:
			p.Parked = append(p.Parked, c)
		}
		if asked := d.state.Conversations[id].Asked; asked != "" {
			p.Asked[id] = asked
		}
	}
	p.Elsewhere = schedule.Sorted(p.Elsewhere, byName)
	p.Waiting = schedule.Sorted(p.Waiting, byName)
	p.Parked = schedule.Sorted(p.Parked, byName)
	p.Events, p.Queue, p.Held = d.events, d.queue, d.held
	if !d.budget.None() {
		p.Trouble = append(p.Trouble, progress.Trouble{Source: progress.Budget, Text: d.budget.Detail})
	}
	return p
}

// noteRound notes which issues the round has left waiting for room, and why claims that wait do not
// start.
func (d *display) noteRound(now time.Time) {
	if d.show == nil {
		return
	}
	verdicts := schedule.Explain(d.state, d.outlook.snapshot(now), d.policy(), now)
	issues := schedule.Queue(verdicts)
	d.queue = progress.Queue{Length: len(issues), Listed: d.outlook.issues.listedAt}
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

// noteBudget notes which budget is spent, so that nothing more starts. The log says it
// once: no session and no issue does.
func (d *display) noteBudget(now time.Time) {
	before := d.budget.Reason
	d.budget = d.state.SpentBudget(d.policy().Budget, now)
	if why := d.budget; !why.None() && why.Reason != before {
		d.log.Warn("nothing more starts", "reason", why.Detail)
	}
}

func byName(a, b *schedule.Claim) int {
	return tracker.CompareNaturally(a.Identifier, b.Identifier)
}
