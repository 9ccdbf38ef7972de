package attempt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// addFiles commits 20,000 files to the remote.
func (f *repositoryFixture) addFiles() {
	f.t.Helper()
	var input bytes.Buffer
	input.WriteString("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 6\nsecond\nfrom refs/heads/main^0\n")
	for i := range 20_000 {
		text := strings.Repeat(fmt.Sprintf("line %d of a file that is as long as files are\n", i), 50)
		fmt.Fprintf(&input, "M 100644 inline d%03d/f%05d\ndata %d\n%s\n", i%200, i, len(text), text)
	}
	cmd := exec.CommandContext(f.t.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = f.origin, &input
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	f.fetch()
}

// Through the agent's process a new workspace of 20,000 files may take 1.5 times as long
// as a clone, and the harvest of ten changed files a second. Both are compared in turn,
// because the disk is not equally fast at all times.
func BenchmarkWorkspaceOf20000Files(b *testing.B) {
	if testing.Short() {
		b.Skip("20,000 files")
	}
	for name, make := range map[string]func(b *testing.B) *repositoryFixture{
		"scripted agent": func(b *testing.B) *repositoryFixture { return newRepositoryFixture(b, "") },
		"codex": func(b *testing.B) *repositoryFixture {
			return newCodexRepository(b, nil)
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := make(b)
			f.addFiles()
			f.openWorkspaces()
			var clone, fill, harvest time.Duration
			for b.Loop() {
				began := time.Now()
				f.git(".", "clone", "-q", "--no-hardlinks", f.origin, "clone")
				clone += time.Since(began)
				f.check(os.RemoveAll(f.path("clone")))

				f.sessionInNew(func(a *attempt) error {
					began := time.Now()
					if err := a.filler.fill(b.Context(), a.awaitPreflight); err != nil {
						return err
					}
					fill += time.Since(began)
					for i := range 10 {
						writeFile(b, f.inWorkspace(fmt.Sprintf("d%03d/f%05d", i, i)), "changed\n")
					}
					began = time.Now()
					incoming, err := a.leftovers.harvest(b.Context(), a.leftovers.from(), a.Repository.Host.Harvest(a.leftovers.from().Start, a.dirs.temp, a.filler.tree), io.Discard)
					harvest += time.Since(began)
					if err != nil {
						return err
					}
					return incoming.Close()
				})
			}
			n := float64(b.N)
			b.ReportMetric(clone.Seconds()*1000/n, "clone-ms")
			b.ReportMetric(fill.Seconds()*1000/n, "fill-ms")
			b.ReportMetric(fill.Seconds()/clone.Seconds(), "of-clone")
			b.ReportMetric(harvest.Seconds()*1000/n, "harvest-ms")
		})
	}
}

// sessionInNew calls use with a session in a new workspace, which is removed afterwards.
func (f *repositoryFixture) sessionInNew(use func(*attempt) error) {
	f.t.Helper()
	a := newAttempt(f.job, func(Update) {})
	issue := workspace.Issue{ID: string(a.Issue.ID), Identifier: a.Issue.Identifier}
	ws, err := a.Workspaces.Begin(f.t.Context(), issue)
	f.check(err)
	f.check(a.runAgent(f.t.Context(), ws, codex.Connect, func() error { return use(a) }))
	_, err = a.Workspaces.Remove(context.WithoutCancel(f.t.Context()), issue)
	f.check(err)
}

// A prepared workspace of 26,000 ignored files, which are 200 MB, may take two seconds more than
// its checkout. The scripted agent unpacks as Codex does, without a sandbox.
func BenchmarkPreparedWorkspace(b *testing.B) {
	if testing.Short() {
		b.Skip("26,000 files")
	}
	f := newRepositoryFixture(b, "- [ ] Say `hello`\n")
	f.fetch()
	const script = `mkdir cache && cd cache && for d in $(seq 260); do mkdir $d && for f in $(seq 100); do echo $d $f; done >$d/list; done
head -c 7600 /dev/urandom | base64 -w 76 >text && for d in $(seq 260); do for f in $(seq 100); do { echo $d $f; cat text; } >$d/$f; done; done`
	prepared := &Setup{Config: setup.Config{Run: script, Timeout: forever}, Preparations: NewPreparations(f.path("packs"))}
	sessions := 0
	session := func(with *Setup) time.Duration { // each in a workspace of its own: ext4 is slow after many files were removed
		sessions++
		f.job.Repository.Setup, f.job.Issue.ID, f.job.Issue.Identifier = with, tracker.ID(fmt.Sprint(sessions)), fmt.Sprintf("N-%d", sessions)
		began := time.Now()
		if got := f.run(b.Context()); got.Class != schedule.Done {
			b.Fatalf("%+v", got)
		}
		return time.Since(began)
	}
	session(prepared) // makes the pack
	var plain, more time.Duration
	for b.Loop() {
		without := session(nil)
		plain += without
		more += session(prepared) - without
	}
	b.ReportMetric(plain.Seconds()/float64(b.N), "s/session")
	b.ReportMetric(more.Seconds()/float64(b.N), "s/prepared")
}
