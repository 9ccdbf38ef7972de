package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkGuard splits the time of eight sessions of the real Codex, one turn each,
// four at once, into what Codex does without a posture (bare), what it does for a posture
// (replayed: a loop that says word for word what our sessions say to open a thread and a
// turn, and nothing else), and what this program does (symphony). On a busy machine
// compare the processor time.
func BenchmarkGuard(b *testing.B) {
	const sessions, atOnce = 8, 4
	issues := map[string]string{}
	for n := range sessions {
		issues[fmt.Sprintf("A-%d", n)] = todo("Speak")
	}
	for _, posture := range []struct{ name, yaml string }{
		{"policy", "  turn_sandbox_policy: {type: workspaceWrite, networkAccess: false}\n"},
		{"guarded", ""},
	} {
		name := posture.name
		p, _ := realProject(b, issues)
		p.replace("codex:\n", fmt.Sprintf("agent: {max_concurrent_agents: %d, max_issues_per_tick: %d, max_turns: 1}\ncodex:\n%s", atOnce, sessions, posture.yaml))
		p.ok("--once", "--logs", "logs")
		script := recorded(b, p)
		if name == "policy" { // once is enough
			b.Run("bare", func(b *testing.B) {
				loop(b, sessions, atOnce, func(n int) (*exec.Cmd, error) { return script.bare().play(b.Context(), p, n) })
			})
		}
		b.Run(name+"/replayed", func(b *testing.B) {
			loop(b, sessions, atOnce, func(n int) (*exec.Cmd, error) { return script.play(b.Context(), p, n) })
		})
		b.Run(name+"/symphony", func(b *testing.B) {
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				if err := os.RemoveAll(filepath.Join(p.dir, ".symphony")); err != nil {
					b.Fatal(err)
				}
				cmd := p.command(b.Context(), "--once")
				b.StartTimer()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N*sessions), "cpu-ms/session")
		})
	}
}

// loop runs sessions, a few at once, and reports the processor time of each.
func loop(b *testing.B, sessions, atOnce int, session func(int) (*exec.Cmd, error)) {
	var cpu time.Duration
	for b.Loop() {
		slots := make(chan struct{}, atOnce)
		type end struct {
			cmd *exec.Cmd
			err error
		}
		ends := make(chan end, sessions)
		for n := range sessions {
			go func() {
				slots <- struct{}{}
				cmd, err := session(n)
				ends <- end{cmd, err}
				<-slots
			}()
		}
		for range sessions {
			e := <-ends
			if e.err != nil {
				b.Fatal(e.err)
			}
			cpu += e.cmd.ProcessState.UserTime() + e.cmd.ProcessState.SystemTime()
		}
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N*sessions), "cpu-ms/session")
}

// recording is what a session of ours said to open its thread and its turn.
type recording struct{ thread, turn map[string]any }

// recorded reads it from an event log, and makes the folder that it names.
func recorded(b *testing.B, p *project) (r recording) {
	b.Helper()
	for line := range strings.Lines(p.eventLog("logs", "A-0")) {
		var said struct {
			Dir string
			Msg struct {
				Method string
				Params map[string]any
			}
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			b.Fatal(err)
		}
		switch {
		case said.Dir == ">" && said.Msg.Method == "thread/start":
			r.thread = said.Msg.Params
		case said.Dir == ">" && said.Msg.Method == "turn/start":
			r.turn = said.Msg.Params
		}
	}
	if r.thread == nil || r.turn == nil {
		b.Fatal("the event log tells of no thread or of no turn")
	}
	temp, _ := r.thread["config"].(map[string]any)["shell_environment_policy.set.TMPDIR"].(string)
	if err := os.MkdirAll(temp, 0o700); temp != "" && err != nil {
		b.Fatal(err)
	}
	return r
}

// bare returns the recording without any posture.
func (r recording) bare() recording {
	return recording{thread: map[string]any{}, turn: map[string]any{"input": r.turn["input"]}}
}

// play speaks to a Codex of its own in a folder of its own, until its turn is done.
func (r recording) play(ctx context.Context, p *project, n int) (*exec.Cmd, error) {
	folder := filepath.Join(p.dir, "bare", strconv.Itoa(n))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	_, command, _ := strings.Cut(p.read("WORKFLOW.md"), "command: ")
	command, _, _ = strings.Cut(command, "\n")
	command, err := strconv.Unquote(command)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bash", "-lc", command)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), p.env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	say := func(id int, method string, params map[string]any, key, value string) {
		said := map[string]any{"cwd": folder}
		for name, v := range params {
			if name != "cwd" {
				said[name] = v
			}
		}
		said[key] = value
		text, _ := json.Marshal(map[string]any{"id": id, "method": method, "params": said}) // it came from JSON
		fmt.Fprintf(in, "%s\n", text)
	}
	fmt.Fprintln(in, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"bare","version":"0"},"capabilities":{"experimentalApi":true}}}`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			ID     int
			Method string
			Error  any
			Result struct{ Thread struct{ ID string } }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, err
		}
		switch {
		case m.Error != nil:
			return nil, fmt.Errorf("refused: %v", m.Error)
		case m.Method == "turn/completed":
			in.Close()
		case m.Method == "" && m.ID == 1:
			fmt.Fprintln(in, `{"method":"initialized"}`)
			say(2, "thread/start", r.thread, "cwd", folder)
		case m.Method == "" && m.ID == 2:
			say(3, "turn/start", r.turn, "threadId", m.Result.Thread.ID)
		}
	}
	return cmd, cmd.Wait()
}
