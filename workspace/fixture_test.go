package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var issue = Issue{ID: "id-1", Identifier: "ABC-1", Attempt: 2}

// open opens a root in a temporary folder, with hooks that time out after a minute.
func open(t testing.TB, hooks Hooks) *Root {
	t.Helper()
	return openWith(t, Config{Root: filepath.Join(t.TempDir(), "root"), Hooks: hooks}, nil, slog.New(slog.DiscardHandler))
}

func openWith(t testing.TB, cfg Config, env []string, log *slog.Logger) *Root {
	t.Helper()
	if cfg.Hooks.Timeout == 0 {
		cfg.Hooks.Timeout = time.Minute
	}
	r, err := Open(cfg, Env{Parent: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func prepare(t testing.TB, r *Root) Workspace {
	t.Helper()
	ws, err := r.Prepare(t.Context(), issue)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// start starts an agent that is stopped at the end of the test.
func start(t testing.TB, r *Root, script string, extra ...string) (*Process, *bufio.Scanner) {
	t.Helper()
	p, err := r.Start(t.Context(), prepare(t, r), script, extra)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(t.Context()) })
	return p, bufio.NewScanner(p)
}

// readPID reads a line with a process id.
func readPID(t testing.TB, lines *bufio.Scanner) int {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("no process id: %v", lines.Err())
	}
	return parsePID(t, lines.Text())
}

func parsePID(t testing.TB, s string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || pid <= 1 {
		t.Fatalf("not a process id: %q", s)
	}
	return pid
}

// gone fails the test if a process exists, even as a zombie.
func gone(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there (%v)", pid, err)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lockedBuffer is a buffer for a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var _ io.ReadWriteCloser = (*Process)(nil)
