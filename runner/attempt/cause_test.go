package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestAFailureIsSystemicIfTheSameFailsWithoutTheIssue(t *testing.T) {
	t.Parallel()
	const start, machine = schedule.CauseStart, schedule.CauseMachine
	refused := fmt.Errorf("opening: %w", &codex.ResponseError{Method: "thread/start", Code: -32600, Message: "unknown variant"})
	exited := fmt.Errorf("opening: %w: %w", codex.ErrPortExit, &workspace.ExitError{Code: 2})
	full := &fs.PathError{Op: "write", Path: "/w/x", Err: syscall.ENOSPC}
	tooLarge := fmt.Errorf("turn: %w", &codex.ResponseError{Method: "turn/start", Code: -32602, Data: json.RawMessage(`{"input_error_code":"input_too_large"}`)})
	for name, test := range map[string]struct {
		err     error
		turns   int
		resumed bool
		tests   schedule.Cause // that are made; empty for none
		lasts   schedule.Class // if the test fails
		own     schedule.Class // if it passes
		fault   string         // then
	}{
		"a refusal":                          {refused, 0, false, start, schedule.Systemic, schedule.IssueFailed, "codex: thread/start: -32600"},
		"a refusal of an older protocol":     {fmt.Errorf("%w", &codex.ResponseError{Method: "initialize", Code: -32601}), 0, false, start, schedule.Systemic, schedule.IssueFailed, "codex: initialize: -32601"},
		"an exit":                            {exited, 0, false, start, schedule.Systemic, schedule.IssueFailed, "codex: it ended with status 2"},
		"an end without a status":            {fmt.Errorf("%w", codex.ErrPortExit), 0, false, start, schedule.Systemic, schedule.IssueFailed, "codex: port_exit"},
		"a turn of a resumed thread":         {refused, 0, true, start, schedule.Systemic, schedule.ThreadLost, ""},
		"no answer to the first request":     {fmt.Errorf("%w: %w", codex.ErrSlowStart, codex.ErrResponseTimeout), 0, false, start, schedule.Systemic, schedule.IssueFailed, "codex_not_started"},
		"no answer to another one":           {fmt.Errorf("%w", codex.ErrResponseTimeout), 0, false, "", schedule.IssueFailed, schedule.IssueFailed, ""},
		"an exit after a turn":               {exited, 1, false, "", schedule.IssueFailed, schedule.IssueFailed, ""},
		"a thread that ends Codex":           {fmt.Errorf("%w: %w", codex.ErrNotResumed, codex.ErrPortExit), 0, false, "", schedule.ThreadLost, schedule.ThreadLost, ""},
		"a prompt that is too long":          {tooLarge, 0, false, "", schedule.IssueFailed, schedule.IssueFailed, ""},
		"a context that is too long":         {&codex.TurnError{Category: codex.ErrTurnFailed, Info: "contextWindowExceeded"}, 1, false, "", schedule.ThreadLost, schedule.ThreadLost, ""},
		"a full disk before a turn":          {full, 0, false, machine, schedule.Systemic, schedule.Transient, ""},
		"a full disk after a turn":           {full, 1, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"open files after a turn":            {&fs.PathError{Op: "open", Path: "/w/x", Err: syscall.EMFILE}, 1, false, machine, schedule.Systemic, schedule.Transient, ""},
		"no process":                         {&fs.PathError{Op: "fork/exec", Path: "/bin/bash", Err: syscall.EAGAIN}, 0, false, machine, schedule.Systemic, schedule.Transient, ""},
		"a disk that cannot be written":      {&fs.PathError{Op: "mkdir", Path: "/w", Err: syscall.EROFS}, 0, false, machine, schedule.Systemic, schedule.Transient, ""},
		"a quota":                            {&fs.PathError{Op: "write", Path: "/w", Err: syscall.EDQUOT}, 0, false, machine, schedule.Systemic, schedule.Transient, ""},
		"what git says of a full disk":       {errors.New(`git index-pack: exit status 128: "fatal: write error: No space left on device"`), 1, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"what Codex says of open files":      {&codex.TurnError{Category: codex.ErrTurnFailed, Message: "failed to load AGENTS.md: No file descriptors available (os error 24)"}, 1, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"what git says of processes":         {errors.New("git fetch: exit status 128: error: cannot fork to run index-pack"), 0, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"what git says of memory":            {errors.New("git status: fatal: mmap failed: Cannot allocate memory"), 0, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"what a hook says of a full disk":    {errors.New("go build: write /tmp/x: no space left on device"), 0, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"what the host's git says":           {fmt.Errorf("take: %w", git.ErrExhausted), 1, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"a full disk of the store":           {fmt.Errorf("%w: %w", git.ErrStore, full), 1, false, machine, schedule.Systemic, schedule.IssueFailed, ""},
		"a folder of git that is not usable": {fmt.Errorf("fill: %w", git.ErrStore), 0, false, machine, schedule.Systemic, schedule.Systemic, ""},
	} {
		for _, lasts := range []bool{true, false} {
			var tested schedule.Cause
			a := newAttempt(Job{}, nil)
			a.turns, a.resumed = test.turns, test.resumed
			a.Test = func(_ context.Context, cause schedule.Cause) error {
				tested = cause
				if lasts {
					return errors.New("it fails without an issue")
				}
				return nil
			}
			var o schedule.Outcome
			a.judge(t.Context(), &o, test.err)
			want := schedule.Outcome{Class: test.own, Fault: test.fault, Why: test.err.Error()}
			if o.Class == schedule.Systemic && !lasts {
				want.Cause = schedule.CauseDelivery
			}
			if lasts && test.tests != "" {
				want = schedule.Outcome{Class: test.lasts, Cause: test.tests, Why: "it fails without an issue"}
			}
			if diff := cmp.Diff(want, o); diff != "" || tested != test.tests {
				t.Errorf("%s, the test fails: %v: tested %q (-want +got):\n%s", name, lasts, tested, diff)
			}
		}
	}
}

func TestWhatKeepsEverySessionFromATurnIsSystemicWithoutATest(t *testing.T) {
	t.Parallel()
	for _, err := range startErrors {
		a := newAttempt(Job{}, nil)
		a.Test = func(context.Context, schedule.Cause) error { t.Errorf("%v is tested", err); return nil }
		var o schedule.Outcome
		if a.judge(t.Context(), &o, err); o.Class != schedule.Systemic || o.Cause != schedule.CauseStart {
			t.Errorf("%v: %+v", err, o)
		}
		a.turns = 1
		if a.judge(t.Context(), &o, err); o.Cause == schedule.CauseStart && o.Class == schedule.Systemic && errors.Is(err, workspace.ErrNotFound) {
			t.Errorf("%v after a turn: %+v", err, o)
		}
	}
}

func TestAFailureWhileTheFolderOfTheWorkspacesIsGoneIsNotCharged(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "root")
	root, err := workspace.Open(workspace.Config{Root: folder}, workspace.Env{Parent: os.Environ()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	a := newAttempt(Job{Workspaces: root}, nil)
	a.turns = 1
	a.Test = func(ctx context.Context, _ schedule.Cause) error { return nil }
	var o schedule.Outcome
	if a.judge(t.Context(), &o, errors.New("harvest: nothing is there")); o.Class != schedule.Transient {
		t.Errorf("%+v", o)
	}
	if _, err := root.Prepare(t.Context(), workspace.Issue{ID: "1", Identifier: "A-1"}); !errors.Is(err, workspace.ErrRootGone) {
		t.Errorf("a workspace is prepared: %v", err)
	}
}
