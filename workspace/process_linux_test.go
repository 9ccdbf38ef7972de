package workspace

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// escapes are the ways in which a process leaves its parent, group and session.
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
				// The agent goes on when the escaped one has spoken: it hears so on stdin.
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
