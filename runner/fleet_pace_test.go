package runner

import (
	"testing"
	"time"
)

func TestTheShardsOfAFleetReadWhatPeopleSayWithHalfOfTheQueriesOfAnHour(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	perHour := func(shards int) (polls, reads int) {
		l := &loop{Runner: &Runner{Shards: shards}}
		l.wf.Settings.Poll = 30 * time.Second
		for now := start; now.Before(start.Add(time.Hour)); now = l.nextPoll {
			polls++
			if !now.Before(l.talks.nextRead) {
				reads++
				l.talks.nextRead = now.Add(l.listenEvery())
			}
			l.nextPoll = now.Add(l.pollEvery())
		}
		return polls, reads
	}
	for _, shards := range []int{1, 16, 64, 256} {
		polls, reads := perHour(shards)
		if reads == 0 || (reads-1)*shards > 500 { // the first one is at the start of a job
			t.Errorf("%d shards read it %d times an hour each, in %d polls", shards, reads, polls)
		}
	}
	if polls, reads := perHour(0); reads != polls {
		t.Errorf("a tick in one process reads it in %d of %d polls", reads, polls)
	}
}
