package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// stepFailed is what the shell of a failed step prints last.
const stepFailed = "(everything that the step printed is above)"

// waitingShell runs a shell: the path of bash, that of the shell, that of a FIFO and
// stepFailed are filled in. act gives steps a terminal, and does not read the rest of it when a step
// fails. So the shell of a step, which has a script in act's folder workflow, ends
// only after the test has read what the step printed. If the test is gone, nobody
// has the FIFO open for writing, and the shell ends at once.
const waitingShell = `#!%[1]s
case ${!#} in */workflow/*) ;; *) exec %[2]s "$@" ;; esac
%[2]s "$@" || {
  status=$?
  printf '\n%[4]s\n'
  read -r <%[3]s
  exit "$status"
}
`

// waitingShells writes shells that wait at the end of a failed step. It returns
// their folder and what lets them go on.
func (j *job) waitingShells() (folder string, resume *os.File) {
	t := j.t
	t.Helper()
	folder = filepath.Join(t.TempDir(), "shells")
	fifo := folder + ".fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	resume, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resume.Close() })
	bash, err := lookPath(j.path, "bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bash", "sh"} {
		shell, err := lookPath(j.path, name)
		if err != nil {
			t.Fatal(err)
		}
		j.writeFile(filepath.Join(folder, name), fmt.Sprintf(waitingShell, bash, shellQuote(shell), shellQuote(fifo), stepFailed))
		if err := os.Chmod(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder, resume
}

// shellSession collects what act prints. Each time that it has a failed step's last
// line, it lets the shell of the step end.
type shellSession struct {
	text    bytes.Buffer
	resume  *os.File // nil if no shell waits
	resumed int
}

// Write implements [io.Writer].
func (w *shellSession) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if w.resume == nil {
		return n, err
	}
	for failed := bytes.Count(w.text.Bytes(), []byte(stepFailed)); w.resumed < failed && err == nil; w.resumed++ {
		_, err = w.resume.WriteString(strconv.Itoa(w.resumed) + "\n")
	}
	return n, err
}
