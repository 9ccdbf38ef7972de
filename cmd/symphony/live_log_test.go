package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/runner/workflow"
)

func TestTheLogSaysWhereTheRestOfASessionIs(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"outside Actions": {nil, "symphony log --logs /scratch/logs A-1 /project/WORKFLOW.md"},
		"an artifact":     {[]string{"GITHUB_ACTIONS=true", "SYMPHONY_ARTIFACT=symphony-shard-7"}, "logs/A-1/1.html of the artifact symphony-shard-7"},
		"no artifact":     {[]string{"GITHUB_ACTIONS=true"}, "its event log, which this job does not upload"},
	} {
		shard := &tickReport{app: fleetApp(nil, c.environ...), tickOptions: tickOptions{logs: "/scratch/logs"}, wf: workflow.Workflow{Path: "/project/WORKFLOW.md"}}
		if got := shard.places().rest(runner.SessionStart{Claim: schedule.Claim{Identifier: "A-1"}, File: "/scratch/logs/A-1/1.jsonl"}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A pager or a stopped terminal does not read on, and the kernel keeps 64 KiB for it.
func TestAShardWorksWhileNobodyReadsItsLog(t *testing.T) {
	t.Parallel()
	unread, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	defer log.Close()
	pipe, err := log.SyscallConn()
	if err == nil {
		err = pipe.Write(func(fd uintptr) (full bool) {
			for err == nil {
				_, err = syscall.Write(int(fd), make([]byte, 4<<10))
			}
			return true
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
		"A-1": "---\ntitle: A title\nstate: Todo\n---\n- [ ] Create `new.txt` containing `new`\n- [ ] Move this issue to `Review`\n",
	})
	p.ok("plan", "--exchange", "exchange", "--shards", "1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var report strings.Builder
	cmd := p.command(ctx, "work", "--exchange", "exchange", "--shard", "1")
	cmd.Stdout, cmd.Stderr = &report, log
	if err := cmd.Run(); err != nil || !strings.Contains(report.String(), "1 completed") || !strings.Contains(report.String(), "some of its lines are lost: nobody reads it") {
		t.Errorf("the shard: %v\n%s", err, &report)
	}
	if text := p.read("workspaces/A-1/new.txt"); text != "new\n" {
		t.Errorf("the agent wrote %q", text)
	}
}

// runnerCommand matches a line that the runner takes for a command: see package action.
var runnerCommand = regexp.MustCompile(`^\s*::|##\[`)

func TestNothingInASessionIsAWorkflowCommandOrASecret(t *testing.T) {
	const secret = "swordfish-swordfish"
	hostile := "::add-mask::a\n::error::b\r\n ::stop-commands::c\r##[add-matcher]d\u2028::set-output name=x::y\x1b[2J\x1b]0;owned\x07 sword\u200bfish-sword\x1b[1mfish ##[group]e"
	for identifier, texts := range map[string]string{"A-1": "true", "::error::A-1": "true", "##[error]A-1": "false", "A\n::error::B": "true", "#": "true"} {
		synctest.Test(t, func(t *testing.T) {
			out := &strings.Builder{}
			a := &app{process: process{stdout: out, environ: []string{"GITHUB_ACTIONS=true", "TOKEN=" + secret, "SYMPHONY_LOG_TEXTS=" + texts}}, logFormat: "text"}
			a.detectActions()
			a.redactor = a.environmentSecrets()
			out.Reset() // the masks
			live := transcript.NewLive(a.redactor.String)
			quoted, _ := json.Marshal(hostile)
			h := string(quoted)
			item := func(event, item string) string {
				return `{"t_ms":1000,"dir":"<","msg":{"method":"item/` + event + `","params":{"item":{"id":"1",` + item + `}}}}`
			}
			for _, line := range []string{
				item("completed", `"type":"agentMessage","text":`+h),
				item("completed", `"type":"commandExecution","command":`+h+`,"aggregatedOutput":`+h),
				item("completed", `"type":"fileChange","changes":[{"path":`+h+`,"kind":"add","diff":`+h+`}]`),
				item("completed", `"type":"mcpToolCall","server":`+h+`,"tool":`+h+`,"arguments":`+h+`,"result":`+h),
				`{"t_ms":3,"hook":{"name":` + h + `,"exit":1,"error":` + h + `,"output":` + h + `}}`, `{"t_ms":2,"event":{"Kind":"warning","Summary":` + h + `}}`,
				item("started", `"type":"commandExecution","command":`+h),
			} {
				live.Line([]byte(line))
			}
			r := &runner.Runner{}
			end := showSessions(a, logPlaces{}, r, &console{out: a.stdout}, true)
			claim := schedule.Claim{ID: "1", Identifier: identifier, Title: hostile, Attempt: 1, Sessions: 3}
			onEnd := r.OnSession(runner.SessionStart{Claim: claim, Branch: hostile, Live: live})
			time.Sleep(time.Minute) // of the bubble: the log says what the agent is doing
			onEnd(runner.SessionLog{Claim: claim, Outcome: schedule.Outcome{Class: schedule.IssueFailed, Why: hostile, Warnings: []string{hostile}}})
			end()
			got := out.String()
			lines := regexp.MustCompile(`[\n\r\x{2028}\x{2029}\x{85}]`).Split(strings.TrimSuffix(got, "\n"), -1)
			if len(lines) < 10 {
				t.Errorf("%d lines:\n%s", len(lines), got)
			}
			for _, line := range lines {
				if runnerCommand.MatchString(line) || strings.ContainsAny(line, "\x1b\a") || !strings.Contains(line, " | ") {
					t.Errorf("%q: the log has %q", identifier, line)
				}
			}
			if strings.Contains(got, secret) || strings.Contains(got, "fish-sword") || !strings.Contains(got, "***") {
				t.Errorf("%q: the log shows a secret, or hides none:\n%s", identifier, got)
			}
		})
	}
}

func TestOnlyAShardShowsItsSessionsInTheLogWhileTheyRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live, inActions bool
		format          string
		follows, prints bool
	}{
		"a shard":                           {true, false, "text", true, false},
		"a shard in Actions":                {true, true, "text", true, false},
		"a shard whose log is JSON":         {true, false, "json", false, false},
		"a shard in Actions, log of JSON":   {true, true, "json", false, true},
		"a tick":                            {false, false, "text", false, false},
		"a tick in Actions, with its group": {false, true, "text", false, true},
	} {
		a := fleetApp(nil, fmt.Sprint("GITHUB_ACTIONS=", c.inActions))
		a.logFormat = c.format
		r := &runner.Runner{}
		out := &strings.Builder{}
		end := showSessions(a, logPlaces{}, r, &console{out: out}, c.live)
		if r.OnSession != nil {
			r.OnSession(runner.SessionStart{Claim: schedule.Claim{Identifier: "A-1"}})
		}
		end()
		follows := out.String() != ""
		if prints := r.OnSession != nil && !follows; follows != c.follows || prints != c.prints {
			t.Errorf("%s: follows %v, prints %v", name, follows, prints)
		}
	}
}

func TestTheLogOfAShardShowsWhatTheRealCodexDoes(t *testing.T) {
	t.Parallel()
	p, _ := realProject(t, "", map[string]string{"A-1": todo("Patch"), "A-2": todo("Command")},
		lane("A-1",
			codextest.Reply{Items: []codextest.Item{codextest.Custom{Name: "apply_patch", Input: patch}}},
			handOver(), say("Patched.\n\n- `patched.txt` is new")),
		lane("A-2",
			call("exec_command", map[string]string{"cmd": "seq 20; printf '::error::forged\\n'; exit 3"}),
			handOver(), say("Counted.")),
	)
	p.replace("codex:", "polling: {interval_ms: 86400000}\ncodex:") // a poll would end the sessions that have handed over
	p.ok("plan", "--exchange", "exchange", "--shards", "1", "--shard-slots", "2")
	log := p.ok("work", "--exchange", "exchange", "--shard", "1").stderr
	for _, want := range []string{
		`A-1 \| session 1 begins: Patch \(attempt 1, workspace .*/workspaces/A-1\)\n`,
		`A-1 \| changed patched\.txt`,
		`A-1 \| called issue_update .* with \{"state":"Review"\}\n`,
		"A-1 \\| message: Patched\\.\nA-1 \\|   - `patched\\.txt` is new\n",
		`A-2 \| \$ .*seq 20.* \(exit status 3.*\)\nA-2 \|   1\nA-2 \|   2\nA-2 \|   3\nA-2 \|   \[… 15 lines are left out …\]\nA-2 \|   19\nA-2 \|   20\nA-2 \|   ::error::forged\n`,
		`A-1 \| turn 1 completed .*, [0-9,]+ tokens \([0-9,]+ in, [0-9,]+ out\)\n`,
		`A-2 \| session ended: completed · turns: 1 · tokens: `,
	} {
		if found := regexp.MustCompile(want).FindAllString(log, -1); len(found) != 1 {
			t.Errorf("the log has %q %d times", want, len(found))
		}
	}
	if t.Failed() {
		t.Log(log)
	}
}
