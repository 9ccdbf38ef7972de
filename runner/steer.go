package runner

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// steer gives a session what people said since it began. It returns at once, and a message tells the
// result, before the one that the session has ended.
func (l *loop) steer(d schedule.Decision) {
	w := l.running.owned[d.ID]
	w.steers = true
	if w.steered++; w.steered == maxSteers {
		l.notice(fmt.Sprintf("%s: its session was given feedback %d times: what people say from now on waits for the next session", l.nameOf(d.ID), maxSteers))
	}
	items := l.conversations.give(d.ID, &w.given, l.conversations.judge(d.ID).News())
	w.log.Info(d.Action.Happened(), "session_id", w.last.Session, "reason", d.Why.String())
	l.wg.Go(func() {
		w.steering.Give(items, func(err error) { l.send(func() { l.steered(w, d.Feedback, err) }) })
	})
}

// steered applies that a session was given feedback, or was not.
func (l *loop) steered(w *worker, said schedule.Feedback, err error) {
	w.steers = false
	if err != nil { // the feedback waits: for the next plan, or for the next session
		w.log.Info("not steered", "session_id", w.last.Session, "reason", err)
		return
	}
	if l.running.owned[w.id] != w {
		return // it has lost its claim
	}
	w.log.Info("steered", "session_id", w.last.Session, "feedback", said.News)
	l.display.happened(w.id, l.nameOf(w.id), "steered", said.News)
	l.notice(l.nameOf(w.id) + ": its session was given, while it worked: " + said.News)
	if w.round != "" {
		w.round += ", "
	}
	w.round += said.News
	l.change(schedule.Steered{ID: w.id, Session: w.claim.Sessions, Mark: said.Mark})
	l.replan = true // more may have been said since
	l.display.refresh()
}
