package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// look is shell code that prints what a command has and may do: its variables, the interfaces of
// its network, what it can read and write, and the prepared files.
const look = `rm -f x
env -0 | sort -z | tr '\n\0' ' \n'
pwd -P; umask; id -u; cut -d: -f1 -s /proc/net/dev
for place in ../../home/.ssh/key ../../home/secret /tmp/x /etc/x "$HOME/x" "$TMPDIR/x" x .git/config; do
  { : <"$place"; } 2>/dev/null; echo "$place read: $?"
  { : >>"$place"; } 2>/dev/null; echo "$place written: $?"
done
ls -A ~; cat cache/made ~/.cache/made; (exec 3<>/dev/tcp/192.0.2.1/80) 2>&1 | sed 's/.*: //'
`

// visit makes a visit, and returns the exit status and both outputs.
func (f *repositoryFixture) visit(v Visitor) (code int, stdout, stderr string, err error) {
	f.t.Helper()
	var out, errs bytes.Buffer
	if v.Stdout == nil {
		v.Stdout, v.Stderr = &out, &errs
	}
	code, err = Visit(f.t.Context(), f.job, v)
	f.assertNothingIsLeft()
	return code, out.String(), errs.String(), err
}

// ofTheTurn matches the variables of a command that Codex sets for one session or turn.
var ofTheTurn = regexp.MustCompile(`(?m)^(CODEX_(HOME|PERMISSION_PROFILE|SESSION_ID|THREAD_ID|TOOL_CALL_ID|VERSION)|SYMPHONY_SESSION)=.*\n`)

// ofCodex matches the folders that Codex puts on PATH.
var ofCodex = regexp.MustCompile(`[^:=\n]*/codex[^:\n]*:`)

// TestAPersonVisitsTheRoomOfTheAgent lets the agent and a person look around, in a room with
// prepared files. A visit has the exit status of its command, and keeps the thread of the issue.
func TestAPersonVisitsTheRoomOfTheAgent(t *testing.T) {
	t.Parallel()
	f := newSetupFixture(t, "mkdir -p cache ~/.cache && echo made >cache/made && echo of the home >~/.cache/made", "{ "+look+"} >cache/seen 2>&1")
	writeFile(t, f.path("home/.ssh/key"), "key\n")
	writeFile(t, f.path("home/secret"), "secret\n")
	f.job.Denied = room.Denied{Paths: []string{f.path("home/.ssh")}}
	f.job.Codex.Deny = []string{f.path("home/secret")}
	f.job.Codex.Env, f.environment = []string{"OF_THE_AGENT"}, []string{"OF_THE_AGENT=yes", "OF_NOBODY=yes"}
	if got := f.session(t.Context()); got.Class != schedule.Done {
		t.Fatalf("%+v\n%s", got, f.readLog())
	}
	home := filepath.Join(f.job.SessionDir, "home")
	before := filesBelow(t, home)
	if len(before) != 1 {
		t.Fatalf("the home has %q", before)
	}
	seen := f.readText(f.inWorkspace("cache/seen"))
	for _, want := range []string{"OF_THE_AGENT=yes\n", "HOME=" + f.job.SessionDir, "../../home/.ssh/key read: 1\n", "../../home/secret read: 1\n", "/x written: 0\n", "made\nof the home\n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the agent does not see %q:\n%s", want, seen)
		}
	}
	code, out, errs, err := f.visit(Visitor{Command: []string{"bash", "-c", look}})
	if code != 0 || err != nil || errs != "" {
		t.Fatalf("%d, %v, %q", code, err, errs)
	}
	plain := func(text string) string { return ofCodex.ReplaceAllString(ofTheTurn.ReplaceAllString(text, ""), "") }
	if diff := cmp.Diff(plain(seen), plain(out)); diff != "" {
		t.Errorf("(-agent +person):\n%s", diff)
	}
	for script, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "sleep 1000 & exit 0": 0} {
		code, out, errs, err := f.visit(Visitor{Command: []string{"bash", "-c", "echo out; echo err >&2; " + script}})
		if code != want || err != nil || out != "out\n" || !strings.HasPrefix(errs, "err\n") {
			t.Errorf("%s: %d, %v: %q %q", script, code, err, out, errs)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(schedule.ErrInterrupted)
	if _, err := Visit(ctx, f.job, Visitor{Command: []string{"true"}}); !errors.Is(err, schedule.ErrInterrupted) {
		t.Error(err)
	}
	f.typesAtAShell()
	if diff := cmp.Diff(before, filesBelow(t, home)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestAVisitIsRefusedWhereNoAgentIsTheSame(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "")
	f.openWorkspaces()
	f.fetch()
	v := Visitor{Command: []string{"touch", f.path("visited")}}
	if _, err := Visit(t.Context(), f.job, v); !errors.Is(err, workspace.ErrNone) {
		t.Errorf("without a workspace: %v", err)
	}
	if found, err := filepath.Glob(f.path("root/[^.]*")); err != nil || len(found) > 0 {
		t.Errorf("it made %q, %v", found, err)
	}
	ws, err := f.job.Workspaces.Begin(t.Context(), workspace.Issue{ID: issueName, Identifier: issueName})
	f.check(err)
	f.job.Workspaces.Release(ws)
	if _, err := Visit(t.Context(), f.job, v); !errors.Is(err, workspace.ErrNone) {
		t.Errorf("in one that is not finished: %v", err)
	}
	f.job.Codex.ThreadSandbox = json.RawMessage(`"read-only"`)
	if _, err := Visit(t.Context(), f.job, v); err == nil || !strings.Contains(err.Error(), "codex.thread_sandbox") {
		t.Errorf("with another sandbox: %v", err)
	}
	if f.readText(f.path("visited")) != "" {
		t.Error("the command ran")
	}
}

// typesAtAShell has a person type at a shell that has a terminal: Ctrl-C ends a command.
func (f *repositoryFixture) typesAtAShell() {
	if runtime.GOOS == "linux" && exec.Command("script", "--version").Run() != nil {
		f.t.Log("there is no command script here")
		return
	}
	keys, typed := io.Pipe()
	shown, screen := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer io.Copy(io.Discard, shown)
		late := time.AfterFunc(time.Minute, func() { screen.CloseWithError(errors.New("it shows nothing more")) })
		defer late.Stop()
		text, piece := "", make([]byte, 1000)
		for _, step := range []struct{ typed, answer string }{
			{"", "/ABC-1"},
			{"stty size; tty | sed s/^/on:/\r", "30 100\r\non:/dev/pts/"},
			{"sh -c 'echo wait\"\"ing; exec sleep 1000'\r", "\nwaiting"}, // a command of the foreground by then
			{"\x03", "^C"},
			{"echo $TERM,$LANG,$((cat cache/made ~/.cache/made)|paste -sd,)\r", "\nxterm-of-mine,C.UTF-8,made,of the home"},
			{"exit 5\r", "exit"},
		} {
			if _, err := io.WriteString(typed, step.typed); err != nil {
				f.t.Error(err)
			}
			for text = ""; !strings.Contains(text, step.answer); {
				n, err := shown.Read(piece)
				if text += string(piece[:n]); err != nil {
					f.t.Errorf("%q: %v, and the screen shows %q", step.typed, err, text)
					typed.Close()
					return
				}
			}
		}
	})
	f.environment = append(f.environment, "TERM=xterm-of-mine")
	f.job.Workspaces = nil
	f.openWorkspaces()
	code, _, _, err := f.visit(Visitor{
		Stdout: screen, Stderr: screen, Terminal: &codex.Terminal{Size: codex.Size{Columns: 100, Rows: 30}, Keys: keys},
	})
	screen.Close()
	typed.Close()
	wg.Wait()
	if code != 5 || err != nil {
		f.t.Errorf("%d, %v", code, err)
	}
}
