package main

import (
	"bufio"
	"context"
	"encoding/json"
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
	p := benchProject(b, 0, 10, "0", "")
	var cpu time.Duration
	var rss int64
	for b.Loop() {
		cmd := p.command(b.Context(), "--once")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		rss = max(rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(rss)/1024, "MB")
}

func BenchmarkProcessStartToFirstTurn(b *testing.B) {
	note := filepath.Join(b.TempDir(), "note")
	p := benchProject(b, 1, 1, "0", note)
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
	p := benchProject(b, 100, 100, "3", "")
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

// BenchmarkRealCodex compares eight sessions of the real Codex, one turn each,
// four at once, with a bare loop that does no more than speak to them.
func BenchmarkRealCodex(b *testing.B) {
	const sessions, atOnce = 8, 4
	issues := map[string]string{}
	for n := range sessions {
		issues[fmt.Sprintf("A-%d", n)] = todo("Speak")
	}
	b.Run("bare", func(b *testing.B) {
		p, _ := realProject(b, "", issues)
		for b.Loop() {
			slots := make(chan struct{}, atOnce)
			done := make(chan error, sessions)
			for n := range sessions {
				go func() {
					slots <- struct{}{}
					done <- bareSession(b.Context(), p, n)
					<-slots
				}()
			}
			for range sessions {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("symphony", func(b *testing.B) {
		p, _ := realProject(b, "", issues)
		p.replace("codex:", fmt.Sprintf("agent: {max_concurrent_agents: %d, max_issues_per_tick: %d, max_turns: 1}\ncodex:", atOnce, sessions))
		for b.Loop() {
			b.StopTimer()
			if err := os.RemoveAll(filepath.Join(p.dir, ".symphony")); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			p.ok("--once")
		}
	})
}

// bareSession is one session of the real Codex with one turn, and nothing else.
func bareSession(ctx context.Context, p *project, n int) error {
	folder := filepath.Join(p.dir, "bare", strconv.Itoa(n))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	_, command, _ := strings.Cut(p.read("WORKFLOW.md"), "command: ")
	command, _, _ = strings.Cut(command, "\n")
	command, err := strconv.Unquote(command)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "bash", "-lc", command)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), p.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	fmt.Fprintln(in, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"bare","version":"0"},"capabilities":{"experimentalApi":true}}}`)
	for lines.Scan() {
		var m struct {
			ID     int
			Method string
			Result struct{ Thread struct{ ID string } }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		switch {
		case m.Method == "turn/completed":
			in.Close()
		case m.Method == "" && m.ID == 1:
			fmt.Fprintf(in, `{"method":"initialized"}`+"\n"+`{"id":2,"method":"thread/start","params":{"cwd":%q}}`+"\n", folder)
		case m.Method == "" && m.ID == 2:
			fmt.Fprintf(in, `{"id":3,"method":"turn/start","params":{"threadId":%q,"input":[{"type":"text","text":"You are working on A-%d"}]}}`+"\n", m.Result.Thread.ID, n)
		}
	}
	return cmd.Wait()
}
