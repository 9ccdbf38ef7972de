package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// escapes lists the ways in which a process leaves its parent, group and session.
// Each prints its id on the stdout that it keeps open.
var escapes = map[string]string{
	"daemon":                      `(setsid bash -c 'trap "" TERM HUP; echo $$; sleep 600; :' &)`,
	"grandchild of a daemon":      `(setsid bash -c 'setsid bash -c "echo \$\$; sleep 600; :" & sleep 600' &)`,
	"daemon without environment":  `(setsid env -i PATH="$PATH" bash -c 'echo $$; sleep 600; :' &)`,
	"daemon in another directory": `(cd /; setsid bash -c 'echo $$; sleep 600; :' &)`,
}

func TestNothingOutlivesAnAgent(t *testing.T) {
	t.Parallel()
	for name, escape := range escapes {
		for how, rest := range map[string]string{"that is stopped": "read -r x", "that exits": "", "that is killed": "kill -KILL $$"} {
			t.Run(name+" of an agent "+how, func(t *testing.T) {
				t.Parallel()
				r := open(t, Hooks{})
				r.Grace = patient
				// The agent continues when the test writes to its stdin, after the escaped
				// process has reported its id.
				p, lines := start(t, r, escape+"; read -r x; "+rest)
				pid := readPID(t, lines)
				if _, err := io.WriteString(p, "go on\n"); err != nil {
					t.Fatal(err)
				}
				if rest != "read -r x" {
					<-p.Done()
				} else if err := p.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				gone(t, p.PID(), pid)
				if lines.Scan() {
					t.Errorf("read %q after the end", lines.Text())
				}
			})
		}
	}
}

func TestNothingOutlivesAHook(t *testing.T) {
	t.Parallel()
	for name, escape := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "fifo")
			mkfifo(t, fifo)
			pid := filepath.Join(t.TempDir(), "pid")
			r := open(t, Hooks{BeforeRun: "exec 3<>" + fifo + "; " + escape + " >&3; read -r pid <&3; echo $pid > " + pid})
			if err := r.BeforeRun(t.Context(), prepare(t, r)); err != nil {
				t.Fatal(err)
			}
			gone(t, parsePID(t, read(t, pid)))
		})
	}
}

func TestTheEndOfOneSessionLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	r.Grace = patient
	agent := func(identifier string) (*Process, func() string) {
		ws, err := r.Prepare(t.Context(), Issue{Identifier: identifier})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Start(t.Context(), ws, `(setsid bash -c 'echo ready; while read -r x; do echo "still $x"; done' <&0 &) ; sleep 600`, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.session.signal(9); p.Stop(t.Context()) })
		return p, func() string {
			b := make([]byte, 100)
			n, _ := p.Read(b)
			return strings.TrimSpace(string(b[:n]))
		}
	}
	one, hear1 := agent("ABC-1")
	two, hear2 := agent("ABC-2")
	if hear1() != "ready" || hear2() != "ready" {
		t.Fatal("not ready")
	}
	one.session.signal(9)
	if err := one.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	io.WriteString(two, "here\n")
	if diff := cmp.Diff("still here", hear2()); diff != "" {
		t.Error(diff)
	}
}

// TestDeadOrphansAreFreedDuringASession has orphans like those that Codex leaves: in the session of
// a process that has ended, which is not that of the agent.
func TestDeadOrphansAreFreedDuringASession(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws, err := r.Prepare(t.Context(), issue)
	if err != nil {
		t.Fatal(err)
	}
	const orphans = `for i in 1 2 3; do setsid bash -c 'bash -c "read -r < \"$PWD/go\"; exit" & echo $!'; done; echo end; cat >/dev/null`
	p, err := r.Start(t.Context(), ws, "mkfifo go; exec 4<>go; "+orphans, nil)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(p)
	for lines.Scan() && lines.Text() != "end" {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		for q, ok := readStat(pid); ok && q.parent != os.Getpid(); q, ok = readStat(pid) {
			runtime.Gosched()
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range pids {
		for _, ok := readStat(pid); ok; _, ok = readStat(pid) {
			runtime.Gosched()
		}
	}
	if err := p.Stop(t.Context()); err != nil || len(pids) != 3 {
		t.Error(err, pids)
	}
}

func TestMain(m *testing.M) {
	if root := os.Getenv("WORKSPACE_TEST_RUN"); root != "" {
		startAndHang(root)
	}
	go ReapOrphans()
	os.Exit(m.Run())
}

// stubborn is the script of an agent that only SIGKILL ends, and of a daemon like it.
const stubborn = `trap '' TERM HUP INT
(setsid bash -c 'trap "" TERM HUP INT; echo $$ >&3; while :; do sleep 600; done' >/dev/null 2>&1 </dev/null &)
echo $$ >&3; while :; do sleep 600; done`

// startAndHang acts as the earlier run: it starts a stubborn agent in a root, whose
// processes write their ids to a named pipe, and then waits until it is killed.
func startAndHang(root string) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r, err := Open(Config{Root: root}, Env{Parent: os.Environ()}, slog.New(slog.DiscardHandler))
	if err != nil {
		fail(err)
	}
	ws, err := r.Prepare(context.Background(), issue)
	if err != nil {
		fail(err)
	}
	p, err := r.Start(context.Background(), ws, "exec 3>"+os.Getenv("WORKSPACE_TEST_REPORT")+"; "+stubborn, nil)
	if err != nil {
		fail(err)
	}
	fail(p.Err())
}

func TestProcessesOfAKilledRunAreKilledByTheNextOneAndThoseOfALivingRunAreNot(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*Root) error{
		"Prepare": func(r *Root) error { _, err := r.Prepare(t.Context(), issue); return err },
		"Remove":  func(r *Root) error { _, err := r.Remove(t.Context(), issue); return err },
		"Reclaim": func(r *Root) error { return r.Reclaim(t.Context(), issue) },
	} {
		t.Run(name, func(t *testing.T) {
			root, report := t.TempDir(), t.TempDir()+"/report"
			mkfifo(t, report)
			f, err := os.OpenFile(report, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			earlier := exec.Command(os.Args[0])
			earlier.Env = append(os.Environ(), "HOME="+t.TempDir(), "WORKSPACE_TEST_RUN="+root, "WORKSPACE_TEST_REPORT="+report)
			earlier.Stderr = os.Stderr
			if err := earlier.Start(); err != nil {
				t.Fatal(err)
			}
			var ended sync.WaitGroup
			ended.Go(func() {
				earlier.Wait()
				f.Close() // no more ids will come
			})
			defer func() { earlier.Process.Kill(); ended.Wait() }() // in case the test fails
			lines := bufio.NewScanner(f)
			pids := []int{readPID(t, lines), readPID(t, lines)}
			r := openWith(t, Config{Root: root}, nil, slog.New(slog.DiscardHandler))

			if err := next(r); !errors.Is(err, ErrInUse) {
				t.Errorf("while the other run lives: %v", err)
			}
			for _, pid := range pids {
				if p, ok := readStat(pid); !ok || p.state == 'Z' {
					t.Errorf("process %d of the living run was killed", pid)
				}
			}

			earlier.Process.Kill()
			ended.Wait()
			if err := next(r); err != nil {
				t.Error(err)
			}
			for _, pid := range pids {
				// They may be zombies: their parent, which would reap them, was killed.
				if p, ok := readStat(pid); ok && p.state != 'Z' {
					t.Errorf("process %d lives: %+v", pid, p)
				}
			}
		})
	}
}

// A process shows no environment while it starts another program, which takes long when
// the machine is busy. It can be held in that state only by having none at all.
func TestAProcessThatStartsAProgramWhenARunIsKilledIsKilledByTheNextOne(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	left := exec.Command("sleep", "600")
	left.Dir, left.Env = ws.Path, []string{}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { left.Process.Kill(); left.Wait() }()
	if _, err := r.markBusy(ws); err != nil { // as after a killed run: an idle workspace is not searched
		t.Fatal(err)
	}
	prepare(t, r)
	if p, ok := readStat(left.Process.Pid); ok && p.state != 'Z' {
		t.Errorf("it lives: %+v", p)
	}
}

func TestProcessesThatOnlyHappenToBeInAWorkspaceAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	person := exec.Command("sleep", "600")
	person.Dir = ws.Path
	person.Env = []string{"SYMPHONY_WORKSPACE=" + ws.Path + "0"}
	if err := person.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { person.Process.Kill(); person.Wait() }()
	if _, err := r.markBusy(ws); err != nil { // as after a killed run: an idle workspace is not searched
		t.Fatal(err)
	}
	prepare(t, r)
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(person.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 || err != nil {
		t.Errorf("it was ended: %v, %v", status, errors.Join(err))
	}
}

// hidden is an environment variable that makes this test binary let a child read its
// environment. If the value is "yes", the process calls HideFromChildren before.
const hidden = "WORKSPACE_TEST_HIDDEN"

func TestAChildCannotReadTheEnvironmentOfAProcessThatHides(t *testing.T) {
	if value, set := os.LookupEnv(hidden); set {
		if value == "yes" {
			if err := HideFromChildren(); err != nil {
				t.Fatal(err)
			}
		}
		// The working directory of a child is given by one of our descriptors.
		dir, err := os.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("cat /proc/%d/environ; cat /proc/$$/environ >/dev/null && echo readable itself", os.Getpid()))
		cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
		out, _ := cmd.CombinedOutput() // cat must fail if the process hides
		fmt.Printf("<%s>", out)
		return
	}
	for value, want := range map[string]bool{"no": true, "yes": false} {
		cmd := exec.Command(publicCopy(t), "-test.run=^"+t.Name()+"$")
		cmd.Dir = "/"
		cmd.Env = []string{hidden + "=" + value, "SECRET=s3cret", "PATH=" + os.Getenv("PATH")}
		if os.Getuid() == 0 { // the superuser reads everything
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := strings.Contains(string(out), "s3cret"); got != want {
			t.Errorf("hidden %s: the child reads our environment: %v\n%q", value, got, out)
		}
		if !strings.Contains(string(out), "readable itself") {
			t.Errorf("hidden %s: the child did not run as it should\n%q", value, out)
		}
	}
}

// publicCopy returns the path of a copy of this test binary that every user can run.
func publicCopy(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "hidden")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(folder, "test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		to.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoWorkspaceIsInAFileSystemOfTheKernel tries what the superuser seems to be able to
// write: access(2) lets it make a folder there, and mkdir(2) does not.
func TestNoWorkspaceIsInAFileSystemOfTheKernel(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"/proc/x", "/sys/x/y"} {
		err := Check(Config{Root: root}, Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}})
		if !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), "shows the kernel and holds no files") {
			t.Errorf("%s: %v", root, err)
		}
	}
}
