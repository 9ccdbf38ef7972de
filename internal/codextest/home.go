package codextest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Home is a CODEX_HOME for the real Codex with which it uses a scripted model, connects
// only to loopback, and fails at once where it would retry.
type Home struct {
	URL      string          // address of the model
	Model    string          // gpt-5.5 when empty, which has plain tools; gpt-5.6 and later run code
	Features map[string]bool // features to switch, besides the ones that keep Codex quiet
	Config   string          // more of config.toml: tables
}

// Write writes config.toml to dir, and creates dir if it does not exist.
func (h Home) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(h.config()), 0o600)
}

func (h Home) config() string {
	features := map[string]bool{
		"plugins": false, "shell_snapshot": false, "goals": false, "unbounded_connection_retries": false,
	}
	maps.Copy(features, h.Features)
	model := h.Model
	if model == "" {
		model = "gpt-5.5"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `model = %q
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
`, model, h.URL)
	for _, name := range slices.Sorted(maps.Keys(features)) {
		fmt.Fprintf(&b, "%s = %t\n", name, features[name])
	}
	return b.String() + "\n" + h.Config
}

// Path returns the path of the real Codex, and skips the test if there is none.
func Path(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("SYMPHONY_TEST_CODEX"); path != "" {
		return path
	}
	path, err := exec.LookPath("codex")
	if err != nil {
		t.Skip("no Codex: npm install @openai/codex@0.169.0, and set SYMPHONY_TEST_CODEX to its absolute path (node_modules/.bin/codex)")
	}
	return path
}

// Serve starts the real Codex as an app-server that other programs use, with these words of the shell as
// its arguments. It ends with the test.
func Serve(t testing.TB, arguments string, environment ...string) {
	t.Helper()
	server := exec.Command("bash", "-c", "exec '"+Path(t)+"' app-server "+arguments)
	server.Env, server.Dir = environment, t.TempDir()
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npm's wrapper starts another process
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		_ = server.Wait()
	})
}
