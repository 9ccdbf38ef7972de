package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
)

// sessions holds the sessions in progress.
type sessions struct {
	owned map[tracker.ID]*worker // sessions whose claims are ours
	lost  map[*worker]bool       // sessions that lost their claims and have not ended; see lose
	exits []time.Time            // times of the last ends
}

func newSessions() *sessions {
	return &sessions{owned: map[tracker.ID]*worker{}, lost: map[*worker]bool{}}
}

func (s *sessions) count() int { return len(s.owned) + len(s.lost) }

// begin adds a session, and returns the context that stops it. Sessions do not use the context
// of the run: each is stopped with its own reason and waited for.
func (s *sessions) begin(w *worker) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	w.cancel = cancel
	s.owned[w.id] = w
	return ctx
}

// end removes a session that has ended, and reports whether it had lost its claim.
func (s *sessions) end(w *worker, now time.Time) (lost bool) {
	if s.lost[w] {
		delete(s.lost, w)
		return true
	}
	delete(s.owned, w.id)
	s.exits = append(lately(s.exits, now), now)
	return false
}

// lose stops the sessions whose claims a state does not have, and returns their issues. Another
// run has these claims, or the state is an older one. A session that has lost its claim stays
// known until it has ended, and nothing happens to its issue before. It never gets the claim
// back, and its end changes no claim.
func (s *sessions) lose(state *schedule.State) []tracker.ID {
	var ids []tracker.ID
	for id, w := range s.owned {
		if c := state.Claims[id]; c.Owner == state.Self && c.Phase.HasSession() && c.Sessions == w.claim.Sessions {
			continue
		}
		delete(s.owned, id)
		s.lost[w] = true
		w.cancel(schedule.StopError(schedule.ClaimLost))
		ids = append(ids, id)
	}
	return ids
}

// ownChanges returns the issues that sessions have changed themselves; see
// [schedule.Snapshot].
func (s *sessions) ownChanges() map[tracker.ID]*tracker.Issue {
	changes := map[tracker.ID]*tracker.Issue{}
	for id, w := range s.owned {
		if issue, ok := w.own.Issue(); ok {
			changes[id] = issue
		}
	}
	return changes
}

// lately returns the times, sorted with the oldest first, that are not longer ago
// than fresh.
func lately(times []time.Time, now time.Time) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) > fresh {
		times = times[1:]
	}
	return times
}

// worker represents one session in progress.
type worker struct {
	id      tracker.ID
	claim   schedule.Claim // claim at the start of the session
	log     *slog.Logger
	cancel  context.CancelCauseFunc
	last    attempt.Update // the merged updates so far
	started time.Time

	round  string          // the feedback that the session was given, in one line; empty for a session without feedback
	rounds int             // number of sessions on feedback since somebody let the issue go on, this one included
	head   string          // commit of the program's branch before the session
	speak  context.Context // context of posts about the ended session

	choice codex.Choice // the model, and how it works

	given    givenItems       // items that it can answer
	steering attempt.Steering // gives it feedback while it works
	steers   bool             // that is in progress
	steered  int              // number of times

	own attempt.OwnChange // changes that the session made to its issue

	eventLog string           // path of its event log; empty for none
	live     *transcript.Live // lines of the log, for displays; nil without a display or a log
	events   progress.Events  // latest events, for the display

	onEnd func(SessionLog) // result of Runner.OnSession; nil for none
}

func (s *sessions) steerable() map[tracker.ID]bool {
	ready := map[tracker.ID]bool{}
	for id, w := range s.owned {
		if !w.steers && w.steered < maxSteers && w.steering.IsReady() {
			ready[id] = true
		}
	}
	return ready
}

// maxSteers bounds how often a session is given feedback while it works. What people say after
// that waits for the next session.
const maxSteers = 10

// exited is the end of a session, whose processes are gone.
type exited struct {
	*worker
	outcome schedule.Outcome
	session SessionLog
}
