package main

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestAKeyOpensTheModelAndIsSeenNowhere gives the program a key as people do. The
// model takes nobody without it, and looks around for it at every request.
func TestAKeyOpensTheModelAndIsSeenNowhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key string // each looks through the processes of the other
		env []string
	}{
		"OPENAI_API_KEY": {
			"sk-a-key-that-is-nowhere", []string{"OPENAI_API_KEY=sk-a-key-that-is-nowhere"},
		},
		"CODEX_API_KEY, which counts before it": {
			"sk-a-key-of-codex-alone", []string{"CODEX_API_KEY=sk-a-key-of-codex-alone", "OPENAI_API_KEY=sk-a-key-of-other-programs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keyOpensTheModel(t, test.key, test.env)
		})
	}
}

func keyOpensTheModel(t *testing.T, key string, env []string) {
	p, m := realProject(t, map[string]string{"A-1": todo("Look")},
		lane("A-1",
			call("exec_command", map[string]string{"cmd": "env | tee environ; echo the command ran"}),
			handOver(), say("Done.")))
	p.replace("codex:\n", `hooks:
  after_create: env > hooked
  before_run: env >> hooked
  after_run: env >> hooked
  env: [OPENAI_API_KEY]
codex:
  model: gpt-5.5
  env: [OPENAI_API_KEY, CODEX_API_KEY]
`)
	var mu sync.Mutex
	seen := map[string]bool{}
	program := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		look(p.dir, key, program, seen)
		mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":{"message":"who are you?"}}`, http.StatusUnauthorized)
			return
		}
		m.ServeHTTP(w, r)
	}))
	defer model.Close()
	temp := t.TempDir()
	p.env = append(append(p.env, env...), "OPENAI_BASE_URL="+model.URL+"/v1", "CODEX_HOME=", "TMPDIR="+temp,
		"GITHUB_STEP_SUMMARY="+filepath.Join(p.dir, "summary.md"))

	var stdout, stderr bytes.Buffer
	cmd := p.command(context.Background(), "--once", "--logs", "logs")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	mu.Lock()
	err := cmd.Start()
	if err == nil {
		program = cmd.Process.Pid
	}
	mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}

	if !strings.Contains(stdout.String(), "1 completed") || !strings.Contains(p.read("issues/A-1.md"), "state: Review") {
		t.Fatalf("the session did not work:\n%s\n%s", &stdout, &stderr)
	}
	look(p.dir, key, program, seen)
	look(temp, key, program, seen)
	if len(seen) > 0 {
		t.Errorf("the key is in %v", seen)
	}
	outputs := stdout.String() + stderr.String()
	for _, r := range m.Requests() {
		outputs += string(r.Body)
	}
	if strings.Contains(outputs, key) {
		t.Error("the key is in what was printed, or in what the model was told")
	}
	if !said(m.Requests()[1], "the command ran") || !strings.Contains(p.read("workspaces/A-1/environ"), "HOME=") ||
		strings.Count(p.read("workspaces/A-1/hooked"), "SYMPHONY_ISSUE_ID=") != 3 {
		t.Errorf("the environments were not looked at, so this shows nothing:\n%s\n%s",
			p.read("workspaces/A-1/environ"), p.read("workspaces/A-1/hooked"))
	}
	if text := p.eventLog("logs", "A-1"); !strings.Contains(text, "account/login/start") {
		t.Error("the event log does not tell of the login")
	}
}

// look notes the files below a folder that hold a key, and the processes that have
// it in their environment or among their arguments, except the program itself.
func look(folder, key string, program int, seen map[string]bool) {
	note := func(path string) {
		if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(key)) {
			seen[path] = true
		}
	}
	filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			note(path)
		}
		return nil // files come and go
	})
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		if filepath.Base(process) != strconv.Itoa(program) {
			note(filepath.Join(process, "environ"))
		}
		note(filepath.Join(process, "cmdline"))
	}
}
