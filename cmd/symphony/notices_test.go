package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAQuestionReachesSlackAndTheAddressNobody has an agent ask while its command prints the
// environment, and looks for the address in everything that is left.
func TestAQuestionReachesSlackAndTheAddressNobody(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var messages []string
	status := http.StatusOK
	slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		messages = append(messages, r.Method+" "+r.URL.Path+" "+string(body))
		w.WriteHeader(status)
		_, _ = w.Write([]byte("I am " + r.URL.String()))
	}))
	defer slack.Close()
	const path = "/services/T0/B0/veryPrivatePath"
	p := newProject(t, scripted(t, "home"), map[string]string{
		"A-1": task("Run `env > ../../seen; true`", "Ask `Which <!channel> colour?`"),
	})
	p.env = append(p.env, "CHAT_HOOK="+slack.URL+path)
	p.replace("codex:", "notify:\n  destinations:\n    - { kind: slack, name: team, url: $CHAT_HOOK, events: [question, parked] }\ncodex:")
	said := p.ok("validate").stdout
	tried := p.ok("validate", "--notify").stdout
	if said += tried; !strings.Contains(tried, "team took a test notice") || len(messages) != 1 || !strings.Contains(messages[0], "This is a test, and nothing has happened") {
		t.Errorf("a test sends %q:\n%s", messages, tried)
	}
	messages = nil
	first := p.ok("--once", "--report", "report.json", "--logs", "logs")
	said += first.stdout + first.stderr
	if len(messages) != 1 || !strings.HasPrefix(messages[0], "POST "+path+" {") || !strings.Contains(messages[0], "The agent asks a question about A-1") ||
		!strings.Contains(messages[0], "Which <\u200b!channel> colour?") {
		t.Errorf("Slack got %q", messages)
	}
	second := p.ok("--once")
	if said += second.stdout + second.stderr; len(messages) != 1 {
		t.Errorf("the second run tells it again: %q", messages[1:])
	}

	status = http.StatusGone
	p.write("issues/A-2.md", task("Ask `And which size?`"))
	third := p.ok("--once")
	if said += third.stdout + third.stderr; strings.Count(third.stdout, "410 Gone") != 1 {
		t.Errorf("the report does not warn once:\n%s", third.stdout)
	}
	gone := p.run("validate", "--notify")
	if said += gone.stdout + gone.stderr; gone.code != exitUsage || !strings.Contains(gone.stdout, "problem   notice      team: it answers 410 Gone") {
		t.Errorf("exit status %d:\n%s", gone.code, gone.stdout)
	}
	p.env = append(p.env, "CHAT_HOOK=")
	if off := p.run("validate", "--notify"); off.code != exitUsage || !strings.Contains(off.stdout, "problem   notice      team is off: set its environment variables") {
		t.Errorf("without the variable, exit status %d:\n%s", off.code, off.stdout)
	}
	if strings.Contains(said, "veryPrivatePath") || strings.Contains(said, slack.Listener.Addr().String()) {
		t.Errorf("the address is in the output:\n%s", said)
	}
	err := filepath.WalkDir(p.dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "veryPrivatePath") {
			t.Errorf("the address is in %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen := p.read("seen"); !strings.Contains(seen, "PATH=") || strings.Contains(seen, "CHAT_HOOK") {
		t.Errorf("the agent sees the variable:\n%s", seen)
	}
}
