package store

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store/storetest"
)

func (h hub) openRuns(t *testing.T) *Runs {
	t.Helper()
	r, err := NewRuns(hubRepo, h.URL(), hubToken, h.Client())
	if err != nil {
		t.Fatal(err)
	}
	r.client.transport.retryPause = time.Millisecond
	return r
}

func TestTheStatusOfAnOwner(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	owner := schedule.Owner{Run: "77", Attempt: 2, Host: "runner-1", PID: 9, Started: began.UnixMilli()}
	inJob := owner
	inJob.Job = "tick"
	mixed := func(run string, attempt int) schedule.Owner {
		o := owner
		o.Run, o.Attempt = run, attempt
		return o
	}
	says := func(status, conclusion string) func(hub) {
		return func(h hub) { h.SetRun(storetest.Run{ID: 77, Attempt: 2, Status: status, Conclusion: conclusion}) }
	}
	runs := func(jobs ...storetest.Job) func(hub) {
		return func(h hub) { h.SetRun(storetest.Run{ID: 77, Attempt: 2, Status: "in_progress", Jobs: jobs}) }
	}
	over := func(name string, from, to int) storetest.Job { // seconds, from when the owner began
		at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		return storetest.Job{Name: name, Status: "completed", Conclusion: "success", Started: at(from), Completed: at(to)}
	}
	running := func(name string) storetest.Job {
		return storetest.Job{Name: name, Status: "in_progress", Started: began.Add(-5 * time.Second)}
	}
	for name, test := range map[string]struct {
		owner schedule.Owner
		hub   func(hub)
		want  schedule.OwnerStatus
	}{
		"it succeeded":          {owner, says("completed", "success"), schedule.Dead},
		"it failed":             {owner, says("completed", "failure"), schedule.Dead},
		"it was cancelled":      {owner, says("completed", "cancelled"), schedule.Dead},
		"it timed out":          {owner, says("completed", "timed_out"), schedule.Dead},
		"it is still queued":    {owner, says("queued", ""), schedule.Alive},
		"it was requested":      {owner, says("requested", ""), schedule.Alive},
		"it waits for a person": {owner, says("waiting", ""), schedule.Alive},
		"it is pending":         {owner, says("pending", ""), schedule.Alive},
		"it runs":               {owner, says("in_progress", ""), schedule.Alive},
		"it does something new": {owner, says("hibernating", ""), schedule.Unknown},
		"it was run again": {mixed("77", 1), func(h hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("in_progress", "")(h)
		}, schedule.Dead},
		"it is the re-run, which is queued": {owner, func(h hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("queued", "")(h)
		}, schedule.Alive},
		"it is the re-run, which was cancelled too": {owner, func(h hub) {
			h.SetRun(storetest.Run{ID: 77, Status: "completed", Conclusion: "cancelled"})
			says("completed", "cancelled")(h)
		}, schedule.Dead},
		"a later attempt is all that is told": {mixed("77", 1), func(h hub) {
			h.Fail(storetest.Attempt, storetest.Fault{Body: `{"id": 77, "run_attempt": 2, "status": "in_progress"}`})
		}, schedule.Dead},
		"it was deleted":           {owner, func(h hub) { says("in_progress", "")(h); h.DeleteRun(77) }, schedule.Dead},
		"no run may be seen":       {owner, func(h hub) { says("in_progress", "")(h); h.Hide(true) }, schedule.Unknown},
		"the list says nothing":    {owner, func(h hub) { h.Fail(storetest.Runs, storetest.Fault{Body: "null"}) }, schedule.Unknown},
		"no workflow run":          {schedule.Owner{Host: "laptop", PID: 9}, says("completed", "success"), schedule.Unknown},
		"no attempt":               {mixed("77", 0), says("completed", "success"), schedule.Unknown},
		"a path for a run":         {mixed("../../77", 2), says("completed", "success"), schedule.Unknown},
		"its job is over":          {inJob, runs(running("lint"), over("tick", -5, 60)), schedule.Dead},
		"its job runs":             {inJob, runs(running("tick")), schedule.Alive},
		"its job of a matrix runs": {inJob, runs(over("tick (a)", -5, 60), running("tick (b)")), schedule.Alive},
		"its jobs are over":        {inJob, runs(over("tick (a)", -5, 60), over("tick (b)", -9, -7)), schedule.Dead},
		"a job of its name before": {inJob, runs(over("tick", -60, -10)), schedule.Alive},
		"its job has a title":      {inJob, runs(over("Tick the agents", -5, 60)), schedule.Alive},
		"its job is queued":        {inJob, runs(storetest.Job{Name: "tick", Status: "queued"}), schedule.Alive},
		"too many jobs to tell":    {inJob, runs(slices.Repeat([]storetest.Job{over("tick", -5, 60)}, 101)...), schedule.Alive},
		"jobs cannot be read":      {inJob, func(h hub) { runs()(h); h.Fail(storetest.Jobs, storetest.Fault{Status: 404}) }, schedule.Alive},
		"jobs are nothing":         {inJob, func(h hub) { runs()(h); h.Fail(storetest.Jobs, storetest.Fault{Body: "null"}) }, schedule.Alive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			test.hub(h)
			if got := h.openRuns(t).Life(t.Context(), test.owner); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestARunWithoutAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	owner := schedule.Owner{Run: "77", Attempt: 1}
	for name, faults := range map[string][]storetest.Fault{
		"no permission": {{Status: 403, Says: "Resource not accessible by integration"}},
		"a rate limit":  {{Status: 429, Says: "slow down"}},
		"a fault":       {{Status: 500}, {Status: 502}, {Status: 503}},
		"no API":        {{Body: "<html>"}},
		"nothing":       {{Body: "null"}},
	} {
		h := newHub(t)
		h.SetRun(storetest.Run{ID: 77, Status: "completed"})
		r := h.openRuns(t)
		h.Fail(storetest.Attempt, faults...)
		if got := r.Life(t.Context(), owner); got != schedule.Unknown {
			t.Errorf("%s: got %d", name, got)
		}
		if got := r.Life(t.Context(), owner); got != schedule.Dead {
			t.Errorf("after %s: got %d", name, got)
		}
	}
}

func TestTheStatusOfADeadRunIsReadOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.SetRun(storetest.Run{ID: 77, Status: "completed"})
	h.SetRun(storetest.Run{ID: 78, Status: "in_progress"})
	r := h.openRuns(t)
	for range 3 {
		r.Life(t.Context(), schedule.Owner{Run: "77", Attempt: 1})
		r.Life(t.Context(), schedule.Owner{Run: "78", Attempt: 1})
	}
	if diff := cmp.Diff(map[storetest.Op]int{storetest.Attempt: 4}, h.Asked()); diff != "" {
		t.Error(diff)
	}
}

func TestAStoreIsNotOpenedWithInvalidSettings(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]BranchConfig{
		"no owner":          {Repo: "state-keeper", Token: hubToken, Branch: "state"},
		"a path":            {Repo: "octo/../other", Token: hubToken, Branch: "state"},
		"a parent":          {Repo: "octo/..", Token: hubToken, Branch: "state"},
		"a query":           {Repo: "octo/x?y", Token: hubToken, Branch: "state"},
		"no token":          {Repo: hubRepo, Branch: "state"},
		"no branch":         {Repo: hubRepo, Token: hubToken},
		"another scheme":    {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "file:///etc"},
		"a password in it":  {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "https://me:" + hubToken + "@api.example"},
		"no URL of any use": {Repo: hubRepo, Token: hubToken, Branch: "state", APIURL: "api.example"},
	} {
		_, err := OpenBranch(cfg, http.DefaultClient)
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
