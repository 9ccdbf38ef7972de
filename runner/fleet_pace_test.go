package runner

import (
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// ofShard returns the loop of a shard with one issue.
func ofShard(shards int) *loop {
	l := newLoop(&Runner{Shards: shards})
	l.state = schedule.New(schedule.Owner{Shard: 1})
	l.state.Claims["1"] = schedule.Claim{ID: "1"}
	l.issues.issues["1"] = &tracker.Issue{ID: "1"}
	return l
}

func TestAShardReadsWhatPeopleSayAtTheNextPollAfterItsIssueChanged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := ofShard(256)
	for _, step := range []struct {
		after   time.Duration
		changed bool
		reads   bool
	}{
		{0, false, true}, {6 * time.Minute, false, false}, {6 * time.Minute, true, true}, {6 * time.Minute, false, false},
		{6 * time.Minute, true, false}, {10 * time.Minute, false, true}, {6 * time.Minute, false, false}, {55 * time.Minute, false, true},
	} {
		now = now.Add(step.after)
		if step.changed {
			l.issues.issues["1"].UpdatedAt = now
		}
		if got := l.conversations.readsNow(now, l.Shards); got != step.reads {
			t.Errorf("at %s, issue changed %t: it reads %t", now.Format("15:04"), step.changed, got)
		}
	}
}

func TestTheShardsOfAFleetReadWhatPeopleSayWithHalfOfTheQueriesOfAnHour(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	perHour := func(shards int, busy bool) (polls, reads int) {
		l := ofShard(shards)
		l.wf.Settings.Poll = 30 * time.Second
		for now := start; now.Before(start.Add(time.Hour)); now = l.nextPoll {
			polls++
			if busy {
				l.issues.issues["1"].UpdatedAt = now
			}
			if l.conversations.readsNow(now, l.Shards) {
				reads++
			}
			l.nextPoll = now.Add(l.fleet.pollEvery())
		}
		return polls, reads
	}
	for _, shards := range []int{1, 16, 64, 256} {
		polls, reads := perHour(shards, false)
		if reads == 0 || (reads-1)*shards > 500 { // the first one is at the start of a job
			t.Errorf("%d shards read it %d times an hour each, in %d polls", shards, reads, polls)
		}
		if polls, reads := perHour(shards, true); (reads-2)*shards > 500 { // one is made before its time
			t.Errorf("%d shards whose issues always change read it %d times an hour each, in %d polls", shards, reads, polls)
		}
	}
	if polls, reads := perHour(0, false); reads != polls {
		t.Errorf("a tick in one process reads it in %d of %d polls", reads, polls)
	}
}
