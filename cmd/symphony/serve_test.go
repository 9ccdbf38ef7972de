package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
	if lines.Scan(); !strings.Contains(lines.Text(), url+"/#token=") || len(lines.Text()) > 80 { // the live display cuts a longer one
		t.Errorf("the address for commands: %q", lines.Text())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()

	type row struct {
		Identifier string    `json:"issue_identifier"`
		Session    string    `json:"session_id"`
		PID        int       `json:"codex_app_server_pid"`
		Status     string    `json:"attempt_status"`
		Turns      int       `json:"turn_count"`
		StartedAt  time.Time `json:"started_at"`
	}
	var state struct{ Running []row }
	waitFor(t, "a session to be shown", func() bool {
		state.Running = nil
		return json.Unmarshal([]byte(get(t, url+"/api/v1/state")), &state) == nil && len(state.Running) == 1 && state.Running[0].Turns == 1
	})
	if row := state.Running[0]; row.Identifier != "A-1" || row.Session == "" || row.PID == 0 || row.Status != "StreamingTurn" || row.StartedAt.IsZero() {
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

	// A page that is open does not keep the service from ending.
	open, err := http.Get(url + "/events")
	if err != nil || open.StatusCode != http.StatusOK {
		t.Fatal(open, err)
	}
	defer open.Body.Close()
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
