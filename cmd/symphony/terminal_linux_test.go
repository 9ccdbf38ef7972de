package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// window is a terminal in which the program runs.
type window struct {
	t   testing.TB
	cmd *exec.Cmd
	tty *os.File // the terminal's side

	mu           sync.Mutex
	screen       *vt.Emulator
	written      strings.Builder
	cursorHidden bool
	read         chan struct{} // closed when the program has closed the terminal
}

// open runs the program in a terminal.
func (p *project) open(columns, rows int, args ...string) *window {
	p.t.Helper()
	return p.openWith(nil, columns, rows, args...)
}

// openWith runs the program in a terminal, with an environment for a display that env
// changes.
func (p *project) openWith(env []string, columns, rows int, args ...string) *window {
	p.t.Helper()
	return p.openCommand(p.command(p.t.Context(), args...), env, columns, rows)
}

// openCommand runs a command in a terminal, with an environment for a display that env
// changes.
func (p *project) openCommand(cmd *exec.Cmd, env []string, columns, rows int) *window {
	p.t.Helper()
	w := &window{t: p.t, cmd: cmd, screen: vt.NewEmulator(cmp.Or(columns, 80), cmp.Or(rows, 24)), read: make(chan struct{})}
	w.cmd.Env = append(append(w.cmd.Env, "TERM=xterm-256color", "CI=", "NO_COLOR="), env...)
	w.cmd.SysProcAttr = nil // pty sets it
	w.screen.SetCallbacks(vt.Callbacks{CursorVisibility: func(visible bool) { w.cursorHidden = !visible }})
	tty, err := pty.StartWithSize(w.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		p.t.Fatal(err)
	}
	w.tty = tty
	p.t.Cleanup(func() {
		w.cmd.Process.Kill()
		tty.Close()
	})
	go io.Copy(io.Discard, w.screen) // what the terminal answers: nobody is to ask
	go func() {
		defer close(w.read)
		chunk := make([]byte, 1<<16)
		for {
			n, err := tty.Read(chunk)
			w.mu.Lock()
			w.screen.Write(chunk[:n])
			w.written.Write(chunk[:n])
			w.mu.Unlock()
			if err != nil {
				return // EIO at the end
			}
		}
	}()
	return w
}

// shown returns what the screen shows.
func (w *window) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(strings.Fields(strings.NewReplacer("\n", " ⏎ ").Replace(w.screen.String())), " ")
}

// awaits waits until the screen shows each of the texts.
func (w *window) awaits(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if !poll(func() bool { return strings.Contains(w.shown(), text) }) {
			w.t.Fatalf("no %q on the screen:\n%s", text, strings.ReplaceAll(w.shown(), "⏎", "\n"))
		}
	}
}

// history returns the lines that have left the screen and those that it shows.
func (w *window) history() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, line := range w.screen.Scrollback().Lines() {
		b.WriteString(line.String() + "\n")
	}
	return b.String() + w.screen.String()
}

// resize changes the size of the terminal.
func (w *window) resize(columns, rows int) {
	w.t.Helper()
	w.mu.Lock()
	w.screen.Resize(columns, rows)
	w.mu.Unlock()
	if err := pty.Setsize(w.tty, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}); err != nil {
		w.t.Fatal(err)
	}
}

// types sends keys to the program.
func (w *window) types(keys string) {
	w.t.Helper()
	if _, err := w.tty.WriteString(keys); err != nil {
		w.t.Fatal(err)
	}
}

const ctrlC, ctrlZ = "\x03", "\x1a"

// ends waits for the end of the program. The terminal must be as it was before.
func (w *window) ends(code int) {
	w.t.Helper()
	w.cmd.Wait()
	<-w.read
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit status %d, want %d\n%s", got, code, w.history())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.screen.IsAltScreen() || w.cursorHidden {
		w.t.Errorf("at the end: alternate screen %v, cursor hidden %v", w.screen.IsAltScreen(), w.cursorHidden)
	}
	if modes := w.modes(); modes&unix.ECHO == 0 || modes&unix.ICANON == 0 {
		w.t.Errorf("modes of the terminal at the end: %o", modes)
	}
	if asked := query.FindString(w.written.String()); asked != "" {
		w.t.Errorf("the program asked the terminal %q, which answers the shell if the program ends first", asked)
	}
}

// query matches what makes a terminal answer.
var query = regexp.MustCompile(`\x1b\[[?>=]?[0-9;]*[cn]|\x1b\[\?u|\x1b\[\?[0-9]+\$p|\x1b\][0-9]+;\?`)

// modes returns the local modes of the terminal.
func (w *window) modes() uint32 {
	w.t.Helper()
	modes, err := unix.IoctlGetTermios(int(w.tty.Fd()), unix.TCGETS)
	if err != nil {
		w.t.Fatal(err)
	}
	return modes.Lflag
}

func TestTheJSONOfALogDoesNotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	p, g := atGitHub(t)
	g.AddArtifact(githubtest.Artifact{Run: 80, Name: "symphony-80", Files: map[string]string{
		"logs/GH-7/" + logName: logOf("GH-7", "right\u202eleft ghs_01234567\u200b89abcdefTOKEN") + "\x1b[31mred\x1b]0;title\x07\u009b2J\n",
	}})
	w := p.open(200, 20, "log", "--run", "80", "--json", "GH-7")
	w.ends(0)
	got := w.written.String()
	if strings.ContainsAny(got, "\x1b\x07\u009b\u202e") || strings.Contains(got, "TOKEN") || !strings.Contains(got, "rightleft ***") {
		t.Errorf("%q", got)
	}
	if r := p.ok("log", "--run", "80", "--json", "GH-7"); !strings.Contains(r.stdout, "\x1b[31mred") {
		t.Errorf("another program does not get the log as it is: %q", r.stdout)
	}
}

// crowd returns a project with issues on which the agent works until it is stopped.
func crowd(t *testing.T, issues int) *project {
	t.Helper()
	tasks := map[string]string{}
	for i := range issues {
		tasks[fmt.Sprintf("A-%d", i+1)] = task("Say `part one`", "Hang")
	}
	p := newProject(t, scripted(t, t.TempDir()), tasks)
	p.replace("workspace:", fmt.Sprintf("agent:\n  max_concurrent_agents: %d\n  max_issues_per_tick: %[1]d\nworkspace:", issues))
	return p
}

func TestManySessionsFitAWindowThatShrinks(t *testing.T) {
	t.Parallel()
	const issues = 16
	p := crowd(t, issues)
	w := p.open(80, 14, "--once")
	w.awaits("16 of 16 slots", "more sessions", "A-1 ", "part one", "q or Ctrl-C ends the run")
	w.resize(40, 10)
	w.awaits("16 of 16 slots ⏎ A-1 ", "part one", "more sessions")
	w.resize(100, 30)
	w.awaits("A-16 ", "16 of 16 slots · 0 tokens")
	w.resize(60, 12)
	w.awaits("more sessions")
	for _, once := range []string{"WORKFLOW.md", "more sessions", "q or Ctrl-C", "A-1 "} {
		if n := strings.Count(w.shown(), once); n != 1 {
			t.Errorf("%d times %q on the screen:\n%s", n, once, w.history())
		}
	}
	w.types(ctrlC)
	w.ends(exitInterrupted)
	history := w.history()
	for i := range issues {
		for _, line := range []string{"dispatched", "turn 1 started"} {
			if line = fmt.Sprintf("A-%d %s", i+1, line); strings.Count(history, line+"\n")+strings.Count(history, line+" ") != 1 {
				t.Errorf("not once: %q", line)
			}
		}
	}
	if strings.Contains(history, "more sessions") || strings.Count(history, "A-1 ") > 6 {
		t.Errorf("a part of the display has stayed:\n%s", history)
	}
	if log := p.read(".symphony/symphony.log"); strings.Count(log, "msg=dispatched") != issues || !strings.Contains(log, "session_id=") {
		t.Errorf("the log file:\n%s", log)
	}
	p.noProcessLeft()
}

func TestASecondCtrlCKillsAndKeepsTheClaims(t *testing.T) {
	t.Parallel()
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Ignore signals and EOF", "Run `sleep 1000`")})
	w := p.open(80, 24, "--once")
	w.awaits("sleep 1000")
	w.types(ctrlC)
	w.awaits("Ending 1 session, up to 10 s. q or Ctrl-C again kills at once.")
	w.types(ctrlC)
	w.ends(exitInterrupted)
	p.noProcessLeft()
	if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Thread == "" {
		t.Errorf("the claim: %+v", c)
	}
}

func TestAClosedWindowEndsTheRunGracefully(t *testing.T) {
	t.Parallel()
	p := crowd(t, 1)
	w := p.open(80, 24, "--once")
	w.awaits("part one")
	if err := w.tty.Close(); err != nil { // the kernel sends SIGHUP
		t.Fatal(err)
	}
	w.cmd.Process.Signal(syscall.SIGHUP) // so does the shell
	w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("%v, want exit status %d", w.cmd.ProcessState, exitInterrupted)
	}
	p.noProcessLeft()
	if c := p.claims()["A-1"]; c.Phase != schedule.Waiting || c.Thread == "" {
		t.Errorf("the claim: %+v", c)
	}
	if log := p.read(".symphony/symphony.log"); !strings.Contains(log, "msg=stopped") {
		t.Errorf("the log file:\n%s", log)
	}
}

func TestARunUnderNohupOutlivesItsWindow(t *testing.T) {
	t.Parallel()
	p := newProject(t, scripted(t, t.TempDir()), nil)
	begun, closed := filepath.Join(p.dir, "begun"), filepath.Join(p.dir, "closed")
	p.write("issues/A-1.md", task("Run `touch "+begun+"; until [ -e "+closed+" ]; do :; done`", "Move this issue to `Review`"))
	cmd := p.command(t.Context(), "--once")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{"bash", "-c", `trap "" HUP; exec -a symphony "$0" "$@"`, cmd.Path}, cmd.Args[1:]...) // as nohup does
	cmd.Path = bash
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the agent", func() bool { _, err := os.Stat(begun); return err == nil })
	cmd.Process.Signal(syscall.SIGHUP)
	p.write("closed", "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run under nohup: %v", err)
	}
}

func TestTheDisplayIsShownWithoutColorsWhereTheyAreUnwanted(t *testing.T) {
	t.Parallel()
	color := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-8]|9[0-7])[0-9;]*m`)
	for noColor, want := range map[string]bool{"": true, "1": false} {
		p := crowd(t, 1)
		w := p.openWith([]string{"NO_COLOR=" + noColor}, 80, 24)
		w.awaits("part one", "q or Ctrl-C ends the run")
		w.types("q")
		w.ends(exitInterrupted)
		if text := w.written.String(); color.MatchString(text) != want || !strings.Contains(text, "\x1b[1m") {
			t.Errorf("NO_COLOR=%s: it writes\n%q", noColor, text)
		}
	}
}

func TestCtrlZLeavesTheTerminalToTheShell(t *testing.T) {
	t.Parallel()
	p := crowd(t, 1)
	w := p.open(80, 24, "--once")
	w.awaits("part one")
	w.types(ctrlZ)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(w.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("status %v, %v", status, err)
	}
	waitFor(t, "the ordinary screen", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.screen.IsAltScreen()
	})
	w.awaits("A-1 turn 1 started")
	if w.modes()&unix.ECHO == 0 {
		t.Error("the shell does not show what is typed")
	}
	w.cmd.Process.Signal(syscall.SIGCONT)
	w.awaits("1 of 1 slots")
	w.cmd.Process.Signal(syscall.SIGTERM)
	w.ends(exitInterrupted)
	if n := strings.Count(w.history(), "A-1 turn 1 started"); n != 1 {
		t.Errorf("%d times in\n%s", n, w.history())
	}
}

func TestTheDisplayIsBackWhenABackgroundJobIsBroughtBack(t *testing.T) {
	t.Parallel()
	p := crowd(t, 1)
	shell := p.command(t.Context(), "--once")
	program := shell.Path
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	shell.Path, shell.Args = bash, []string{"bash", "--norc", "-i"}
	w := p.openCommand(shell, []string{"PS1=ready$ "}, 80, 24)
	w.awaits("ready$")
	w.types("(exec -a symphony " + shellQuote(program) + " --once)\n")
	w.awaits("part one")
	w.types(ctrlZ)
	w.awaits("Stopped")
	w.types("bg; echo now in the $(echo background)\n")
	w.awaits("now in the background")
	w.types("fg\n")
	w.awaits("1 of 1 slots", "q or Ctrl-C ends the run")
	w.types("q")
	w.awaits("stopped: interrupted", "ready$")
	w.types("exit 0\n")
	w.cmd.Wait()
	p.noProcessLeft()
}

// Ctrl-\ kills the run, as everywhere, and it reports. A developer gets a dump of the
// goroutines by asking for one. The terminal is given back before that.
func TestAQuitGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	const exitOfADump = 2
	for name, test := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"by a user":      {nil, exitInterrupted, "1 issue worked on"},
		"by a developer": {[]string{"GOTRACEBACK=single"}, exitOfADump, "goroutine "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := crowd(t, 1)
			p.env = append(p.env, test.env...)
			w := p.open(80, 24, "--once")
			w.awaits("part one")
			w.types("\x1c") // Ctrl-\
			w.ends(test.code)
			_, ordinary, left := strings.Cut(w.written.String(), "\x1b[?1049l")
			if !left || !strings.Contains(ordinary, "A-1 turn 1 started") || !strings.Contains(ordinary, test.want) || test.env == nil && strings.Contains(ordinary, "goroutine ") {
				t.Errorf("the ordinary screen gets\n%s", ordinary)
			}
		})
	}
}

func TestPlainLogsOnATerminalWithoutASize(t *testing.T) {
	t.Parallel()
	p := crowd(t, 1)
	w := p.open(0, 0, "--once")
	w.awaits("turn 1 started")
	w.types(ctrlC)
	w.ends(exitInterrupted)
	if text := w.written.String(); !strings.Contains(text, "msg=dispatched") || strings.Contains(text, "\x1b") {
		t.Errorf("it writes\n%q", text)
	}
}

func TestPlainLogsWhereADisplayIsNotWanted(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		env  string
		args []string
		says string
	}{
		"a dumb terminal":    {"TERM=dumb", []string{"--once"}, "msg=dispatched"},
		"no known terminal":  {"TERM=", []string{"--once"}, "msg=dispatched"},
		"CI":                 {"CI=true", []string{"--once"}, "msg=dispatched"},
		"logs for a program": {"CI=", []string{"--once", "--log-format", "json"}, `"msg":"dispatched"`},
		"a dry run":          {"CI=", []string{"--once", "--dry-run"}, "A-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Move this issue to `Review`")})
			w := p.openWith([]string{run.env}, 80, 24, run.args...)
			w.ends(exitDone)
			if text := w.written.String(); !strings.Contains(text, run.says) || strings.Contains(text, "\x1b") {
				t.Errorf("it writes\n%q", text)
			}
			if _, err := os.Stat(filepath.Join(p.dir, ".symphony", "symphony.log")); err == nil {
				t.Error("there is a log file beside the log")
			}
		})
	}
}
