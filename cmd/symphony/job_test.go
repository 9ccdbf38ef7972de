package main

import (
	"testing"
	"time"
)

func TestTheDefaultDeadlineIsWhatIsLeftOfTheJob(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		timeout time.Duration
		began   time.Time
		want    time.Duration
	}{
		"a tenth is kept":              {30 * time.Minute, now, 27 * time.Minute},
		"five minutes at most":         {6 * time.Hour, now, 6*time.Hour - 5*time.Minute},
		"half a minute at least":       {3 * time.Minute, now, 150 * time.Second},
		"what is gone is gone":         {30 * time.Minute, now.Add(-7 * time.Minute), 20 * time.Minute},
		"nobody knows when it began":   {30 * time.Minute, time.Time{}, 27 * time.Minute},
		"a clock that was set back":    {30 * time.Minute, now.Add(time.Hour), 27 * time.Minute},
		"a payload of another job":     {30 * time.Minute, now.Add(-time.Hour), 27 * time.Minute},
		"the job is over all but":      {30 * time.Minute, now.Add(-29 * time.Minute), time.Second},
		"shorter than what is kept of": {20 * time.Second, now, time.Second},
	} {
		if got := defaultDeadline(row.timeout, row.began, now); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
