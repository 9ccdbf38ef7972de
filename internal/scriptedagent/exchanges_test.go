package scriptedagent

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

var commentTool = object{"dynamicTools": []object{{"type": "function", "name": "issue_comment",
	"description": "Comments.", "inputSchema": object{"type": "object"}}}}

func exchanges() []exchange {
	return append([]exchange{{
		name: "a handshake",
		hold: func(t *testing.T, s stage) {
			p := s.start()
			refused(t, p.call("thread/start", object{}), "Not initialized")
			refused(t, p.call("initialize", object{}), "Invalid request: missing field `clientInfo`")
			p.write("this is no message")
			p.hello()
			refused(t, p.call("initialize", object{"clientInfo": object{"name": "peer", "version": "1"}}), "Already initialized")
			refused(t, p.call("no/such", object{}), "Invalid request: unknown variant `no/such`")
			const nobody = "01a1fd57-36de-7d23-a141-723dea8d0b0f"
			refused(t, p.call("thread/resume", object{"threadId": nobody}), "no rollout found for thread id "+nobody)
			refused(t, p.call("turn/start", object{"threadId": nobody, "input": []object{}}), "thread not found: "+nobody)
			refused(t, p.call("turn/start", object{"input": []object{}}), "Invalid request: missing field `threadId`")
			thread := p.thread(s.cwd, nil)
			long := []object{{"type": "text", "text": strings.Repeat("x", 1<<20+1)}}
			if e := p.call("turn/start", object{"threadId": thread, "input": long}); e.Error == nil || e.Error.Code != -32602 {
				t.Errorf("too long an input: got %.200s", e.Line)
			}
			refused(t, p.call("thread/start", object{"approvalPolicy": "always"}), "Invalid request: unknown variant `always`")
			p.in.Close()
			if err := p.end(); err != nil {
				t.Errorf("end of input: %v", err)
			}
		},
	}, {
		name: "no tools without the experimental API",
		hold: func(t *testing.T, s stage) {
			p := s.start()
			p.ok("initialize", object{"clientInfo": object{"name": "peer", "version": "1"}})
			refused(t, p.call("thread/start", commentTool), "thread/start.dynamicTools requires experimentalApi capability")
		},
	}, {
		name:    "one turn",
		prompt:  "- [ ] Say `Hello.`",
		replies: []codextest.Reply{saying("Hello.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, nil)
			p.ok("thread/name/set", object{"threadId": thread, "name": "ABC-1: hello"})
			end := p.turn(thread, s.prompt)
			equal(t, "status", "completed", end.Status)
			equal(t, "last items", "Hello.", end.Items[0].Text)
			equal(t, "messages", []string{"Hello."}, p.said())
			equal(t, "tokens", [4]float64{100, 0, 0, 20}, p.spent())
			equal(t, "order", []string{
				"thread/started", "thread/name/updated",
				"thread/status/changed", "turn/started", "item/started", "item/completed", // what the user said
				"item/started", "item/agentMessage/delta", "item/completed",
				"thread/tokenUsage/updated", "thread/readState/changed",
				"thread/status/changed", "turn/completed",
			}, p.order())
		},
	}, {
		name:    "two turns",
		prompt:  "- [ ] Say `One.`\n\n## Next turn\n\n- [ ] Say `Two.`",
		replies: []codextest.Reply{saying("One."), saying("Two.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, nil)
			equal(t, "first", "completed", p.turn(thread, s.prompt).Status)
			equal(t, "second", "completed", p.turn(thread, "Go on.").Status)
			equal(t, "messages", []string{"One.", "Two."}, p.said())
			equal(t, "tokens", [4]float64{200, 0, 0, 40}, p.spent())
		},
	}, {
		name:    "a command",
		prompt:  "- [ ] Run `echo made; echo there > made.txt`\n- [ ] Say `Done.`",
		replies: []codextest.Reply{running("echo made; echo there > made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			equal(t, "status", "completed", p.turn(p.thread(s.cwd, nil), s.prompt).Status)
			ran := p.item("commandExecution")
			equal(t, "item", []any{"completed", 0.0, "made\n", s.cwd},
				[]any{ran["status"], ran["exitCode"], ran["aggregatedOutput"], ran["cwd"]})
			equal(t, "file", "there\n", contents(t, s.cwd, "made.txt"))
		},
	}, {
		name:   "a new file",
		prompt: "- [ ] Create `a/new.txt` containing `hello`",
		replies: []codextest.Reply{{Items: []codextest.Item{codextest.Custom{Name: "apply_patch",
			Input: "*** Begin Patch\n*** Add File: a/new.txt\n+hello\n*** End Patch\n"}}}, saying("Done.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			equal(t, "status", "completed", p.turn(p.thread(s.cwd, nil), s.prompt).Status)
			changed := p.item("fileChange")
			equal(t, "item", "completed", changed["status"])
			equal(t, "changes", []any{map[string]any{"path": filepath.Join(s.cwd, "a/new.txt"),
				"kind": map[string]any{"type": "add"}, "diff": "hello\n"}}, changed["changes"])
			equal(t, "file", "hello\n", contents(t, s.cwd, "a/new.txt"))
		},
	}, {
		name:   "a failed turn",
		prompt: "- [ ] Fail with `usageLimitExceeded`\n\n## Next turn\n\n- [ ] Say `Better.`",
		replies: []codextest.Reply{{Status: 429, Body: `{"error":{"type":"usage_limit_reached","message":"enough"}}`},
			saying("Better.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, nil)
			end := p.turn(thread, s.prompt)
			equal(t, "status", "failed", end.Status)
			equal(t, "cause", "usageLimitExceeded", end.Error.CodexErrorInfo)
			told := p.of("error")
			equal(t, "error", []any{false, end.Error.Message},
				[]any{told[0]["willRetry"], told[0]["error"].(map[string]any)["message"]})
			equal(t, "next turn", "completed", p.turn(thread, "Go on.").Status)
		},
	}, {
		name:    "a turn that fails with a status",
		prompt:  "- [ ] Fail with `httpConnectionFailed 401`",
		replies: []codextest.Reply{{Status: 401, Body: `{"error":{"message":"who?"}}`}},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			end := p.turn(p.thread(s.cwd, nil), s.prompt)
			equal(t, "status", "failed", end.Status)
			equal(t, "cause", map[string]any{"httpConnectionFailed": map[string]any{"httpStatusCode": 401.0}},
				end.Error.CodexErrorInfo)
		},
	}, {
		name:   "an interrupt",
		prompt: "- [ ] Say `Wait.`\n- [ ] Hang",
		// Input in the middle of a response can make Codex ask the model again.
		replies: []codextest.Reply{{Items: []codextest.Item{codextest.Message{Text: "Wait."}}, End: codextest.Hang}, {End: codextest.Hang}},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, nil)
			turn := p.begin(thread, s.prompt)
			p.until("item/agentMessage/delta")
			equal(t, "a second turn is the first, steered", turn, p.begin(thread, "And do more."))
			refused(t, p.call("turn/interrupt", object{"threadId": thread, "turnId": "other"}),
				"expected active turn id other but found "+turn)
			equal(t, "reply", object{}, p.ok("turn/interrupt", object{"threadId": thread, "turnId": turn}))
			end := p.completed()
			equal(t, "status", "interrupted", end.Status)
			if end.Error != nil {
				t.Errorf("an interrupted turn has no error: %v", end.Error)
			}
			refused(t, p.call("turn/interrupt", object{"threadId": thread, "turnId": turn}), "no active turn to interrupt")
		},
	}, {
		name:    "the end of input in the middle of a turn",
		prompt:  "- [ ] Say `Wait.`\n- [ ] Hang",
		replies: []codextest.Reply{{Items: []codextest.Item{codextest.Message{Text: "Wait."}}, End: codextest.Hang}},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			p.begin(p.thread(s.cwd, nil), s.prompt)
			p.until("item/agentMessage/delta")
			p.in.Close()
			if err := p.end(); err != nil {
				t.Errorf("end of input: %v", err)
			}
		},
	}, {
		name:    "a thread in a second process",
		prompt:  "- [ ] Say `One.`\n\n## Next turn\n\n- [ ] Call `issue_comment` with `{}`\n- [ ] Say `Two.`",
		replies: []codextest.Reply{saying("One."), calling("issue_comment", "{}"), saying("Two.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, commentTool)
			refused(t, s.hello().call("thread/resume", object{"threadId": thread}), "no rollout found for thread id "+thread)
			p.turn(thread, s.prompt)
			p.ok("thread/name/set", object{"threadId": thread, "name": "ABC-1: one"})
			p.in.Close()
			p.end()

			p = s.hello()
			answerTools(p, object{"result": object{"success": true, "contentItems": []object{}}})
			opened := p.ok("thread/resume", object{"threadId": thread, "excludeTurns": true})["thread"].(map[string]any)
			equal(t, "thread", []any{thread, "ABC-1: one", s.cwd, 0},
				[]any{opened["id"], opened["name"], opened["cwd"], len(opened["turns"].([]any))})
			p.until("thread/tokenUsage/updated")
			equal(t, "tokens of the first process", [4]float64{100, 0, 0, 20}, p.spent())
			equal(t, "status", "completed", p.turn(thread, "Go on.").Status)
			equal(t, "messages", []string{"Two."}, p.said())
			equal(t, "tool calls", 1, len(p.of("item/tool/call")))
		},
	}, {
		name: "programs of the client",
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			ids := func() (ids []any) {
				for _, profile := range p.ok("permissionProfile/list", object{"cwd": s.cwd})["data"].([]any) {
					ids = append(ids, profile.(map[string]any)["id"])
				}
				return ids
			}
			equal(t, "profiles", []any{":read-only", ":workspace", ":danger-full-access"}, ids())
			refused(t, p.call("command/exec", program(s, "true")), "invalid permission profile: ")
			s.configure(t, "default_permissions=\":read-only\"\npermissions.mine.extends=\":workspace\"\n")
			equal(t, "profiles", []any{":read-only", ":workspace", ":danger-full-access", "mine"}, ids())
			for command, want := range map[string][]any{
				`printf '\377\000x'`:                       {0.0, "\xff\x00x", "", false},
				"echo out; echo err >&2; exit 3":           {3.0, "out\n", "err\n", false},
				`echo "$ADDED/$HOME"`:                      {0.0, "yes/\n", "", false},
				"pwd -P":                                   {0.0, s.cwd + "\n", "", false},
				"cat":                                      {0.0, "", "", false},
				"head -c 70000 /dev/zero | tr '\\0' x":     {0.0, strings.Repeat("x", 64000), "", true},
				"head -c 64000 /dev/zero | tr '\\0' x":     {0.0, strings.Repeat("x", 64000), "", true},
				"kill -9 $$":                               {137.0, "", "", false},
				"exit 101":                                 {101.0, "", "", false},
				"sleep 1000 & echo started":                {0.0, "started\n", "", false},
				"trap '' TERM INT; sleep 1000; sleep 1000": {124.0, "", "", false},
			} {
				params := program(s, "sh", "-c", command)
				if strings.HasPrefix(command, "trap") {
					params["timeoutMs"] = 300
				}
				code, stdout, stderr, full := p.exec(params)
				equal(t, command, want, []any{code, stdout, stderr, full})
			}
			for _, name := range []string{"no-such-program", "/no/such", "/etc/passwd"} {
				code, stdout, stderr, _ := p.exec(program(s, name))
				equal(t, name, []any{101.0, ""}, []any{code, stdout})
				if !strings.Contains(stderr, "Failed to execvp "+name+": ") {
					t.Errorf("%s: %q", name, stderr)
				}
			}
			without := func(name string) object {
				params := program(s, "true")
				delete(params, name)
				return params
			}
			refused(t, p.call("command/exec", without("command")), "Invalid request: missing field `command`")
			refused(t, p.call("command/exec", program(s)), "command must not be empty")
			refused(t, p.call("command/exec", without("processId")), "command/exec tty or streaming requires a client-supplied processId")
			lost := program(s, "true")
			lost["cwd"] = filepath.Join(s.cwd, "missing")
			if e := p.call("command/exec", lost); e.Error == nil || e.Error.Code != -32603 {
				t.Errorf("a folder that is missing: %.200s", e.Line)
			}
		},
	}, {
		name: "a program that the client ends",
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			s.configure(t, "default_permissions=\":read-only\"\npermissions.mine.extends=\":workspace\"\n")
			params := program(s, "sh", "-c", "echo started; sleep 1000")
			p.write(mustJSON(t, object{"id": "run", "method": "command/exec", "params": params}))
			p.until("command/exec/outputDelta")
			refused(t, p.call("command/exec", params), "duplicate active command/exec process id: ")
			ended := func() (code any) {
				for _, e := range p.all {
					if string(e.ID) == `"run"` {
						code = e.Result["exitCode"]
					}
				}
				return code
			}
			p.methods[`"run"`] = "command/exec"
			equal(t, "reply", object{}, p.ok("command/exec/terminate", object{"processId": "p"}))
			for ended() == nil {
				if _, ok := p.next(); !ok {
					t.Fatal("the output ended before the program")
				}
			}
			equal(t, "exit code", any(137.0), ended())
			refused(t, p.call("command/exec/terminate", object{"processId": "p"}), "no active command/exec for process id ")
			refused(t, p.call("command/exec/terminate", object{}), "Invalid request: missing field `processId`")
		},
	}, {
		name:    "commands that outlive their turn",
		prompt:  "- [ ] Run `sleep 315360001`\n",
		replies: []codextest.Reply{running("sleep 315360001")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			thread := p.thread(s.cwd, nil)
			turn := p.begin(thread, s.prompt)
			sleeping := func() bool { return runs(s.cwd, "315360001") }
			await := func(want bool) {
				for sleeping() != want {
					p.ok("permissionProfile/list", object{}) // fails in the end
				}
			}
			for started := false; !started; {
				item, _ := p.until("item/started")["item"].(map[string]any)
				started = item["type"] == "commandExecution"
			}
			await(true)
			p.ok("turn/interrupt", object{"threadId": thread, "turnId": turn})
			equal(t, "status", "interrupted", p.completed().Status)
			equal(t, "still there", true, sleeping())
			equal(t, "reply", object{}, p.ok("thread/backgroundTerminals/clean", object{"threadId": thread}))
			await(false)
			const nobody = "01a1fd57-36de-7d23-a141-723dea8d0b0f"
			refused(t, p.call("thread/backgroundTerminals/clean", object{"threadId": nobody}), "thread not found: "+nobody)
			refused(t, p.call("thread/backgroundTerminals/clean", object{}), "Invalid request: missing field `threadId`")
		},
	}},
		toolExchange("a tool that succeeds", object{"result": object{"success": true, "contentItems": []object{{"type": "inputText", "text": "ok"}}}}, "completed", "ok"),
		toolExchange("a tool that fails", object{"result": object{"success": false, "contentItems": []object{{"type": "inputText", "text": "no"}}}}, "failed", "no"),
		toolExchange("a tool that is refused", object{"error": object{"code": -32601, "message": "no"}}, "failed", "dynamic tool request failed"),
		toolExchange("a tool with a malformed result", object{"result": object{"success": false, "error": "no"}}, "failed", "dynamic tool response was invalid"),
		approvalExchange("an approval that is given", object{"result": object{"decision": "accept"}}, "completed", "completed"),
		approvalExchange("an approval that is declined", object{"result": object{"decision": "decline"}}, "completed", "declined"),
		approvalExchange("an approval that is refused", object{"error": object{"code": -1, "message": "no"}}, "completed", "failed"),
		approvalExchange("an approval that cancels", object{"result": object{"decision": "cancel"}}, "interrupted", "declined"),
	)
}

// toolExchange is a turn that calls a tool, which the client answers. It ends with a status
// of the call and with a text for the model.
func toolExchange(name string, answer object, status, text string) exchange {
	return exchange{
		name:    name,
		prompt:  "- [ ] Call `issue_comment` with `{\"body\":\"hi\"}`",
		replies: []codextest.Reply{calling("issue_comment", `{"body":"hi"}`), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			answerTools(p, answer)
			equal(t, "status", "completed", p.turn(p.thread(s.cwd, commentTool), s.prompt).Status)
			asked, item := p.first("item/tool/call"), p.item("dynamicToolCall")
			equal(t, "call", []any{"issue_comment", map[string]any{"body": "hi"}, nil, item["id"]},
				[]any{asked["tool"], asked["arguments"], asked["namespace"], asked["callId"]})
			equal(t, "item", []any{status, status == "completed", text},
				[]any{item["status"], item["success"], item["contentItems"].([]any)[0].(map[string]any)["text"]})
			for _, e := range p.all {
				if e.Method == "item/tool/call" {
					equal(t, "first id of a request", "0", string(e.ID))
				}
			}
		},
	}
}

func answerTools(p *peer, answer object) {
	p.answers["item/tool/call"] = func(object) object { return answer }
}

// approvalExchange is a turn that asks whether a command may run. It ends with these statuses
// of the turn and of the command, which runs only if it is completed.
func approvalExchange(name string, answer object, turn, command string) exchange {
	return exchange{
		name:    name,
		prompt:  "- [ ] Ask for approval of `touch made.txt`",
		replies: []codextest.Reply{running("touch made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			p := s.hello()
			p.answers["item/commandExecution/requestApproval"] = func(object) object { return answer }
			end := p.turn(p.thread(s.cwd, object{"approvalPolicy": "untrusted"}), s.prompt)
			asked, item := p.first("item/commandExecution/requestApproval"), p.item("commandExecution")
			equal(t, "request", []any{item["id"], item["command"], s.cwd, "command"},
				[]any{asked["itemId"], asked["command"], asked["cwd"], asked["kind"]})
			equal(t, "resolved", 1, len(p.of("serverRequest/resolved")))
			equal(t, "turn and item", []any{turn, command}, []any{end.Status, item["status"]})
			_, err := os.Stat(filepath.Join(s.cwd, "made.txt"))
			equal(t, "the command ran", command == "completed", err == nil)
		},
	}
}

// program returns the parameters of a program of the client.
func program(s stage, argv ...string) object {
	return object{"command": append([]string{}, argv...), "cwd": s.cwd, "env": object{"ADDED": "yes", "HOME": nil}, "permissionProfile": "mine",
		"processId": "p", "streamStdoutStderr": true, "timeoutMs": 60000, "outputBytesCap": 64000}
}

// exec runs a program of the client and returns how it ended and what it wrote.
func (p *peer) exec(params object) (code any, stdout, stderr string, full bool) {
	p.t.Helper()
	before := len(p.of("command/exec/outputDelta"))
	code = p.ok("command/exec", params)["exitCode"]
	written := map[any]string{}
	for _, d := range p.of("command/exec/outputDelta")[before:] {
		data, err := base64.StdEncoding.DecodeString(d["deltaBase64"].(string))
		if err != nil || d["processId"] != params["processId"] {
			p.t.Errorf("%v: %v", d, err)
		}
		written[d["stream"]] += string(data)
		full = full || d["capReached"].(bool)
	}
	return code, written["stdout"], written["stderr"], full
}

// runs reports whether a process has a text in its command line and a folder as its own.
func runs(cwd, text string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, _ := os.ReadFile(path) // a process that is gone has none
		folder, _ := os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		if strings.Contains(string(line), text) && folder == cwd {
			return true
		}
	}
	return false
}
