package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTheStatusServerShowsWhatRuns(t *testing.T) {
	t.Parallel()
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
		"A-1": "---\ntitle: <b>Hangs</b>\nstate: Todo\n---\n- [ ] Hang\n",
	})
	p.replace("codex:", "polling: {interval_ms: 3600000}\ncodex:")
	cmd := p.command(context.Background(), "--port", "0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var url string
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "status on ")
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()

	var state statusPage
	waitFor(t, "a session to be shown", func() bool {
		state = statusPage{}
		return json.Unmarshal([]byte(get(t, url+"/api/v1/state")), &state) == nil && len(state.Running) == 1 && state.Running[0].Turns == 1
	})
	if row := state.Running[0]; row.Identifier != "A-1" || row.Session == "" || row.PID == 0 || row.Status != "StreamingTurn" || row.StartedAt == nil {
		t.Errorf("the session is shown as %+v", row)
	}
	if detail := get(t, url+"/api/v1/a-1"); !strings.Contains(detail, `"issue_identifier":"A-1"`) {
		t.Errorf("the issue is shown as %s", detail)
	}
	if page := get(t, url+"/"); !strings.Contains(page, "&lt;b&gt;Hangs") || strings.Contains(page, "<b>Hangs") {
		t.Errorf("the page does not show the title as text:\n%s", page)
	}
	if missing := get(t, url+"/api/v1/B-9"); !strings.Contains(missing, "issue_not_found") {
		t.Errorf("an unknown issue is shown as %s", missing)
	}

	// Another issue appears: a refresh finds it long before the next poll.
	p.write("issues/A-2.md", "---\ntitle: New\nstate: Todo\n---\n- [ ] Hang\n")
	if answer, err := http.Post(url+"/api/v1/refresh", "application/json", nil); err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatalf("refresh: %v %v", answer, err)
	}
	waitFor(t, "the second session", func() bool { return strings.Contains(get(t, url+"/api/v1/A-2"), "running") })

	// A page of somebody else cannot reach it through the user's browser.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/state", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "rebound.example"
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("a request for another host: %v %v", answer, err)
	}

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-drained
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v", err)
	}
	p.noProcessLeft()
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ask returns the answer of a status server that shows the progress; nil is none yet.
func ask(t *testing.T, p *progress.Progress, path string) (status int, body string) {
	t.Helper()
	s := &statusServer{redactor: redact.New()}
	s.now.Store(p)
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Host = "localhost"
	s.handler().ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

func TestASnapshotThatIsNotThereYetIsUnavailableAndNotEmpty(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/api/v1/state", "/api/v1/A-1"} {
		if status, body := ask(t, nil, path); status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"unavailable"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, body := ask(t, &progress.Progress{}, path); status == http.StatusServiceUnavailable {
			t.Errorf("%s of an idle service: %d %s", path, status, body)
		}
	}
}

func TestTheTimeOfASessionThatIsBeingStoppedIsCountedOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	page := statusOf(progress.Progress{
		Today: schedule.Day{Time: 85 * time.Second}, // of the stopped session, up to the stop
		Sessions: []progress.Session{
			{Claim: schedule.Claim{ID: "1", Phase: schedule.Stopping, Since: now.Add(-5 * time.Second)}, Started: now.Add(-90 * time.Second)},
			{Claim: schedule.Claim{ID: "2", Phase: schedule.Running, Since: now.Add(-10 * time.Second)}, Started: now.Add(-10 * time.Second)},
			{Started: now.Add(-time.Hour)}, // another run has its claim
		},
	}, now)
	if page.Totals.Seconds != 100 {
		t.Errorf("%v s, want 100", page.Totals.Seconds)
	}
}

func TestTheSnapshotHasRowsTotalsAndRateLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	due, heard := now.Add(time.Minute), now.Add(-time.Second)
	p := progress.Progress{
		Sessions: []progress.Session{{
			Claim: schedule.Claim{
				ID: "1", Identifier: "A-1", Title: "One", URL: "https://linear.app/acme/issue/A-1", State: "Todo", Phase: schedule.Running, Turns: 3, Tokens: 700, Since: now.Add(-90 * time.Second), Heard: heard,
			},
			ID: "thread-turn", PID: 42, Status: schedule.StatusStreamingTurn, Started: now.Add(-90 * time.Second),
			Event: "notification", Summary: "running `make`",
		}},
		Waiting: []schedule.Claim{{ID: "2", Identifier: "A-2", State: "Todo", Phase: schedule.Waiting, Attempt: 2, Due: due, Why: "turn_failed"}},
		Today:   schedule.Day{Usage: schedule.Usage{Input: 500, Output: 200}, Time: 10 * time.Second},
		Limits:  []byte(`{"primary":{"usedPercent":43}}`), Completed: []tracker.ID{"9"},
	}
	text, err := json.Marshal(statusOf(p, now))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	row := func(fields map[string]any) []any { return []any{fields} }
	want := map[string]any{
		"generated_at": "2026-01-02T03:04:05Z",
		"counts":       map[string]any{"running": 1., "retrying": 1., "parked": 0., "completed": 1.},
		"running": row(map[string]any{
			"issue_id": "1", "issue_identifier": "A-1", "issue_url": "https://linear.app/acme/issue/A-1", "title": "One", "state": "Todo", "phase": "running", "attempt": 0., "total_tokens": 700.,
			"attempt_status": "StreamingTurn", "session_id": "thread-turn", "codex_app_server_pid": 42., "turn_count": 3.,
			"last_event": "notification", "last_message": "running `make`", "started_at": "2026-01-02T03:02:35Z", "last_event_at": "2026-01-02T03:04:04Z",
		}),
		"retrying": row(map[string]any{
			"issue_id": "2", "issue_identifier": "A-2", "issue_url": "", "title": "", "state": "Todo", "phase": "waiting", "attempt": 2., "total_tokens": 0.,
			"error": "turn_failed", "due_at": "2026-01-02T03:05:05Z",
		}),
		"parked": []any{}, "completed": []any{"9"},
		"codex_totals": map[string]any{"input_tokens": 500., "output_tokens": 200., "total_tokens": 700., "seconds_running": 100.},
		"rate_limits":  map[string]any{"primary": map[string]any{"usedPercent": 43.}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
