package storetest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Run is one attempt of a workflow run.
type Run struct {
	ID         int64
	Attempt    int    // attempt from 1; 0 means 1
	Status     string // "queued", "in_progress", "completed", …
	Conclusion string // conclusion of a completed run: "success", "cancelled", "timed_out", …
	Jobs       []Job
}

// Job is one job of an attempt.
type Job struct {
	Name               string // title: the key in the workflow unless the workflow sets another
	Status             string
	Conclusion         string
	Started, Completed time.Time // zero if that has not happened
	Runner             string    // runner that took it: "GitHub Actions 3" is GitHub's own; empty for none
}

// SetRun adds an attempt of a workflow run, or replaces it.
func (h *Hub) SetRun(run Run) {
	run.Attempt = max(run.Attempt, 1)
	h.locked(func() {
		for i, r := range h.runs[run.ID] {
			if r.Attempt == run.Attempt {
				h.runs[run.ID][i] = run
				return
			}
		}
		h.runs[run.ID] = append(h.runs[run.ID], run)
	})
}

// DeleteRun deletes a workflow run with all its attempts.
func (h *Hub) DeleteRun(id int64) { h.locked(func() { delete(h.runs, id) }) }

func (r Run) answer() jsonObject {
	return jsonObject{"id": r.ID, "name": "symphony", "run_attempt": r.Attempt, "status": r.Status, "conclusion": orNull(r.Conclusion)}
}

func (j Job) answer(id int, r Run) jsonObject {
	answer := jsonObject{
		"id": id, "run_id": r.ID, "run_attempt": r.Attempt, "name": j.Name, "status": j.Status, "conclusion": orNull(j.Conclusion),
		"started_at": timeOrNull(j.Started), "completed_at": timeOrNull(j.Completed),
		"runner_id": nil, "runner_name": nil, "runner_group_name": nil,
	}
	if j.Runner != "" {
		answer["runner_id"], answer["runner_name"], answer["runner_group_name"] = 7, j.Runner, "Default"
		if strings.HasPrefix(j.Runner, "GitHub Actions ") {
			answer["runner_group_name"] = "GitHub Actions"
		}
	}
	return answer
}

// orNull returns s, or null for an empty s.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// timeOrNull returns t as GitHub writes it, to the second, or null for the zero time.
func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// attempts returns the attempts of the run in the path of a request.
func (h *Hub) attempts(r *http.Request) []Run {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64) // no run has the ID 0
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Run{}, h.runs[id]...)
}

// attempt returns the attempt in the path of a request.
func (h *Hub) attempt(r *http.Request) (Run, bool) {
	for _, run := range h.attempts(r) {
		if strconv.Itoa(run.Attempt) == r.PathValue("attempt") {
			return run, true
		}
	}
	return Run{}, false
}

// latest returns the attempt with the highest number.
func latest(attempts []Run) Run {
	var last Run
	for _, run := range attempts {
		if run.Attempt > last.Attempt {
			last = run
		}
	}
	return last
}

func (h *Hub) getRuns(r *http.Request) (int, any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []any
	for _, attempts := range h.runs {
		run := latest(attempts)
		if status := r.FormValue("status"); status == "" || status == run.Status || status == run.Conclusion {
			list = append(list, run.answer())
		}
	}
	return http.StatusOK, jsonObject{"total_count": len(list), "workflow_runs": pageOf(r, list)}
}

func (h *Hub) getRun(r *http.Request) (int, any) {
	if attempts := h.attempts(r); len(attempts) > 0 {
		return http.StatusOK, latest(attempts).answer()
	}
	return http.StatusNotFound, errorMessage("Not Found")
}

func (h *Hub) getAttempt(r *http.Request) (int, any) {
	if run, ok := h.attempt(r); ok {
		return http.StatusOK, run.answer()
	}
	return http.StatusNotFound, errorMessage("Not Found")
}

func (h *Hub) getJobs(r *http.Request) (int, any) {
	run, ok := h.attempt(r)
	if !ok {
		return http.StatusNotFound, errorMessage("Not Found")
	}
	var list []any
	for i, j := range run.Jobs {
		list = append(list, j.answer(i+1, run))
	}
	return http.StatusOK, jsonObject{"total_count": len(list), "jobs": pageOf(r, list)}
}

// pageOf returns the part of a list that a request asks for.
func pageOf(r *http.Request, list []any) []any {
	size, err := strconv.Atoi(r.FormValue("per_page"))
	if err != nil || size < 1 || size > 100 {
		size = 30
	}
	number, _ := strconv.Atoi(r.FormValue("page"))
	from := min((max(number, 1)-1)*size, len(list))
	return append([]any{}, list[from:min(from+size, len(list))]...)
}
