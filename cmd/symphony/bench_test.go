package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// instantAgent is an app-server in the shell that was started for it, so that
// nothing is measured but us and `bash -lc`. It completes every turn at once, or
// after DELAY seconds, notes in NOTE when its first turn was asked for, and moves
// the issue it works on by itself: to Done on the board at HOST and PORT, or else
// to Review in its file.
const instantAgent = `
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] || continue
  id=${BASH_REMATCH[1]}
  case $line in
  *'"thread/start"'*) printf '{"id":%s,"result":{"thread":{"id":"t"},"activePermissionProfile":{"id":":read-only"}}}\n' "$id" ;;
  *'"turn/start"'*)
    [ -z "$NOTE" ] || printf %s "$EPOCHREALTIME" > "$NOTE"
    printf '{"id":%s,"result":{"turn":{"id":"u"}}}\n' "$id"
    [ "$DELAY" = 0 ] || sleep "$DELAY"
    if [ -n "$PORT" ]; then
      exec 3<>"/dev/tcp/$HOST/$PORT"
      printf 'POST /done/%s HTTP/1.0\r\n\r\n' "${PWD##*/}" >&3
      IFS= read -r status <&3
      exec 3>&-
    else
      issue=../../issues/${PWD##*/}.md
      IFS= read -r -d '' text < "$issue"
      printf %s "${text/state: Todo/state: Review}" > "$issue"
    fi
    printf '{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}\n' ;;
  *) printf '{"id":%s,"result":{}}\n' "$id" ;;
  esac
done
`

// benchProject has n issues in files, and an instant agent.
func benchProject(b *testing.B, n, slots int, delay, note string) *project {
	b.Helper()
	p := emptyProject(b)
	p.instantAgent("file", slots, fmt.Sprintf("DELAY=%s NOTE=%s", delay, note))
	p.write("issues/README.txt", "")
	p.reset(n)
	return p
}

// instantAgent writes a workflow whose agent is the instant one with these
// variables.
func (p *project) instantAgent(tracker string, slots int, variables string) {
	p.write("agent.sh", instantAgent)
	p.write("WORKFLOW.md", fmt.Sprintf(`---
tracker: {kind: %s}
workspace: {root: workspaces}
agent: {max_concurrent_agents: %d, max_issues_per_tick: 100000}
codex: {command: "%s; . %s/agent.sh"}
---
{{ issue.identifier }}
`, tracker, slots, variables, p.dir))
}

// built makes the program what users have: the test binary holds the tests'
// libraries too, which take time to begin and memory to stay.
func (p *project) built() *project {
	p.t.Helper()
	p.exe = filepath.Join(p.t.TempDir(), "symphony")
	build := exec.CommandContext(p.t.Context(), "go", "build", "-trimpath", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", p.exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are
	if out, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return p
}

// removeRemains removes what a tick left on its machine.
func (p *project) removeRemains() {
	p.t.Helper()
	for _, name := range []string{"workspaces", ".symphony"} {
		if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// reset makes every issue as it was, and removes what a tick left.
func (p *project) reset(n int) {
	p.t.Helper()
	p.removeRemains()
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
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(note)
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		at, err := strconv.ParseInt(strings.Replace(string(text), ".", "", 1), 10, 64) // seconds.microseconds
		if err != nil {
			b.Fatal(err)
		}
		total += time.UnixMicro(at).Sub(began)
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "first-turn-ms")
}

// BenchmarkIssues runs whole ticks on a board of Linear whose issues end in a
// terminal state, so that each workspace is removed again. last-turn-ms is the time
// from the start of the process to the end of the last turn, own-cpu-ms what the
// program alone spent, agents-cpu-ms the shells that play the agents. Machines and
// hours differ: what can be compared is the ratio of the two.
func BenchmarkIssues(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { benchmarkIssues(b, n, "0") })
	}
	b.Run("50-of-1s", func(b *testing.B) { benchmarkIssues(b, 50, "1") })
}

func benchmarkIssues(b *testing.B, n int, delay string) {
	l := newBoard(b, n)
	p := emptyProject(b).built()
	p.env = append(p.env, "LINEAR_API_KEY=lin_api_0123456789")
	host, port, err := net.SplitHostPort(l.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	p.instantAgent("linear", 10, fmt.Sprintf("DELAY=%s HOST=%s PORT=%s", delay, host, port))
	p.replace("kind: linear", "kind: linear, project_slug: 0c79b11b75ea, endpoint: "+l.URL)
	var cpu, agents, last time.Duration
	asked := 0
	for b.Loop() {
		b.StopTimer()
		p.removeRemains()
		l.reset()
		cmd := p.command(b.Context(), "--once")
		b.StartTimer()
		began := time.Now()
		own, children := runApart(b, cmd)
		cpu += own
		agents += children
		requests, done, at := l.result()
		if done != n {
			b.Fatalf("%d issues of %d are done", done, n)
		}
		asked += requests
		last += at.Sub(began)
	}
	b.ReportMetric(float64(last.Milliseconds())/float64(b.N), "last-turn-ms")
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "own-cpu-ms")
	b.ReportMetric(float64(agents.Milliseconds())/float64(b.N), "agents-cpu-ms")
	b.ReportMetric(float64(asked)/float64(b.N*n), "requests/issue")
}

// runApart runs a command and returns its processor time, to 10 ms, apart from that
// of its children, which the resource usage of an ended process includes.
func runApart(b *testing.B, cmd *exec.Cmd) (own, children time.Duration) {
	b.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	const idOfProcess, exited, leaveIt = 1, 4, 0x01000000 // P_PID, WEXITED, WNOWAIT
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idOfProcess, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info)), exited|leaveIt, 0, 0)
		if errno == 0 {
			break
		}
		if errno != syscall.EINTR {
			b.Fatal(errno)
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err := errors.Join(err, cmd.Wait()); err != nil {
		b.Fatalf("%v\n%s", err, &out)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest) // from the third on
	ticks := func(i int) time.Duration {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			b.Fatal(err)
		}
		return time.Duration(n) * 10 * time.Millisecond
	}
	return ticks(11) + ticks(12), ticks(13) + ticks(14)
}

func BenchmarkHundredSessionsAtOnce(b *testing.B) {
	p := benchProject(b, 100, 100, "3", "").built()
	var peak int64
	for b.Loop() {
		b.StopTimer()
		p.reset(100)
		b.StartTimer()
		cmd := p.command(b.Context(), "--once")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		peak = max(peak, watchPeak(cmd.Process.Pid, ended))
		if !strings.Contains(out.String(), ": 100 completed") {
			b.Fatal(out.String())
		}
	}
	b.ReportMetric(float64(peak)/1024, "MB")
}

// watchPeak returns the largest resident size of a process, in KiB, until it ends.
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
