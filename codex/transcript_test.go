package codex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcomes of a recorded session.
type recorded struct {
	Turns     []string // how each turn ended: its category, variant and HTTP status
	Usage     Usage
	Approvals int
	Tools     string   // what the last tool call was told
	Questions []string // of the last turn
	Resumed   bool
	Warnings  int // of our own
	Retries   int // errors that are not progress
}

// transcripts lists recordings of Codex 0.169 with a scripted model. A session may answer
// differently from the recorded client; what the server sent next is replayed anyway.
func transcripts() map[string]recorded {
	ok := []string{"completed"}
	spent := func(responses int64) Usage { return Usage{Input: 100 * responses, Output: 20 * responses} }
	return map[string]recorded{
		"apply_patch_turn":                       {Turns: ok, Usage: spent(2)},
		"auto_compaction":                        {Turns: []string{"completed", "completed"}, Usage: Usage{Input: 90400, Output: 60}},
		"background_command_left_running":        {Turns: ok, Usage: spent(2)},
		"code_mode_apply_patch":                  {Turns: ok, Usage: spent(2)},
		"code_mode_dynamic_tool_and_exec":        {Turns: ok, Usage: spent(2), Tools: `{"body":"from js"}`},
		"command_approval_accept":                {Turns: ok, Usage: spent(2), Approvals: 1},
		"command_approval_cancel":                {Turns: []string{"turn_cancelled"}, Usage: spent(1), Approvals: 1},
		"command_approval_decline":               {Turns: ok, Usage: spent(2), Approvals: 1},
		"command_approval_on_request_escalate":   {Turns: ok, Usage: spent(2), Approvals: 1},
		"dynamic_tool_error_response":            {Turns: ok, Usage: spent(2), Tools: `{"body":"hi"}`},
		"dynamic_tool_failure":                   {Turns: ok, Usage: spent(2), Tools: `{"body":"hi"}`},
		"dynamic_tool_success":                   {Turns: ok, Usage: spent(2), Tools: `{"body":"hi"}`},
		"dynamic_tool_unknown":                   {Turns: ok, Usage: spent(2)},
		"dynamic_tool_without_experimental_api":  {Turns: []string{"response_error"}},
		"exec_command_turn":                      {Turns: ok, Usage: Usage{Input: 400, Output: 30}},
		"file_change_approval_accept":            {Turns: ok, Usage: spent(2), Approvals: 1},
		"file_change_approval_decline":           {Turns: ok, Usage: spent(2), Approvals: 1},
		"goal_autonomous_turns":                  {Turns: ok, Usage: spent(5)},
		"happy_path_one_turn":                    {Turns: ok, Usage: Usage{Input: 1234, Cached: 1000, Output: 56, Reasoning: 10}},
		"rate_limits_updated":                    {Turns: ok, Usage: spent(1)},
		"recommended_posture_full_turn":          {Turns: ok, Usage: Usage{Input: 2300, Cached: 1500, Output: 160, Reasoning: 20}, Approvals: 1, Tools: `{"body":"plan posted"}`},
		"recommended_posture_permission_profile": {Turns: ok, Usage: spent(3), Approvals: 1, Tools: `{"body":"done"}`},
		"request_user_input_answered":            {Turns: []string{"turn_input_required: Which one? (A / B)"}, Usage: spent(2)},
		"request_user_input_async":               {Turns: ok, Usage: spent(2), Questions: []string{"Which one? (A / B)"}},
		"request_user_input_error":               {Turns: []string{"turn_input_required: Which one? (A / B)"}, Usage: spent(2)},
		"resume_part1_first_process":             {Turns: ok, Usage: spent(1)},
		"resume_part2_new_process":               {Turns: ok, Usage: spent(2), Tools: `{"body":"x"}`, Resumed: true},
		"stream_disconnect_retry_ok":             {Turns: ok, Usage: spent(1), Retries: 1},
		"sub_agent_spawn":                        {Turns: ok, Usage: Usage{Input: 130, Output: 23}},
		"turn_failed_401":                        {Turns: []string{"turn_failed httpConnectionFailed 401", "turn_failed httpConnectionFailed 401"}, Retries: 2},
		"turn_failed_429":                        {Turns: []string{"turn_failed responseTooManyFailedAttempts 429"}, Retries: 1},
		"turn_failed_500":                        {Turns: []string{"turn_failed internalServerError"}, Retries: 1},
		"turn_failed_connection_refused_bounded": {Turns: []string{"turn_failed httpConnectionFailed"}, Retries: 5},
		"turn_failed_context_window":             {Turns: []string{"turn_failed contextWindowExceeded"}},
		"turn_failed_stream_disconnect":          {Turns: []string{"turn_failed other"}, Retries: 1},
		"turn_failed_usage_limit":                {Turns: []string{"turn_failed usageLimitExceeded"}},
		"turn_interrupt":                         {Turns: []string{"turn_cancelled"}, Usage: spent(2)},
		"two_turn_continuation":                  {Turns: []string{"completed", "completed"}, Usage: Usage{Input: 2200, Cached: 1100, Output: 120, Reasoning: 30}},
	}
}

func TestRecordedSessionsEndAsRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := transcripts()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(want[name], replay(t, readTranscript(t, file))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
	if len(files) != len(want) {
		t.Errorf("%d recordings, %d expectations", len(files), len(want))
	}
}

// exchange is one line of a recording.
type exchange struct {
	Dir string // ">" to the server, "<" from it
	Msg json.RawMessage
	msg received
}

func readTranscript(t *testing.T, file string) (lines []exchange) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		var e exchange
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(e.Msg, &e.msg); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, e)
	}
	return lines
}

// replay runs a session against a recording, with as many turns as it has.
func replay(t *testing.T, lines []exchange) (r recorded) {
	o := Options{Cwd: "/workspace", Name: "ABC-1: Example", Tools: []Tool{{
		Name: "tracker_comment", InputSchema: json.RawMessage(`{}`),
		Call: func(_ context.Context, arguments json.RawMessage) (string, bool) {
			r.Tools = compact(t, arguments) // one at a time in every recording
			return "done", true
		},
	}}}
	turns := 0
	for _, l := range lines {
		switch {
		case l.Dir == ">" && l.msg.Method == "thread/resume":
			var p turnRef
			_ = json.Unmarshal(l.msg.Params, &p)
			o.Resume = p.ThreadID
		case l.Dir == ">" && l.msg.Method == "turn/start":
			turns++
		}
		if l.Dir == ">" {
			asked(&o.Config, l.msg.Params)
		} else if o.Resume != "" && o.Config.ApprovalPolicy == nil {
			asked(&o.Config, l.msg.Result) // the client left it to the thread
		}
	}
	j := &eventLog{}
	o.Events = j.add
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := Open(t.Context(), dial(t, func(p *fakeServer) { play(p, lines, cancel) }), o)
	if err != nil {
		r.Turns = append(r.Turns, category(err))
	} else {
		for range turns {
			turn, err := s.Turn(ctx, Input{Text: "go"})
			r.Turns, r.Questions = append(r.Turns, category(err)), turn.Questions
		}
		<-s.conn.done // all of it is read
		s.Close()
		r.Usage, r.Resumed = total(s.Tariffs()), s.Resumed()
	}
	r.Approvals = j.count(ApprovalAutoApproved)
	for _, e := range j.all() {
		if e.Kind == Warning {
			r.Warnings++
		}
		if e.Method == "error" && !e.Progress {
			r.Retries++
		}
	}
	if n := j.count(Malformed) + j.count(OtherMessage) + j.count(UnsupportedToolCall); n != 0 {
		t.Errorf("%d lines were not understood: %+v", n, j.all())
	}
	return r
}

// asked reads the permissions that the recorded client asked for, because the recorded
// server reports those.
func asked(c *Config, params json.RawMessage) {
	var p struct{ ApprovalPolicy, Sandbox, SandboxPolicy json.RawMessage }
	_ = json.Unmarshal(params, &p) // of other calls, without them
	if present(p.ApprovalPolicy) {
		c.ApprovalPolicy = p.ApprovalPolicy
	}
	if present(p.Sandbox) && p.Sandbox[0] == '"' {
		c.ThreadSandbox = p.Sandbox
	}
	if present(p.SandboxPolicy) {
		c.TurnSandboxPolicy = p.SandboxPolicy
	}
}

func category(err error) string {
	if err == nil {
		return "completed"
	}
	if asked, ok := errors.AsType[*InputRequired](err); ok {
		return "turn_input_required: " + strings.Join(asked.Questions, ", ")
	}
	if failed, ok := errors.AsType[*TurnError](err); ok {
		text := failed.Category.Error()
		if failed.Info != "" {
			text += " " + failed.Info
		}
		if failed.HTTPStatus != 0 {
			text += " " + strconv.Itoa(failed.HTTPStatus)
		}
		return text
	}
	for _, c := range []error{ErrTurnCancelled, ErrTurnTimeout, ErrResponseTimeout, ErrResponse, ErrPortExit} {
		if errors.Is(err, c) {
			return c.Error()
		}
	}
	return err.Error()
}

// play sends what the recorded server sent. Before each answer it waits for the request
// that it answers, and it replaces the recorded id by ours. Requests that only the
// recorded client sent are left out with their answers; requests that only a session
// sends get an empty answer.
func play(p *fakeServer, lines []exchange, cancel func()) {
	ours := []string{"initialize", "initialized", "thread/start", "thread/resume", "turn/start", "turn/interrupt"}
	ids := make(map[string]json.RawMessage)
	for _, l := range lines {
		id := string(l.msg.ID)
		switch {
		case l.Dir == ">" && l.msg.Method == "":
			p.await(func(m received) bool { return m.Method == "" && string(m.ID) == id })
		case l.Dir == ">" && slices.Contains(ours, l.msg.Method):
			if l.msg.Method == "turn/interrupt" {
				cancel()
			}
			m := p.await(func(m received) bool { return m.Method == l.msg.Method })
			ids[id] = m.ID
		case l.Dir == ">":
		case l.msg.Method != "":
			p.send(string(l.Msg))
		case ids[id] != nil && l.msg.Error != nil:
			p.refuse(received{ID: ids[id]}, l.msg.Error.Code, l.msg.Error.Message)
		case ids[id] != nil:
			// The recorded client left the profile of the thread to Codex.
			p.reply(received{ID: ids[id]}, strings.Replace(string(l.msg.Result), `"id": ":workspace"`, `"id": ":read-only"`, 1))
		}
	}
}

// await reads until the session has sent the wanted message.
func (p *fakeServer) await(wanted func(received) bool) received {
	for {
		m, ok := p.next()
		if !ok || wanted(m) {
			return m
		}
		if m.Method != "" && m.ID != nil {
			p.reply(m, `{}`)
		}
	}
}

// programs.jsonl is a recording of a session that runs programs of the host with the
// real Codex. What the session asks for must be what was recorded, and each program must
// end as it did.
func TestRecordedProgramsEndAsTheyDid(t *testing.T) {
	t.Parallel()
	lines := readTranscript(t, "testdata/programs.jsonl")
	o := execOptions(t)
	o.Version, o.Temp, o.Repository, o.Config.Env = "1", "/temp", true, []string{"SECRET"}
	o.SaveProfile = func(string) error { return nil }
	o.Deny = func(string, int) []string { return []string{"/homes", "/workspaces", "/state", "/logs", "/later"} }
	const limit = 300 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
			for _, l := range lines {
				if l.Dir == "<" {
					if strings.Contains(string(l.Msg), `"exitCode": 124`) {
						time.Sleep(limit) // of the bubble's clock
					}
					p.send(string(l.Msg))
					continue
				}
				var recorded, now any
				m := p.expect(l.msg.Method)
				decodeLenient(l.msg.Params, &recorded) // initialized has none
				decodeLenient([]byte(strings.ReplaceAll(string(m.Params), o.Cwd, "/workspace")), &now)
				if diff := cmp.Diff(recorded, now); diff != "" {
					t.Errorf("%s (-recorded +now):\n%s", m.Method, diff)
				}
			}
		}), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stopped, stop := context.WithCancel(t.Context())
		defer stop()
		for _, program := range []struct {
			exec   Exec
			code   int
			stdout string
			want   error // nil if it ended by itself
		}{
			{exec: Exec{Argv: []string{"printf", `\377\376\000x`}}, stdout: "\xff\xfe\x00x"},
			{exec: Exec{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, code: 3, stdout: "out\n"},
			{exec: Exec{Argv: []string{"sh", "-c", "exit 101"}}, code: 101},
			{exec: Exec{Argv: []string{"/no/such/program"}}, want: ErrExecStart},
			{exec: Exec{Argv: []string{"yes"}, MaxOutput: 1000}, want: ErrExecOutput},
			{exec: Exec{Argv: []string{"printf", "12345"}, MaxOutput: 5}, stdout: "12345"},
			{exec: Exec{Argv: []string{"sleep", "60"}, Timeout: limit}, want: ErrExecTimeout},
			{exec: Exec{Argv: []string{"sh", "-c", "kill -9 $$"}}, want: ErrExecKilled},
			{exec: Exec{Argv: []string{"sh", "-c", "echo started; sleep 60"}}, want: context.Canceled},
			{exec: Exec{Argv: []string{"git", "status"}}, want: ErrExecStart}, // .git is a file
			{exec: Exec{Argv: []string{"git", "status"}}, want: ErrExecStart}, // .git is a link
		} {
			ctx := t.Context()
			if program.want == context.Canceled {
				ctx = stopped
			}
			var out bytes.Buffer
			program.exec.Stdout = writerFunc(func(b []byte) (int, error) {
				if ctx == stopped {
					stop()
				}
				return out.Write(b)
			})
			got, err := s.Exec(ctx, program.exec)
			if !errors.Is(err, program.want) || err == nil && (got.ExitCode != program.code || out.String() != program.stdout) {
				t.Errorf("%q: %+v, %q, %v", program.exec.Argv, got, out.String(), err)
			}
		}
	})
}
