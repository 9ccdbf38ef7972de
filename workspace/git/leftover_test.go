package git

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stuckRun runs a git in which a child waits for a server that does not answer. It returns
// never.
func stuckRun(dir string) error {
	ctx := context.Background()
	host, err := Open(ctx, Config{
		Dir: filepath.Join(dir, "stores"), Workspaces: filepath.Join(dir, "workspaces"),
		Env: []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	_, err = host.run(ctx, command{dir: host.dir, args: []string{"push"}, stdout: os.Stdout})
	return fmt.Errorf("git ended: %w", err)
}

// TestTheNextRunEndsTheGitOfOneThatWasKilled kills a run with SIGKILL during a push. With it
// ends git, and not the child of git that talks to the server.
func TestTheNextRunEndsTheGitOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere there is no /proc in which to find processes")
	}
	m := newMachine(t)
	script := answersVersion + "sh -c 'sleep 600; :' >/dev/null 2>&1 & echo $!; wait"
	if _, err := m.program(t, script); err != nil {
		t.Fatal(err)
	}
	begin := func() (*exec.Cmd, int) {
		t.Helper()
		run := exec.Command(os.Args[0])
		run.Env = append(os.Environ(), "SYMPHONY_TEST_STUCK_RUN="+m.dir)
		run.Stderr = os.Stderr
		out, err := run.StdoutPipe()
		if err == nil {
			err = run.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		child, err2 := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || err2 != nil {
			t.Fatal(line, err, err2)
		}
		return run, child
	}
	killed, left := begin()
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	if !alive(left) {
		t.Fatal("nothing is left of the killed run, so this test shows nothing")
	}
	other := newMachine(t) // of another project
	if _, err := Open(t.Context(), other.config()); err != nil || !alive(left) {
		t.Errorf("another project ended it: %v", err)
	}
	living, working := begin() // opens the same folder, and ends what was left there
	for deadline := time.Now().Add(10 * time.Second); alive(left); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the next run did not end what was left")
		}
	}
	if _, err := Open(t.Context(), m.config()); err != nil || !alive(working) {
		t.Errorf("it ended the git of a run that is alive: %v", err)
	}
	_ = living.Process.Kill()
	_ = living.Wait()
	if _, err := Open(t.Context(), m.config()); err != nil || alive(working) {
		t.Errorf("a git of a killed run is left: %v", err)
	}
}
