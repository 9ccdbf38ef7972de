package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// TestMain runs the tests, or one of the roles below if a test has started this
// binary again for it.
func TestMain(m *testing.M) {
	role, path := os.Getenv("STORE_TEST_ROLE"), os.Getenv("STORE_TEST_PATH")
	var err error
	switch role {
	case "":
		os.Exit(m.Run())
	case "holder":
		err = hold(path)
	case "racer":
		err = race()
	case "editor":
		err = edit(path)
	case "writer":
		err = write(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold keeps the state open until its standard input ends.
func hold(path string) error {
	f, err := OpenFile(path)
	return holdOpen(f, err)
}

// edit opens the state for an edit, and does not finish it before its standard
// input ends.
func edit(path string) error {
	f, err := EditFile(context.Background(), path)
	return holdOpen(f, err)
}

func holdOpen(f *File, err error) error {
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return f.Close()
}

// write saves until it is killed, and prints each generation after it is saved.
func write(path string) error {
	f, err := OpenFile(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for {
		s, rev, err := f.Load(ctx)
		if err != nil {
			return err
		}
		s.Pause = schedule.Pause{Why: "saved over " + string(rev)}
		if rev, err = f.Save(ctx, s, rev); err != nil {
			return err
		}
		generation, _ := rev.generation()
		if _, err := fmt.Println(generation); err != nil {
			return err
		}
	}
}

// process is the test binary in another role.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner // what it prints
	stdin io.Closer
}

// start starts the test binary in a role; the test ends it with kill or finish.
func start(t *testing.T, role, path string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_ROLE="+role, "STORE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd: cmd, lines: bufio.NewScanner(stdout), stdin: stdin}
}

// line returns the next line that the process prints.
func (p *process) line(t *testing.T) string {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatalf("the process ended: %v", p.lines.Err())
	}
	return p.lines.Text()
}

// finish waits until the process has ended by itself.
func (p *process) finish(t *testing.T) {
	t.Helper()
	p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// kill ends the process with SIGKILL and returns the rest of what it printed.
func (p *process) kill(t *testing.T) []string {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var rest []string
	for p.lines.Scan() {
		rest = append(rest, p.lines.Text())
	}
	_ = p.cmd.Wait() // says "killed"
	return rest
}
