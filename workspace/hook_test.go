package workspace

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func mkfifo(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAHookRunsInItsWorkspaceAndKnowsItsIssue(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	r := openWith(t, Config{
		Root: filepath.Join(t.TempDir(), "root"),
		Hooks: Hooks{Env: []string{"NAMED"}, BeforeRun: `{
			pwd; pwd -P; echo "$SYMPHONY_WORKSPACE"; echo "$SYMPHONY_ISSUE_ID/$SYMPHONY_ISSUE_IDENTIFIER/$SYMPHONY_ATTEMPT"
			echo "$NAMED/$OTHER/$GITHUB_TOKEN/$CODEX_HOME"; cat; shopt -q login_shell && echo login
			} > ` + out},
	}, []string{"NAMED=n", "OTHER=o", "GITHUB_TOKEN=g", "CODEX_HOME=c"}, slog.New(slog.DiscardHandler))
	ws := prepare(t, r)
	if err := r.BeforeRun(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	want := []string{ws.Path, ws.Path, ws.Path, "id-1/ABC-1/2", "n///", "login", ""}
	if diff := cmp.Diff(want, strings.Split(read(t, out), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestTheErrorOfAHookHasItsNameStatusAndOutput(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	r := openWith(t, Config{
		Root:  filepath.Join(t.TempDir(), "root"),
		Hooks: Hooks{BeforeRun: `head -c 100000 /dev/zero | tr '\0' x; printf 'oh\n::error::no\x1b[2J' >&2; exit 7`},
	}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	err := r.BeforeRun(t.Context(), prepare(t, r))
	var exit *ExitError
	if !errors.Is(err, ErrHook) || !errors.As(err, &exit) || exit.Code != 7 {
		t.Fatal(err)
	}
	for _, want := range []string{"hook before_run: hook_failed: exit status 7", "[...] ", "| ::error::no[2J", "hooks.before_run"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 2*maxHookOutput {
		t.Errorf("unfit for a log: %q", err)
	}
	var messages []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, " level=")
		line, _, _ = strings.Cut(line, " took=")
		messages = append(messages, strings.TrimSpace(line))
	}
	want := []string{
		`INFO msg="hook started" issue_id=id-1 issue_identifier=ABC-1 hook=before_run`,
		`WARN msg="hook failed" issue_id=id-1 issue_identifier=ABC-1 hook=before_run`,
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Error(diff)
	}
}

func TestAHookThatTimesOutIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	r := open(t, Hooks{
		Timeout: 300 * time.Millisecond,
		// The sleep is in the process group of the shell, which ignores SIGTERM.
		BeforeRun: `trap '' TERM; sleep 60 & echo $$ $! > ` + pids + `; echo waiting; while :; do wait; done`,
	})
	r.Grace = Grace{Term: 50 * time.Millisecond, Kill: 10 * time.Second}
	err := r.BeforeRun(t.Context(), prepare(t, r))
	if !errors.Is(err, ErrHookTimeout) || errors.Is(err, ErrHook) || !strings.Contains(err.Error(), "hooks.timeout_ms (300)") {
		t.Error(err)
	}
	for _, pid := range strings.Fields(read(t, pids)) {
		gone(t, parsePID(t, pid))
	}
}

func TestAHookEndsWithItsShellAlthoughAChildHoldsItsOutput(t *testing.T) {
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	r := open(t, Hooks{AfterRun: `sleep 60 & echo $! > ` + pid})
	if err := r.AfterRun(t.Context(), prepare(t, r)); err != nil {
		t.Error(err)
	}
	gone(t, parsePID(t, read(t, pid)))
}

func TestAHookDoesNotRunOutsideItsWorkspace(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	r := open(t, Hooks{AfterRun: "touch " + ran})
	if err := r.AfterRun(t.Context(), r.workspace(issue)); !errors.Is(err, ErrInvalidCwd) {
		t.Error(err)
	}
	if exists(ran) {
		t.Error("it ran")
	}
}

func TestTheFailureOfAHookIsEqualForTwoIssues(t *testing.T) {
	t.Parallel()
	kind := func(hooks Hooks) string {
		t.Helper()
		hooks.Timeout = max(hooks.Timeout, 100*time.Millisecond)
		r := open(t, hooks)
		r.Grace = Grace{Term: 50 * time.Millisecond, Kill: 10 * time.Second}
		failed, ok := errors.AsType[*HookError](r.BeforeRun(t.Context(), prepare(t, r)))
		if !ok {
			t.Fatal("no HookError")
		}
		return failed.Kind()
	}
	const minute = time.Minute
	one := kind(Hooks{Timeout: minute, BeforeRun: "echo GH-1; exit 3"})
	if two := kind(Hooks{Timeout: minute, BeforeRun: "echo GH-2; exit 3"}); one != two || one != "hook before_run: hook_failed: exit status 3" {
		t.Errorf("%q and %q", one, two)
	}
	for _, other := range []Hooks{{Timeout: minute, BeforeRun: "exit 4"}, {Timeout: minute, BeforeRun: "kill -9 $$"}, {BeforeRun: "sleep 60"}} {
		if got := kind(other); got == one {
			t.Errorf("%+v is %q as well", other, got)
		}
	}
}
