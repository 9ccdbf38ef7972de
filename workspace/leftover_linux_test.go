package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("WORKSPACE_TEST_RUN"); root != "" {
		startAndHang(root)
	}
	os.Exit(m.Run())
}

// stubborn is an agent that nothing but SIGKILL ends, with a daemon of its kind.
const stubborn = `trap '' TERM HUP INT
(setsid bash -c 'trap "" TERM HUP INT; echo $$ >&3; while :; do sleep 600; done' >/dev/null 2>&1 </dev/null &)
echo $$ >&3; while :; do sleep 600; done`

// startAndHang is the earlier run: it starts a stubborn agent in a root, whose
// processes write their ids to a named pipe, and waits for its own kill.
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

func TestProcessesOfAKilledRunAreKilledByTheNextOne(t *testing.T) {
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
				f.Close() // nobody reports any more
			})
			defer func() { earlier.Process.Kill(); ended.Wait() }() // should the test fail
			lines := bufio.NewScanner(f)
			pids := []int{readPID(t, lines), readPID(t, lines)}

			earlier.Process.Kill()
			ended.Wait()
			if err := next(openWith(t, Config{Root: root}, nil, slog.New(slog.DiscardHandler))); err != nil {
				t.Error(err)
			}
			for _, pid := range pids {
				// They may be zombies: their parent, which had to reap them, was killed.
				if p, ok := stat(pid); ok && p.state != 'Z' {
					t.Errorf("process %d lives: %+v", pid, p)
				}
			}
		})
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
	if _, err := r.begin(ws); err != nil { // as if a run had been killed: else nobody looks
		t.Fatal(err)
	}
	prepare(t, r)
	var status syscall.WaitStatus
	if pid, err := syscall.Wait4(person.Process.Pid, &status, syscall.WNOHANG, nil); pid != 0 || err != nil {
		t.Errorf("it was ended: %v, %v", status, errors.Join(err))
	}
}
