package runner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// noticeTime bounds the time that a tick spends on all destinations of notices together.
const noticeTime = 2 * time.Second

// notifier tells the destinations of WORKFLOW.md what has changed, each change once.
//
// It looks at the state and not at what happens: something that holds now and of which a
// destination was not told is news for it. The state notes what was told, before it is told: a
// run that is killed in between has told nobody, and no later run does. The entry goes with the
// condition, so that the next question of an issue is news again. A run that saves at the same
// time makes this one look again, so that only one of them tells. A destination that is new is
// not told what already holds.
type notifier struct {
	*core
	*account
	base   http.RoundTripper   // Web of [Runner]
	redact func(string) string // nil hides nothing
	isPart bool                // the run is a shard, which tells nobody
	lasts  bool                // the run is a service, which has no end that says that all went well

	left      time.Duration     // time of the tick that is left for destinations
	queue     []telling         // saved, and not yet sent
	sending   bool              // messages are on their way
	failures  map[string]string // reasons of the destinations that failed in this tick, by name
	completed int               // issues that the report had as completed at the last look
	worked    time.Time         // time at which they were more than before; zero for never in this run
}

// telling is a message for one destination.
type telling struct {
	to      notify.Destination
	what    []string
	notices []notify.Notice
}

// condition is something that destinations can be told of as long as it holds.
type condition struct {
	event notify.Event
	what  string // name of the condition
	// kept says that it cannot be news now: an entry about it stays, and none is made.
	kept   bool
	notice notify.Notice
}

// mark notes news in the state, and returns the messages to send after the state was saved. It is
// given the decisions of the round. ended reports whether the run ends, and failure why.
func (n *notifier) mark(now time.Time, decisions []schedule.Decision, ended bool, failure error) []telling {
	wanted := n.wf.Settings.Notify
	switch {
	case n.isPart:
		return nil
	case len(wanted.Destinations) == 0:
		n.state.SetTold(nil)
		n.state.Worked = time.Time{}
		return nil
	}
	n.noteWork(now)
	conditions := n.conditions(now, wanted, decisions, ended, failure)
	old := map[[2]string]schedule.Told{}
	for _, t := range n.state.Told {
		old[[2]string{t.To, t.What}] = t
	}
	told, tellings := []schedule.Told{}, []telling{}
	for _, d := range wanted.Destinations {
		if d.URL == "" { // off in this run, and not in others
			told = append(told, n.toldOf(d.Name)...)
			continue
		}
		t := telling{to: d}
		for _, e := range d.Events {
			seen := schedule.Told{To: d.Name, What: string(e)}
			_, known := old[[2]string{d.Name, seen.What}]
			told = append(told, seen)
			for _, c := range conditions[e] {
				before, was := old[[2]string{d.Name, c.what}]
				isNews := !was || before.Again
				switch {
				case was && !isNews, was && (c.kept || n.failures[d.Name] != ""):
					told = append(told, before)
				case c.kept, isNews && n.failures[d.Name] != "":
				default:
					told = append(told, schedule.Told{To: d.Name, What: c.what, Failed: before.Failed})
					if known {
						t.what, t.notices = append(t.what, c.what), append(t.notices, c.notice)
					}
				}
			}
		}
		if len(t.what) > 0 {
			tellings = append(tellings, t)
		}
	}
	n.state.SetTold(told)
	return tellings
}

// toldOf returns the entries of a destination.
func (n *notifier) toldOf(name string) []schedule.Told {
	return slices.DeleteFunc(slices.Clone(n.state.Told), func(t schedule.Told) bool { return t.To != name })
}

// noteWork notes the time of the last session that ended well, for [notify.NothingWorked]. The
// time begins when somebody first asks for it.
func (n *notifier) noteWork(now time.Time) {
	asked := slices.ContainsFunc(n.wf.Settings.Notify.Destinations, func(d notify.Destination) bool { return d.Wants(notify.NothingWorked) })
	if completed := n.tick.Counts().Completed; completed != n.completed {
		if completed > n.completed {
			n.worked = now.Truncate(time.Second)
		}
		n.completed = completed
	}
	switch {
	case !asked:
		n.state.Worked = time.Time{}
	case n.state.Worked.IsZero():
		n.state.Worked = now.Truncate(time.Second)
	case n.worked.After(n.state.Worked):
		n.state.Worked = n.worked
	}
}

// conditions returns all conditions, by event.
func (n *notifier) conditions(now time.Time, wanted workflow.Notify, decisions []schedule.Decision, ended bool, failure error) map[notify.Event][]condition {
	all := map[notify.Event][]condition{}
	add := func(c condition) {
		c.notice.Event = c.event
		all[c.event] = append(all[c.event], c)
	}
	for _, id := range slices.Sorted(maps.Keys(n.state.Claims)) {
		if claim := n.state.Claims[id]; claim.Phase == schedule.Parked {
			add(n.parked(claim))
		}
	}
	merged := map[tracker.ID]bool{}
	for _, d := range decisions {
		merged[d.ID] = d.Action == schedule.Finish && d.Feedback.Pull == schedule.PullMerged
	}
	for _, id := range slices.Sorted(maps.Keys(n.state.Deliveries)) {
		d := n.state.Deliveries[id]
		about := notify.Notice{Issue: n.hide(n.nameOf(id)), Title: n.hide(d.Title), IssueURL: d.IssueURL}
		place := d.Branch
		if d.Number > 0 {
			about.PullRequest, place = d.URL, d.URL
		}
		add(condition{event: notify.Merged, what: name(notify.Merged, string(id), place), kept: !merged[id], notice: about})
		if n.wf.Settings.Delivery.Kind == workflow.KindPullRequest && d.Number > 0 ||
			n.wf.Settings.Delivery.Kind != workflow.KindPullRequest && (d.URL != "" || d.Head != "") {
			add(condition{event: notify.Delivered, what: name(notify.Delivered, string(id), place), kept: d.Refused != "" || d.Pushing != "", notice: about})
		}
	}
	spent := n.state.Spending
	spent.Reserves = nil // what is reserved for shards is not spent
	if why := spent.SpentBudget(n.wf.Settings.Policy.Budget, now); why.Reason == schedule.DayBudget {
		add(condition{event: notify.BudgetSpent, what: name(notify.BudgetSpent, now.UTC().Format(time.DateOnly)), notice: notify.Notice{Why: n.hide(why.Detail)}})
	}
	if p := n.state.Pause; p.Why != "" {
		add(condition{event: notify.Paused, what: name(notify.Paused, string(p.Cause)), notice: notify.Notice{Why: n.hide(p.Why)}})
	}
	goesWell := ended && failure == nil || n.lasts && !n.worked.IsZero()
	if !goesWell || n.died != "" {
		failed := condition{event: notify.RunFailed, what: name(notify.RunFailed, "since"), kept: !ended && n.died == ""}
		switch {
		case failure != nil:
			failed.notice.Why = n.hide(text.OneLine(failure.Error(), 500))
		case n.died != "":
			failed.notice.Why = n.hide(n.died)
		}
		add(failed)
	}
	if since := n.state.Worked; !since.IsZero() && now.Sub(since) >= time.Duration(wanted.QuietDays)*24*time.Hour {
		why := fmt.Sprintf("no session has ended well since %s", since.UTC().Format(time.DateOnly))
		add(condition{event: notify.NothingWorked, what: name(notify.NothingWorked, since.UTC().Format(time.RFC3339)), notice: notify.Notice{Why: why}})
	}
	return all
}

// parked returns the condition of a parked issue. Each wait of an issue is another one.
func (n *notifier) parked(claim schedule.Claim) condition {
	asked := n.state.Conversations[claim.ID].Asked
	c := condition{event: notify.Parked, notice: notify.Notice{
		Issue: n.hide(n.nameOf(claim.ID)), Title: n.hide(claim.Title), IssueURL: claim.URL, PullRequest: "", Why: n.hide(claim.Why),
	}}
	if asked != "" {
		c.event, c.notice.Why, c.notice.Said = notify.Question, "", n.hide(asked)
	}
	c.what = name(c.event, string(claim.ID), fmt.Sprint(claim.Sessions), claim.Why, asked)
	return c
}

// name returns the name of a condition of an event. It begins with the event, and the rest is a
// digest: the state may be public, and the texts are long.
func name(event notify.Event, parts ...string) string {
	h := fnv.New128a()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return fmt.Sprintf("%s %x", event, h.Sum(nil))
}

func (n *notifier) hide(s string) string {
	if n.redact == nil {
		return s
	}
	return n.redact(s)
}

// from returns the name of the project.
func (n *notifier) from() string {
	if r := n.wf.Settings.Repository; r != nil && strings.Contains(r.Remote, "://") {
		_, path, _ := strings.Cut(r.Remote, "://")
		_, path, _ = strings.Cut(strings.TrimSuffix(path, ".git"), "/")
		return path
	}
	return filepath.Base(filepath.Dir(n.wf.Path))
}

// deliver sends tellings in the background, after the state that has them was saved.
func (n *notifier) deliver(tellings []telling) {
	n.queue = append(n.queue, tellings...)
	if n.sending || len(n.queue) == 0 {
		return
	}
	if now := n.takeQueue(); len(now) > 0 {
		n.sending = true
		left, from := n.left, n.from()
		n.wg.Go(func() { n.send(noticesSent(n.sendAll(now, left, from))) })
	}
}

// takeQueue empties the queue and returns the tellings in it. Those to destinations that have
// failed in this tick, and all when its time is spent, are left to the next one.
func (n *notifier) takeQueue() []telling {
	var now []telling
	for _, t := range n.queue {
		if n.left > 0 && n.failures[t.to.Name] == "" {
			now = append(now, t)
			continue
		}
		n.change(schedule.NotTold{To: t.to.Name, What: t.what})
		if n.failures[t.to.Name] == "" {
			n.failed(t.to.Name, "there was no time left in this tick; the next one tells it")
		}
	}
	n.queue = nil
	return now
}

// failed notes that a destination is not told any more in this tick.
func (n *notifier) failed(name, reason string) {
	if n.failures == nil {
		n.failures = map[string]string{}
	}
	n.failures[name] = name + ": " + reason
}

// flush sends what is left at the end of a run, and reports whether the state has to be saved
// again, because some were not told.
func (n *notifier) flush(tellings []telling) (late bool) {
	n.queue = append(n.queue, tellings...)
	waiting := len(n.queue)
	now := n.takeQueue()
	late = len(now) < waiting
	if len(now) > 0 {
		late = n.sent(n.sendAll(now, n.left, n.from())) || late
	}
	return late
}

// noticesSent is the message that the destinations of notices have answered, or have not.
type noticesSent sending

func (m noticesSent) applyTo(l *loop) {
	l.notifier.sending = false
	if l.notifier.sent(sending(m)) {
		l.replan = true // the state is to be saved
	}
	l.notifier.deliver(nil)
}

// sending is the result of a call of sendAll.
type sending struct {
	took    time.Duration
	results []sendResult
}

type sendResult struct {
	telling
	err error
}

// sendAll sends one message to each destination, all at once, in the time that is left. An
// interrupted run ends what it has begun.
func (n *notifier) sendAll(tellings []telling, left time.Duration, from string) sending {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	byName := map[string]telling{}
	for _, t := range tellings {
		all := byName[t.to.Name]
		byName[t.to.Name] = telling{t.to, append(all.what, t.what...), append(all.notices, t.notices...)}
	}
	results := make(chan sendResult, len(byName))
	var wg sync.WaitGroup
	for _, t := range byName {
		wg.Go(func() {
			results <- sendResult{t, notify.Send(ctx, n.base, t.to, notify.Batch{From: from, Notices: t.notices})}
		})
	}
	wg.Wait()
	close(results)
	done := sending{took: time.Since(began)}
	for r := range results {
		done.results = append(done.results, r)
	}
	return done
}

// sent notes what the destinations answered, and reports whether one refused.
func (n *notifier) sent(s sending) (refused bool) {
	n.left = max(n.left-s.took, 0)
	for _, r := range s.results {
		if r.err == nil {
			continue
		}
		failure, _ := errors.AsType[*notify.Failure](r.err)
		again := "it is told by the next run, after three tries no more"
		if failure != nil && failure.InDoubt {
			again = "it may have been told, and is not told again"
		} else {
			refused = true
			n.change(schedule.NotTold{To: r.to.Name, What: r.what, Refused: true})
		}
		n.failed(r.to.Name, fmt.Sprintf("%v; %s", r.err, again))
	}
	return refused
}

// newTick begins a tick of a service, and warnOnce ends one.
func (n *notifier) newTick() {
	n.warnOnce()
	n.left, n.failures = noticeTime, nil
}

// warnOnce adds one warning about all destinations that failed in the tick.
func (n *notifier) warnOnce() {
	if len(n.failures) == 0 {
		return
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(n.failures)) {
		all = append(all, n.failures[name])
	}
	warning := "notify: not told: " + strings.Join(all, "; ")
	if n.warn(warning) {
		n.log.Warn(warning)
	}
}
