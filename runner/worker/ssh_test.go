package worker

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/sshtest"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/worker/ssh"
)

// overSSH has the fixture work on a host with a real sshd.
func (f *fixture) overSSH(n *sshtest.Network, h *sshtest.Host) {
	f.t.Helper()
	self, err := os.Executable()
	f.check(err)
	dialer := &ssh.Dialer{Program: n.Client, Binary: self, Env: os.Environ(), Log: f.job.Log}
	f.job.Host = h.Name
	f.hosts.Dial = func(ctx context.Context, name string) (Conn, error) {
		host, err := ssh.Parse(name)
		if err != nil {
			return nil, err
		}
		return dialer.Dial(ctx, host, "host")
	}
}

func TestAHostIsReachedBySSH(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	host := n.Start(t, sshtest.Options{Profile: "echo a profile says much"})
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `work`\n- [ ] Run `echo \"$HOME\" > home.txt`\n"+deliverStep)
	f.overSSH(n, host)
	got := f.run(t.Context())
	if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		t.Errorf("%+v\n%s\n%s", got, f.log.String(), host.Log())
	}
	if files := f.git(f.origin, "ls-tree", "--name-only", f.branch.String()); files != "README.md\na.txt\nhome.txt" {
		t.Errorf("delivered: %q", files)
	}
	if left := host.Left(); len(left) > 0 {
		t.Errorf("left on the host: %q", left)
	}
	known, unknown, err := f.hosts.Issues(t.Context(), host.Name)
	if err != nil || len(known) != 1 || known[0].Identifier != issueName || len(unknown) > 0 {
		t.Errorf("%+v %q (%v)", known, unknown, err)
	}
	if err := f.hosts.ForgetUnused(t.Context(), host.Name, nil, time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if hook, err := f.hosts.Remove(t.Context(), host.Name, known[0]); hook != nil || err != nil {
		t.Errorf("%v, %v", hook, err)
	}
	if known, _, err = f.hosts.Issues(t.Context(), host.Name); err != nil || len(known) > 0 {
		t.Errorf("after the removal: %+v (%v)", known, err)
	}
	if left, err := os.ReadDir(host.Home + "/work"); err != nil || len(left) > 1 { // the folder of this program
		t.Errorf("left: %v (%v)", left, err)
	}
}

func TestAHostThatDiesIsLeft(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	for name, fail := range map[string]func(*sshtest.Host){"dies": (*sshtest.Host).Kill, "is cut off": (*sshtest.Host).Cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := n.Start(t, sshtest.Options{})
			f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `work`\n- [ ] Run `setsid nohup sleep 600 >/dev/null 2>&1 &`\n- [ ] Spend `1000` tokens\n- [ ] Say `ready`\n- [ ] Hang\n")
			f.overSSH(n, host)
			f.report = func(u attempt.Update) {
				if u.Summary == "ready" {
					fail(host)
				}
			}
			got := f.run(t.Context())
			if got.Class != schedule.HostLost || got.Turns != 1 || got.Usage.Total() == 0 || !strings.Contains(got.Why, "worker host "+host.Name+": ") {
				t.Errorf("%+v\n%s", got, f.log.String())
			}
			t.Log(got.Why)
			if left := host.Left(); len(left) > 0 {
				t.Errorf("left on the host: %q", left)
			}
		})
	}
}

func TestAHostThatCannotBeReachedSaysWhy(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	host := n.Start(t, sshtest.Options{Closed: true})
	f := newFixture(t, "- [ ] Say `never`\n")
	f.overSSH(n, host)
	if got := f.run(t.Context()); got.Class != schedule.HostLost || !strings.Contains(got.Why, host.Name) || got.Turns != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := f.hosts.Test(t.Context(), host.Name); err == nil {
		t.Error("the test of a closed host passes")
	}
}

// BenchmarkTheFirstTurn measures the time until the first turn of a session in a repository: here, and on
// a host by ssh.
func BenchmarkTheFirstTurn(b *testing.B) {
	for _, place := range []string{"here", "there"} {
		b.Run(place, func(b *testing.B) {
			f := newRepositoryFixture(b, "- [ ] Say `ready`\n")
			if place == "there" {
				n := sshtest.New(b)
				f.overSSH(n, n.Start(b, sshtest.Options{}))
				f.run(b.Context()) // uploads the program
			} else {
				f.here()
			}
			var first time.Duration
			for b.Loop() {
				f.job.Preflight = attempt.NewPreflightOnce() // a host makes the check in each session
				began, isFirst := time.Now(), true
				f.report = func(u attempt.Update) {
					if isFirst && u.Turn == schedule.TurnBegan {
						first, isFirst = first+time.Since(began), false
					}
				}
				if got := f.run(b.Context()); got.Class != schedule.Done {
					b.Fatalf("%+v\n%s", got, f.log.String())
				}
			}
			b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms/first-turn")
		})
	}
}
