package client_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

func TestHowFarAShardHasComeIsReadFromTheJobsOfItsRun(t *testing.T) {
	t.Parallel()
	const hosted, own = "GitHub Actions 12", "rack-7"
	ended := func(title, conclusion, runner string, ago time.Duration) storetest.Job {
		at := time.Now().Add(-ago)
		return storetest.Job{Name: title, Status: "completed", Conclusion: conclusion, Started: at, Completed: at.Add(time.Minute), Runner: runner}
	}
	running := storetest.Job{Name: "shard 3", Status: "in_progress", Started: time.Now(), Runner: hosted}
	queued := storetest.Job{Name: "shard 3", Status: "queued"}
	for name, test := range map[string]struct {
		run  string // its status
		jobs []storetest.Job
		want string
	}{
		"it ended":                      {"completed", []storetest.Job{ended("shard 3", "success", hosted, time.Hour)}, dead},
		"it ended while others run":     {"in_progress", []storetest.Job{ended("shard 3", "failure", hosted, time.Hour)}, dead},
		"it ended in a called workflow": {"completed", []storetest.Job{ended("fleet / shard 3", "failure", hosted, time.Hour)}, dead},
		"it runs":                       {"in_progress", []storetest.Job{running}, alive},
		"it is queued":                  {"in_progress", []storetest.Job{queued}, alive},
		"its matrix is not made yet":    {"in_progress", []storetest.Job{{Name: "plan", Status: "in_progress"}}, alive},
		"its matrix was never made":     {"completed", []storetest.Job{ended("plan", "failure", hosted, time.Hour)}, neverBegan},
		"its matrix was never made, and collect ran": {"completed", []storetest.Job{
			ended("plan", "failure", hosted, 2*time.Hour), ended("shard ${{ matrix.shard }}", "skipped", "", time.Hour), ended("collect", "success", hosted, time.Hour),
		}, neverBegan},
		"its job has another title": {"completed", []storetest.Job{
			ended("plan", "success", hosted, 2*time.Hour), ended("worker 3", "failure", hosted, time.Hour), ended("collect", "success", hosted, time.Hour),
		}, unknown},
		"its job has another title, and collect asks": {"in_progress", []storetest.Job{
			ended("plan", "success", hosted, 2*time.Hour), ended("worker 3", "failure", hosted, time.Hour), {Name: "collect", Status: "in_progress", Started: time.Now(), Runner: hosted},
		}, unknown},
		"another shard has its title": {"completed", []storetest.Job{
			ended("fleet / shard 2", "success", hosted, time.Hour), ended("lint", "success", hosted, time.Hour), ended("collect", "success", hosted, time.Hour),
		}, neverBegan},
		"it was cancelled before it had a runner": {"completed", []storetest.Job{ended("shard 3", "cancelled", "", time.Hour)}, neverBegan},
		"it was skipped":                             {"completed", []storetest.Job{ended("shard 3", "skipped", "", time.Hour)}, neverBegan},
		"it was cancelled on GitHub's runner":        {"completed", []storetest.Job{ended("shard 3", "cancelled", hosted, time.Minute)}, dead},
		"a user's runner may go on":                  {"completed", []storetest.Job{ended("shard 3", "cancelled", own, time.Minute)}, alive},
		"a user's runner has had its time":           {"completed", []storetest.Job{ended("shard 3", "cancelled", own, 2*time.Hour)}, dead},
		"a user's runner has said that it is over":   {"completed", []storetest.Job{ended("shard 3", "success", own, time.Minute)}, dead},
		"only another shard ended":                   {"in_progress", []storetest.Job{ended("shard 33", "success", hosted, time.Hour), running}, alive},
		"a job of a user has a title like a shard's": {"in_progress", []storetest.Job{ended("my-shard 3", "success", hosted, time.Hour), running}, alive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			h.SetRun(storetest.Run{ID: 77, Status: test.run, Jobs: test.jobs})
			shard := client.Job{Run: "77", Attempt: 1, Shard: 3, Began: time.Now().Add(-90 * time.Minute), Limit: time.Hour, Collects: true}
			if got := life(t, openRuns(t, h), shard); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A result that nobody has collected yet would be lost, and its issue charged.
func TestAShardThatHasEndedIsDeadForOthersWhenItsAttemptHasEnded(t *testing.T) {
	t.Parallel()
	for title, runner := range map[string]string{"shard 3": "GitHub Actions 12", "fleet / shard 3": ""} {
		h := newHub(t)
		ended := storetest.Job{Name: title, Status: "completed", Conclusion: "cancelled", Started: time.Now(), Completed: time.Now(), Runner: runner}
		h.SetRun(storetest.Run{ID: 77, Status: "in_progress", Jobs: []storetest.Job{ended, {Name: "collect", Status: "in_progress"}}})
		if got := life(t, openRuns(t, h), client.Job{Run: "77", Attempt: 1, Shard: 3}); got != alive {
			t.Errorf("%s: while its attempt continues it is %s", title, got)
		}
		if asked := h.Asked()[storetest.Jobs]; asked != 0 {
			t.Errorf("%s: the jobs were read %d times for nothing", title, asked)
		}
	}
}

// A link to the job of another matrix would be wrong.
func TestTheJobOfAShardIsNotKnownIfSeveralHaveItsTitle(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	ended := storetest.Job{Name: "shard 3", Status: "completed", Conclusion: "failure", Runner: "GitHub Actions 1", Started: time.Now()}
	other := ended
	other.Name = "nightly / shard 3"
	h.SetRun(storetest.Run{ID: 77, Status: "completed", Jobs: []storetest.Job{ended, other}})
	shard := client.Job{Run: "77", Attempt: 1, Shard: 3}
	if got, want := openRuns(t, h).Statuses(t.Context(), []client.Job{shard})[shard], (client.JobStatus{State: client.JobEnded}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAFleetThatHasEndedIsAskedOnceForAllItsShards(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	var jobs []client.Job
	var list []storetest.Job
	for n := range 256 {
		jobs = append(jobs, client.Job{Run: "77", Attempt: 1, Shard: n + 1})
		list = append(list, storetest.Job{Name: "fleet / shard " + strconv.Itoa(n+1), Status: "completed", Conclusion: "failure", Runner: "GitHub Actions 1", Started: time.Now()})
	}
	h.SetRun(storetest.Run{ID: 77, Status: "completed", Jobs: list})
	r := openRuns(t, h)
	for range 2 {
		for j, status := range r.Statuses(t.Context(), jobs) {
			if want := (client.JobStatus{State: client.JobEnded, ID: int64(j.Shard)}); status != want {
				t.Fatalf("shard %d: %v, want %v", j.Shard, status, want)
			}
		}
	}
	if diff := cmp.Diff(map[storetest.Op]int{storetest.Attempt: 1, storetest.Jobs: 3}, h.Asked()); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}
