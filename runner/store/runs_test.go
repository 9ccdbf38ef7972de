package store

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func (h *hub) openRuns(t *testing.T) *Runs {
	t.Helper()
	r, err := NewRuns(hubRepo, h.URL+"/api/v3", hubToken, h.Client())
	if err != nil {
		t.Fatal(err)
	}
	r.api.pause = time.Millisecond
	return r
}

func TestWhetherAnOwnerIsOver(t *testing.T) {
	t.Parallel()
	const path, readable = "runs/77/attempts/2", "runs"
	began := time.Date(2026, 3, 1, 12, 0, 5, 0, time.UTC)
	run := func(status, conclusion string) answer {
		return answer{"id": 77, "run_attempt": 2, "status": status, "conclusion": conclusion}
	}
	job := func(name, status string, from, to int) answer {
		return answer{"name": name, "status": status, "started_at": began.Add(time.Duration(from) * time.Second), "completed_at": began.Add(time.Duration(to) * time.Second)}
	}
	jobs := func(list ...any) any { return answer{"total_count": len(list), "jobs": list} }
	owner := schedule.Owner{Run: "77", Attempt: 2, Host: "runner-1", PID: 9, Started: began.UnixMilli()}
	inJob := owner
	inJob.Job = "tick"
	mixed := func(o schedule.Owner, run string, attempt int) schedule.Owner {
		o.Run, o.Attempt = run, attempt
		return o
	}
	for name, test := range map[string]struct {
		owner schedule.Owner
		says  map[string]any
		want  schedule.Life
	}{
		"it succeeded":           {owner, map[string]any{path: run("completed", "success")}, schedule.Dead},
		"it was cancelled":       {owner, map[string]any{path: run("completed", "cancelled")}, schedule.Dead},
		"it timed out":           {owner, map[string]any{path: run("completed", "timed_out")}, schedule.Dead},
		"it is queued":           {owner, map[string]any{path: run("queued", "")}, schedule.Alive},
		"it waits for a person":  {owner, map[string]any{path: run("waiting", "")}, schedule.Alive},
		"it is pending":          {owner, map[string]any{path: run("pending", "")}, schedule.Alive},
		"it runs":                {owner, map[string]any{path: run("in_progress", "")}, schedule.Alive},
		"it does something new":  {owner, map[string]any{path: run("hibernating", "")}, schedule.Unknown},
		"it was run again":       {mixed(owner, "77", 1), map[string]any{"runs/77/attempts/1": run("completed", "cancelled"), path: run("in_progress", "")}, schedule.Dead},
		"a later attempt is all": {mixed(owner, "77", 1), map[string]any{"runs/77/attempts/1": run("in_progress", "")}, schedule.Dead},
		"it was deleted":         {owner, map[string]any{readable: answer{"total_count": 0}}, schedule.Dead},
		"no run may be seen":     {owner, nil, schedule.Unknown},
		"no workflow run":        {schedule.Owner{Host: "laptop", PID: 9}, nil, schedule.Unknown},
		"no attempt":             {mixed(owner, "77", 0), map[string]any{path: run("completed", "success")}, schedule.Unknown},
		"a path for a run":       {mixed(owner, "../../77", 2), map[string]any{path: run("completed", "success")}, schedule.Unknown},

		"its job is over":          {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("lint", "in_progress", 0, 0), job("tick", "completed", -5, 60))}, schedule.Dead},
		"its job runs":             {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("tick", "in_progress", -5, 0))}, schedule.Alive},
		"its job of a matrix runs": {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("tick (a)", "completed", -5, 60), job("tick (b)", "in_progress", -5, 0))}, schedule.Alive},
		"its jobs are over":        {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("tick (a)", "completed", -5, 60), job("tick (b)", "completed", -9, -7))}, schedule.Dead},
		"a job of its name before": {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("tick", "completed", -60, -10))}, schedule.Alive},
		"its job has a title":      {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": jobs(job("Tick the agents", "completed", -5, 60))}, schedule.Alive},
		"too many jobs to tell":    {inJob, map[string]any{path: run("in_progress", ""), path + "/jobs": answer{"total_count": 101, "jobs": []any{job("tick", "completed", -5, 60)}}}, schedule.Alive},
		"jobs cannot be read":      {inJob, map[string]any{path: run("in_progress", "")}, schedule.Alive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			h.runs = test.says
			if got := h.openRuns(t).Life(t.Context(), test.owner); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestWhatGitHubDoesNotSayIsUnknown(t *testing.T) {
	t.Parallel()
	owner := schedule.Owner{Run: "77", Attempt: 1}
	for name, faults := range map[string][]fault{
		"no permission": {{status: 403, says: "Resource not accessible by integration"}},
		"a rate limit":  {{status: 429, says: "slow down"}},
		"a fault":       {{status: 500}, {status: 502}, {status: 503}},
		"no API":        {{status: 200, says: "<html>"}},
	} {
		h := newHub(t)
		h.runs["runs/77/attempts/1"] = answer{"run_attempt": 1, "status": "completed"}
		r := h.openRuns(t)
		h.fail("actions", faults...)
		if got := r.Life(t.Context(), owner); got != schedule.Unknown {
			t.Errorf("%s: got %d", name, got)
		}
		if got := r.Life(t.Context(), owner); got != schedule.Dead {
			t.Errorf("after %s: got %d", name, got)
		}
	}
}

func TestTheDeadAreAskedForOnce(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.runs["runs/77/attempts/1"] = answer{"run_attempt": 1, "status": "completed"}
	h.runs["runs/78/attempts/1"] = answer{"run_attempt": 1, "status": "in_progress"}
	r := h.openRuns(t)
	for range 3 {
		r.Life(t.Context(), schedule.Owner{Run: "77", Attempt: 1})
		r.Life(t.Context(), schedule.Owner{Run: "78", Attempt: 1})
	}
	if diff := cmp.Diff(map[string]int{"actions": 4}, h.asked()); diff != "" {
		t.Error(diff)
	}
}

func TestNoStoreIsOpenedWithWhatCannotBeRight(t *testing.T) {
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
