package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
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

func TestTheEndOfASessionHasItsCostBesideItsTokens(t *testing.T) {
	t.Parallel()
	used := schedule.Usage{Input: 1000, Tariffs: schedule.Tariffs{{Tariff: schedule.Tariff{Model: "m"}, Input: 1000}}}
	for want, prices := range map[string]schedule.Prices{
		"completed · turns: 2 · tokens: 1k · 3s":         nil,
		"completed · turns: 2 · tokens: 1k ($2.00) · 3s": {"m": {Rates: schedule.Rates{Input: 2000}}},
	} {
		ended := runner.SessionLog{Outcome: schedule.Outcome{Class: schedule.Done, Turns: 2, Usage: used}, Took: 3 * time.Second, Prices: prices}
		if got := sessionResult(ended); got != want {
			t.Errorf("%s, want %s", got, want)
		}
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
			a := &app{Process: wiring.Process{Stdout: out, Environ: []string{"GITHUB_ACTIONS=true", "TOKEN=" + secret, "SYMPHONY_LOG_TEXTS=" + texts}}, logFormat: "text"}
			a.DetectActions()
			a.redactor = a.EnvironmentSecrets()
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
			end := showSessions(a, logPlaces{}, r, &console{out: a.Stdout}, true)
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
