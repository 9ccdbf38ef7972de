package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// instantAgent is an app-server in the shell that was started for it, so that
// nothing is measured but us and `bash -lc`. It completes every turn at once, or
// after DELAY seconds, moves the issue it works on to Review by itself, and notes
// in NOTE when its first turn was asked for.
const instantAgent = `
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] || continue
  id=${BASH_REMATCH[1]}
  case $line in
  *'"thread/start"'*) printf '{"id":%s,"result":{"thread":{"id":"t"}}}\n' "$id" ;;
  *'"turn/start"'*)
    [ -z "$NOTE" ] || printf %s "$EPOCHREALTIME" > "$NOTE"
    printf '{"id":%s,"result":{"turn":{"id":"u"}}}\n' "$id"
    [ "$DELAY" = 0 ] || sleep "$DELAY"
    issue=../../issues/${PWD##*/}.md
    IFS= read -r -d '' text < "$issue"
    printf %s "${text/state: Todo/state: Review}" > "$issue"
    printf '{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}\n' ;;
  *) printf '{"id":%s,"result":{}}\n' "$id" ;;
  esac
done
`

// benchProject has n issues, and an instant agent.
func benchProject(b *testing.B, n, slots int, delay, note string) *project {
	b.Helper()
	p := emptyProject(b)
	p.write("agent.sh", instantAgent)
	p.write("WORKFLOW.md", fmt.Sprintf(`---
tracker: {kind: file}
workspace: {root: workspaces}
agent: {max_concurrent_agents: %d, max_issues_per_tick: 100000}
codex: {command: "DELAY=%s NOTE=%s; . %s/agent.sh"}
---
{{ issue.identifier }}
`, slots, delay, note, p.dir))
	p.write("issues/README.txt", "")
	p.reset(n)
	return p
}

// built makes the program what users have: the test binary holds the tests'
// libraries too, which take time to begin and memory to stay.
func (p *project) built() *project {
	p.t.Helper()
	p.exe = filepath.Join(p.t.TempDir(), "symphony")
	if out, err := exec.CommandContext(p.t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.exe, ".").CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// reset makes every issue as it was, and removes what a tick left.
func (p *project) reset(n int) {
	p.t.Helper()
	for _, name := range []string{"workspaces", ".symphony"} {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			p.t.Fatal(err)
		}
	}
	for i := range n {
		p.write(fmt.Sprintf("issues/A-%04d.md", i), "---\ntitle: An issue\nstate: Todo\n---\nPlease.\n")
	}
}

func BenchmarkEmptyTick(b *testing.B) {
	p := benchProject(b, 0, 10, "0", "").built()
	var cpu time.Duration
	for b.Loop() {
		cmd := p.command(b.Context(), "--once")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	p.reportMemory(b)
}

// reportMemory runs the program once more, as a child of GNU time: a process that
// we start ourselves counts our own memory as its own, from before its exec.
func (p *project) reportMemory(b *testing.B) {
	b.Helper()
	cmd := p.command(b.Context(), "--once")
	timer, err := exec.LookPath("time")
	if err != nil {
		b.Log("no memory measured: install GNU time")
		return
	}
	cmd.Args = append([]string{timer, "--format=%M", "--output=" + filepath.Join(p.dir, "memory"), "--", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = timer
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(p.read("memory")))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(kib)/1024, "MB")
}

func BenchmarkProcessStartToFirstTurn(b *testing.B) {
	note := filepath.Join(b.TempDir(), "note")
	p := benchProject(b, 1, 1, "0", note).built()
	var total time.Duration
	for b.Loop() {
		b.StopTimer()
		p.reset(1)
		cmd := p.command(b.Context(), "--once")
		b.StartTimer()
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(note)
		if err != nil {
			b.Fatal(err)
		}
		at, err := strconv.ParseInt(strings.Replace(string(text), ".", "", 1), 10, 64) // seconds.microseconds
		if err != nil {
			b.Fatal(err)
		}
		total += time.UnixMicro(at).Sub(began)
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "first-turn-ms")
}

// BenchmarkIssues runs whole ticks inside this process, so that the processor
// time is the program's own, without its agents'.
func BenchmarkIssues(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchmarkIssues(b, n, "0") })
	}
	b.Run("50-of-1s", func(b *testing.B) { benchmarkIssues(b, 50, "1") })
}

func benchmarkIssues(b *testing.B, n int, delay string) {
	p := benchProject(b, n, 10, delay, "")
	reads := countReads(b)
	var cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		p.reset(n)
		before := ownCPU(b)
		b.StartTimer()
		code := run(b.Context(), process{
			args: []string{"--once", filepath.Join(p.dir, "WORKFLOW.md")}, environ: append(os.Environ(), p.env...),
			stdout: io.Discard, stderr: io.Discard,
		})
		cpu += ownCPU(b) - before
		if code != exitDone || strings.Contains(p.read(fmt.Sprintf("issues/A-%04d.md", n-1)), "Todo") {
			b.Fatalf("exit status %d, or an issue was left", code)
		}
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "own-cpu-ms/op")
	b.ReportMetric(float64(reads.Load())/float64(b.N*n), "reads/issue")
}

func BenchmarkHundredSessionsAtOnce(b *testing.B) {
	p := benchProject(b, 100, 100, "3", "").built()
	var peak int64
	for b.Loop() {
		b.StopTimer()
		p.reset(100)
		b.StartTimer()
		cmd := p.command(b.Context(), "--once")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		peak = max(peak, watchPeak(cmd.Process.Pid, ended))
	}
	b.ReportMetric(float64(peak)/1024, "MB")
}

// watchPeak is the largest resident size of a process, in KiB, until it ends.
func watchPeak(pid int, ended <-chan struct{}) (peak int64) {
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			peak = max(peak, kib)
		}
		select {
		case <-ended:
			return peak
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func ownCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// countReads counts the reads of the file tracker until the benchmark ends.
func countReads(b *testing.B) *atomic.Int64 {
	var n atomic.Int64
	open := adapters["file"]
	adapters["file"] = func(a *app, s workflow.Settings, log *slog.Logger) (tracker.Adapter, error) {
		adapter, err := open(a, s, log)
		adapter.Reader = counted{adapter.Reader, &n}
		return adapter, err
	}
	b.Cleanup(func() { adapters["file"] = open })
	return &n
}

type counted struct {
	tracker.Reader
	n *atomic.Int64
}

func (c counted) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	c.n.Add(1)
	return c.Reader.IssuesByState(ctx, states)
}

func (c counted) IssuesByID(ctx context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	c.n.Add(1)
	return c.Reader.IssuesByID(ctx, ids)
}
