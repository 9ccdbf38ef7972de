package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const hubToken = "ghs_0123456789abcdefSECRET"

func newHub(t *testing.T) *storetest.Hub {
	t.Helper()
	return storetest.New(t, storetest.Config{Token: hubToken})
}

func openRuns(t *testing.T, h *storetest.Hub) *client.Runs {
	t.Helper()
	c, err := client.New(client.Config{Repo: h.Repo(), APIURL: h.URL(), Token: hubToken}, h.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	c.Transport.Pause = time.Millisecond
	return client.NewRuns(c)
}

// The answers of States.
const (
	alive      = "alive"
	dead       = "dead"
	neverBegan = "never began"
	unknown    = "unknown"
)

func life(t *testing.T, r *client.Runs, j client.Job) string {
	t.Helper()
	switch r.Statuses(t.Context(), []client.Job{j})[j].State {
	case client.JobEnded:
		return dead
	case client.JobNeverBegan:
		return neverBegan
	case client.JobRuns:
		return alive
	}
	return unknown
}

func TestHowFarAJobHasComeIsReadFromItsRun(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	owner := client.Job{Run: "77", Attempt: 2, Began: began}
	inJob := owner
	inJob.Key = "tick"
	mixed := func(run string, attempt int) client.Job {
		o := owner
		o.Run, o.Attempt = run, attempt
		return o
	}
	says := func(status, conclusion string) func(*storetest.Hub) {
		return func(h *storetest.Hub) {
			h.SetRun(storetest.Run{ID: 77, Attempt: 2, Status: status, Conclusion: conclusion})
		}
	}
	runs := func(jobs ...storetest.Job) func(*storetest.Hub) {
		return func(h *storetest.Hub) { h.SetRun(storetest.Run{ID: 77, Attempt: 2, Status: "in_progress", Jobs: jobs}) }
	}
	over := func(name string, from, to int) storetest.Job { // seconds, from when the owner began
		at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		return storetest.Job{Name: name, Status: "completed", Conclusion: "success", Started: at(from), Completed: at(to)}
	}
	running := func(name string) storetest.Job {
		return storetest.Job{Name: name, Status: "in_progress", Started: began.Add(-5 * time.Second)}
	}
	for name, test := range map[string]struct {
		owner client.Job
		hub   func(*storetest.Hub)
		want  string
	}{
		"it succeeded":          {owner, says("completed", "success"), dead},
		"it failed":             {owner, says("completed", "failure"), dead},
		"it was cancelled":      {owner, says("completed", "cancelled"), dead},
		"it timed out":          {owner, says("completed", "timed_out"), dead},
		"it is still queued":    {owner, says("queued", ""), alive},
		"it was requested":      {owner, says("requested", ""), alive},
		"it waits for a person": {owner, says("waiting", ""), alive},
		"it is pending":         {owner, says("pending", ""), alive},
		"it runs":               {owner, says("in_progress", ""), alive},
		"it does something new": {owner, says("hibernating", ""), unknown},
		"it was run again": {mixed("77", 1), func(h *storetest.Hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("in_progress", "")(h)
		}, dead},
		"it is the re-run, which is queued": {owner, func(h *storetest.Hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("queued", "")(h)
		}, alive},
		"it is the re-run, which was cancelled too": {owner, func(h *storetest.Hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("completed", "cancelled")(h)
		}, dead},
		"a later attempt is all that is told": {mixed("77", 1), func(h *storetest.Hub) {
			h.Fail(storetest.Attempt, storetest.Fault{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": 77, "run_attempt": 2, "status": "in_progress"}`})
		}, dead},
		"it was deleted": {owner, func(h *storetest.Hub) { says("in_progress", "")(h); h.DeleteRun(77) }, dead},
		"the server knows no attempts": {owner, func(h *storetest.Hub) {
			says("in_progress", "")(h)
			h.Fail(storetest.Attempt, storetest.Fault{Status: 404})
		}, unknown},
		"no run may be seen":             {owner, func(h *storetest.Hub) { says("in_progress", "")(h); h.Hide(true) }, unknown},
		"the list says nothing":          {owner, func(h *storetest.Hub) { h.Fail(storetest.Runs, storetest.Fault{Body: "null"}) }, unknown},
		"no workflow run":                {client.Job{}, says("completed", "success"), unknown},
		"no attempt":                     {mixed("77", 0), says("completed", "success"), unknown},
		"a path for a run":               {mixed("../../77", 2), says("completed", "success"), unknown},
		"its job is over":                {inJob, runs(running("lint"), over("tick", -5, 60)), dead},
		"its job runs":                   {inJob, runs(running("tick")), alive},
		"its job of a matrix runs":       {inJob, runs(over("tick (a)", -5, 60), running("tick (b)")), alive},
		"its jobs are over":              {inJob, runs(over("tick (a)", -5, 60), over("tick (b)", -9, -7)), dead},
		"a job of its name before":       {inJob, runs(over("tick", -60, -10)), alive},
		"its job has a title":            {inJob, runs(over("Tick the agents", -5, 60)), alive},
		"its job is queued":              {inJob, runs(storetest.Job{Name: "tick", Status: "queued"}), alive},
		"its job is the last of a fleet": {inJob, runs(append(slices.Repeat([]storetest.Job{running("shard")}, 300), over("tick", -5, 60))...), dead},
		"too many jobs to tell":          {inJob, runs(slices.Repeat([]storetest.Job{over("tick", -5, 60)}, 501)...), alive},
		"jobs cannot be read":            {inJob, func(h *storetest.Hub) { runs()(h); h.Fail(storetest.Jobs, storetest.Fault{Status: 404}) }, alive},
		"jobs are nothing":               {inJob, func(h *storetest.Hub) { runs()(h); h.Fail(storetest.Jobs, storetest.Fault{Body: "null"}) }, alive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			test.hub(h)
			if got := life(t, openRuns(t, h), test.owner); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestARunWithoutAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	owner := client.Job{Run: "77", Attempt: 1}
	for name, faults := range map[string][]storetest.Fault{
		"no permission": {{Status: 403, Says: "Resource not accessible by integration"}},
		"a rate limit":  {{Status: 429, Says: "slow down"}},
		"a fault":       {{Status: 500}, {Status: 502}, {Status: 503}},
		"no API":        {{Body: "<html>"}},
		"nothing":       {{Body: "null"}},
	} {
		h := newHub(t)
		h.SetRun(storetest.Run{ID: 77, Status: "completed"})
		r := openRuns(t, h)
		h.Fail(storetest.Attempt, faults...)
		if got := life(t, r, owner); got != unknown {
			t.Errorf("%s: got %s", name, got)
		}
		if got := life(t, r, owner); got != dead {
			t.Errorf("after %s: got %s", name, got)
		}
	}
}

func TestTheStatusOfADeadRunIsReadOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.SetRun(storetest.Run{ID: 77, Status: "completed"})
	h.SetRun(storetest.Run{ID: 78, Status: "in_progress"})
	r := openRuns(t, h)
	for range 3 {
		life(t, r, client.Job{Run: "77", Attempt: 1})
		life(t, r, client.Job{Run: "78", Attempt: 1})
	}
	if diff := cmp.Diff(map[storetest.Op]int{storetest.Attempt: 4}, h.Asked()); diff != "" {
		t.Error(diff)
	}
}

func TestARunIsAskedOnceForAllItsJobs(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := newHub(t)
	var jobs []client.Job
	var list []storetest.Job
	for n := range 256 {
		key := fmt.Sprint("shard-", n)
		jobs = append(jobs, client.Job{Run: "77", Attempt: 1, Key: key, Began: began})
		status := "completed"
		if n%2 == 0 {
			status = "in_progress"
		}
		list = append(list, storetest.Job{Name: key, Status: status, Started: began.Add(-time.Second), Completed: began.Add(time.Minute)})
	}
	jobs = append(jobs, client.Job{Run: "78", Attempt: 1, Key: "tick"}, client.Job{Run: "no number", Attempt: 1})
	h.SetRun(storetest.Run{ID: 77, Status: "in_progress", Jobs: list})
	h.SetRun(storetest.Run{ID: 78, Status: "completed"})
	r := openRuns(t, h)
	want := map[client.Job]client.JobStatus{jobs[256]: {State: client.JobEnded}}
	for n, j := range jobs[:256] {
		want[j] = client.JobStatus{State: client.JobRuns}
		if n%2 != 0 {
			want[j] = client.JobStatus{State: client.JobEnded}
		}
	}
	if diff := cmp.Diff(want, r.Statuses(t.Context(), jobs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[storetest.Op]int{storetest.Attempt: 2, storetest.Jobs: 3}, h.Asked()); diff != "" {
		t.Errorf("requests: %s", diff)
	}
}
