package statuspage

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/redact"
)

func TestAServerAnswersUntilItIsStoppedAndEndsOpenPages(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(redact.New(), make(chan struct{}, 1))
	s.Show(sample())
	stop := s.Serve(listener)
	get := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(request)
	}
	page, err := get("/events")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	stop()
	if updates, err := io.ReadAll(page.Body); err != nil || !strings.Contains(string(updates), "event: update") {
		t.Errorf("an open page was sent %.200q (%v)", updates, err)
	}
	if answer, err := get("/api/v1/state"); err == nil {
		answer.Body.Close()
		t.Errorf("a server that is stopped answers %d", answer.StatusCode)
	}
}
