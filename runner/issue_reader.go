package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// issueReader reads the tracker, and knows its issues as they were read last.
type issueReader struct {
	issueCache
	*core

	unread   error               // reason why the tracker could not be read; nil if the last poll succeeded
	unlisted bool                // the list of candidates could not be read
	unasked  map[tracker.ID]bool // issues that would start, but could not be read in this poll
	limit    *rateLimit
}

func (r *issueReader) beginPoll() {
	r.unread, r.unlisted = nil, false
	clear(r.unasked)
}

func (r *issueReader) listCandidates(ctx context.Context) {
	issues, err := r.listByState(ctx, r.wf.Settings.Policy.ActiveStates)
	if err != nil {
		r.unlisted = true
		r.unreadable("list candidates", err, "nothing starts until it can be")
		return
	}
	r.list(issues, time.Now())
}

// listByState lists the issues in some states. It leaves out malformed ones with a
// warning.
func (r *issueReader) listByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	return r.conn.Tracker.IssuesByState(tracker.WithDropped(ctx, r.warnMalformed), states)
}

// readByID reads issues again. It stores either all issues except the malformed
// ones, or none. Nothing is known about a malformed issue afterwards: its claim
// stays as it is, and the other issues are read again without it.
func (r *issueReader) readByID(ctx context.Context, ids []tracker.ID) error {
	if r.conn.Feedback != nil {
		ctx = tracker.WithFeedback(ctx)
	}
	for len(ids) > 0 {
		issues, err := r.conn.Tracker.IssuesByID(ctx, ids)
		if err == nil {
			r.refresh(ids, issues, time.Now())
			return nil
		}
		spoilt, typed := errors.AsType[*tracker.MalformedError](err)
		if !typed {
			return err
		}
		rest := slices.Clone(ids)
		for _, m := range spoilt.Records {
			rest = slices.DeleteFunc(rest, func(id tracker.ID) bool { return id == m.ID })
			r.markMalformed(m)
			r.warnMalformed(m)
		}
		if len(rest) == len(ids) {
			return err // it names none of these ids
		}
		ids = rest
	}
	return nil
}

// warnMalformed warns once about a record that cannot be converted to an issue.
func (r *issueReader) warnMalformed(m tracker.Malformed) {
	if r.warn(fmt.Sprintf("%s: its record in the tracker is malformed, so nothing is done about it: %s", m.Name(), m.Reason)) {
		r.log.Warn("malformed record", "issue_id", m.ID, "issue_identifier", m.Identifier, "reason", m.Reason)
	}
}

// unasking records that issues could not be read by id. Sessions continue, and candidates
// start that are as fresh as their list (SPEC §11.4, §16.2).
func (r *issueReader) unasking(what string, err error) {
	r.unreadable(what, err, "only what was just listed starts until it can be")
}

// unreadable records that the tracker could not be read until the next poll. so is the
// consequence, for the log.
func (r *issueReader) unreadable(what string, err error, so string) {
	r.unread = fmt.Errorf("%s: %w", what, err)
	if now := time.Now(); r.waits(now) || r.deadline.stops(now) {
		return
	}
	r.problem(progress.Tracker, r.unread.Error())
	r.log.Error("tracker not read: "+so, "operation", what, "error", err)
}

// waits reports whether a read failed because the tracker must not be called. If
// so, it moves the next poll forward to the end of the wait.
func (r *issueReader) waits(now time.Time) bool {
	err := r.limit.refusal(now)
	if err == nil {
		return false
	}
	if end := r.limit.end(); end.Before(r.nextPoll) {
		r.nextPoll = end
	}
	if r.limit.logged != err {
		r.limit.logged = err
		r.warn(err.Error())
		r.log.Warn("the tracker asks to wait: nothing starts until it can be read again", "error", err)
	}
	return true
}

// awaitsTracker reports whether a single tick is to wait until the tracker can be
// called again: for a minute in all, and not beyond its deadline.
func (r *issueReader) awaitsTracker(now time.Time) bool {
	if r.unread == nil || r.limit.refusal(now) == nil {
		return false
	}
	end := r.limit.end()
	return end.Sub(r.limit.first) <= maxLimitWait && (r.deadline.startBy.IsZero() || end.Before(r.deadline.startBy))
}

// keepWait stores the wait in the state, for the next run and for a service that is
// restarted. A wait that has ended stays there: it has no effect, and deleting it would
// need a save in a tick in which nothing happened.
func (r *issueReader) keepWait() {
	if end := r.limit.end(); !end.IsZero() {
		r.state.Wait = schedule.TrackerWait{Tracker: r.wf.Settings.Tracker.Kind, Until: end}
	}
}

// takeWait adopts the wait that another run stored for the same tracker.
func (r *issueReader) takeWait() {
	now, wait := time.Now(), r.state.Wait
	if left := wait.Until.Sub(now); left > 0 && wait.Tracker == r.wf.Settings.Tracker.Kind {
		_ = r.limit.extend(&tracker.RateLimitError{Op: "read the tracker", RetryAfter: left.Round(time.Second)}, now, wait.Until)
	}
}
