package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// poll reads the issues of all claims, and the candidates if any could be started
// (SPEC §8.1). After a failed read what was known stays.
func (l *loop) poll(ctx context.Context, now time.Time) {
	if !l.nextPoll.IsZero() {
		l.reread(ctx)
		l.adopt(ctx) // a run that was alive may be dead by now
	}
	l.nextPoll = now.Add(l.pollEvery())
	if !l.Once {
		l.before = l.spent()
		l.state.NewTick()
		l.preflight = attempt.NewPreflightOnce()
	}
	l.unread, l.unlisted = nil, false
	clear(l.unasked)
	l.renewFiles()
	l.reopenWorkspaces(ctx)
	l.resumeIfChanged(now)
	l.testPause(ctx, now)
	l.state.Renew(now)
	if err := l.refresh(ctx, slices.Sorted(maps.Keys(l.state.Claims))); err != nil {
		l.unasking("refresh claimed issues", err)
	}
	l.readOrdered(ctx)
	if l.listensNow(now) {
		l.listen(ctx)
	}
	l.cleanUp(ctx) // which knows by then which pull requests are open
	if !l.isShard() && (!l.issues.listed() || l.room(now)) {
		l.list(ctx)
	}
	if l.unread == nil {
		l.resolve(progress.Tracker)
	}
}

// room reports whether any candidate could be started now.
func (l *loop) room(now time.Time) bool {
	return schedule.NoRoom(l.state, l.snapshot(now), l.policy(), now).None()
}

// relist reads the candidates again if one could be started and the list is older
// than a poll: more urgent issues may have come while every slot was taken. So
// the list that decides an order is at most one poll old.
func (l *loop) relist(ctx context.Context, now time.Time) {
	if l.issues.listed() && now.Sub(l.issues.listedAt) > l.wf.Settings.Poll && l.room(now) {
		l.list(ctx)
	}
}

// list reads the candidates.
func (l *loop) list(ctx context.Context) {
	issues, err := l.byState(ctx, l.policy().ActiveStates)
	if err != nil {
		l.unlisted = true
		l.unreadable("list candidates", err, "nothing starts until it can be")
		return
	}
	l.issues.list(issues, time.Now())
}

// byState lists the issues in some states. It leaves out malformed ones with a
// warning.
func (l *loop) byState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	return l.conn.Tracker.IssuesByState(tracker.WithDropped(ctx, l.malformed), states)
}

// refresh reads issues by id. It stores either all issues except the malformed
// ones, or none. Nothing is known about a malformed issue afterwards: its claim
// stays as it is, and the other issues are read again without it.
func (l *loop) refresh(ctx context.Context, ids []tracker.ID) error {
	if l.conn.Discussion != nil {
		ctx = tracker.WithFeedback(ctx)
	}
	for len(ids) > 0 {
		issues, err := l.conn.Tracker.IssuesByID(ctx, ids)
		if err == nil {
			l.issues.refresh(ids, issues, time.Now())
			return nil
		}
		spoilt, typed := errors.AsType[*tracker.MalformedError](err)
		if !typed {
			return err
		}
		rest := slices.Clone(ids)
		for _, m := range spoilt.Records {
			rest = slices.DeleteFunc(rest, func(id tracker.ID) bool { return id == m.ID })
			l.issues.markMalformed(m)
			l.malformed(m)
		}
		if len(rest) == len(ids) {
			return err // it names none of these ids
		}
		ids = rest
	}
	return nil
}

// malformed warns once about a record that cannot be converted to an issue.
func (l *loop) malformed(m tracker.Malformed) {
	if l.warn(fmt.Sprintf("%s: its record in the tracker is malformed, so nothing is done about it: %s", m.Name(), m.Reason)) {
		l.Log.Warn("malformed record", "issue_id", m.ID, "issue_identifier", m.Identifier, "reason", m.Reason)
	}
}

// unasking records that issues could not be read by id. Sessions continue, and candidates
// start that are as fresh as their list (SPEC §11.4, §16.2).
func (l *loop) unasking(what string, err error) {
	l.unreadable(what, err, "only what was just listed starts until it can be")
}

// unreadable records that the tracker could not be read until the next poll; so says what
// that means.
func (l *loop) unreadable(what string, err error, so string) {
	l.unread = fmt.Errorf("%s: %w", what, err)
	if now := time.Now(); l.waits(now) || l.deadline.stops(now) {
		return
	}
	l.problem(progress.Tracker, l.unread.Error())
	l.Log.Error("tracker not read: "+so, "operation", what, "error", err)
}
