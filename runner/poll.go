package runner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// poll reads the issues of all claims, and the candidates if any could be started (SPEC §8.1).
// After a failed read the earlier knowledge stays.
func (l *loop) poll(ctx context.Context, now time.Time) {
	if !l.nextPoll.IsZero() {
		l.reread(ctx)
		l.adopt(ctx) // a run that was alive may be dead by now
	}
	l.nextPoll = now.Add(l.fleet.pollEvery())
	if !l.Once {
		l.before = l.spent()
		l.state.NewTick()
		l.notifier.newTick()
		l.preflight = attempt.NewPreflightOnce()
	}
	l.issues.beginPoll()
	l.files.renew()
	l.settings.reopenWorkspaces(ctx)
	l.setup.resumeIfChanged(now)
	if !l.fleet.isShard() && !l.tick.DryRun {
		l.pauseTest.begin(ctx, l.wf, now)
	}
	l.state.Renew(l.policy(), now)
	if err := l.issues.readByID(ctx, slices.Sorted(maps.Keys(l.state.Claims))); err != nil {
		l.issues.unasking("refresh claimed issues", err)
	}
	l.orders.readIssues(ctx)
	if l.conversations.readsNow(now, l.Shards) {
		l.conversations.listen(ctx)
	}
	l.cleaner.begin()
	if listed := l.issues.listedAt; !l.fleet.isShard() && (!l.issues.listed() || l.room(now)) {
		l.issues.listCandidates(ctx)
		if l.issues.listedAt != listed && !l.tick.DryRun {
			l.noteQueued(now)
		}
	}
	if l.issues.unread == nil {
		l.resolve(progress.Tracker)
	}
}

// room reports whether any candidate could be started now.
func (l *loop) room(now time.Time) bool {
	return schedule.NoRoom(l.state, l.snapshot(now), l.policy(), now).None()
}

// noteQueued notes since when the listed issues lack nothing but room.
func (l *loop) noteQueued(now time.Time) {
	queued := schedule.QueuedBy(schedule.Explain(l.state, l.snapshot(now), l.policy(), now), now)
	if queued.Changes(l.state) {
		l.change(queued)
	}
}

// relist reads the candidates again if one could be started and the list is older
// than a poll: more urgent issues may have come while every slot was taken. So
// the list that decides an order is at most one poll old.
func (l *loop) relist(ctx context.Context, now time.Time) {
	if l.issues.listed() && now.Sub(l.issues.listedAt) > l.wf.Settings.Poll && l.room(now) {
		l.issues.listCandidates(ctx)
	}
}
