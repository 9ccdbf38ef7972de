package scriptedagent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex/codextest"
)

var commentTool = object{"dynamicTools": []object{{"type": "function", "name": "issue_comment",
	"description": "Comments.", "inputSchema": object{"type": "object"}}}}

func exchanges() []exchange {
	return []exchange{{
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
			equal(t, "tokens", [2]float64{100, 20}, p.spent())
			equal(t, "order", []string{
				"thread/started", "thread/name/updated",
				"thread/status/changed", "turn/started", "item/started", "item/completed", // what the user said
				"item/started", "item/agentMessage/delta", "item/completed",
				"thread/tokenUsage/updated", "account/rateLimits/updated", "thread/readState/changed",
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
			equal(t, "tokens", [2]float64{200, 40}, p.spent())
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
		name:    "a tool that succeeds",
		prompt:  "- [ ] Call `issue_comment` with `{\"body\":\"hi\"}`",
		replies: []codextest.Reply{calling("issue_comment", `{"body":"hi"}`), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			holdTool(t, s, object{"result": object{"success": true, "contentItems": []object{{"type": "inputText", "text": "ok"}}}},
				"completed", "ok")
		},
	}, {
		name:    "a tool that fails",
		prompt:  "- [ ] Call `issue_comment` with `{\"body\":\"hi\"}`",
		replies: []codextest.Reply{calling("issue_comment", `{"body":"hi"}`), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			holdTool(t, s, object{"result": object{"success": false, "contentItems": []object{{"type": "inputText", "text": "no"}}}},
				"failed", "no")
		},
	}, {
		name:    "a tool that is refused",
		prompt:  "- [ ] Call `issue_comment` with `{\"body\":\"hi\"}`",
		replies: []codextest.Reply{calling("issue_comment", `{"body":"hi"}`), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			holdTool(t, s, object{"error": object{"code": -32601, "message": "no"}}, "failed", "dynamic tool request failed")
		},
	}, {
		name:    "a tool with a malformed result",
		prompt:  "- [ ] Call `issue_comment` with `{\"body\":\"hi\"}`",
		replies: []codextest.Reply{calling("issue_comment", `{"body":"hi"}`), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			holdTool(t, s, object{"result": object{"success": false, "error": "no"}}, "failed", "dynamic tool response was invalid")
		},
	}, {
		name:    "an approval that is given",
		prompt:  "- [ ] Ask for approval of `touch made.txt`",
		replies: []codextest.Reply{running("touch made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			equal(t, "turn and item", []any{"completed", "completed"}, holdApproval(t, s, object{"result": object{"decision": "accept"}}))
			contents(t, s.cwd, "made.txt")
		},
	}, {
		name:    "an approval that is declined",
		prompt:  "- [ ] Ask for approval of `touch made.txt`",
		replies: []codextest.Reply{running("touch made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			equal(t, "turn and item", []any{"completed", "declined"}, holdApproval(t, s, object{"result": object{"decision": "decline"}}))
		},
	}, {
		name:    "an approval that is refused",
		prompt:  "- [ ] Ask for approval of `touch made.txt`",
		replies: []codextest.Reply{running("touch made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			equal(t, "turn and item", []any{"completed", "failed"}, holdApproval(t, s, object{"error": object{"code": -1, "message": "no"}}))
		},
	}, {
		name:    "an approval that cancels",
		prompt:  "- [ ] Ask for approval of `touch made.txt`",
		replies: []codextest.Reply{running("touch made.txt"), saying("Done.")},
		hold: func(t *testing.T, s stage) {
			equal(t, "turn and item", []any{"interrupted", "declined"}, holdApproval(t, s, object{"result": object{"decision": "cancel"}}))
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
			equal(t, "tokens of the first process", [2]float64{100, 20}, p.spent())
			equal(t, "status", "completed", p.turn(thread, "Go on.").Status)
			equal(t, "messages", []string{"Two."}, p.said())
			equal(t, "tool calls", 1, len(p.of("item/tool/call")))
		},
	}}
}

// holdTool runs a turn that calls a tool, and checks what becomes of the call.
func holdTool(t *testing.T, s stage, answer object, status, text string) {
	t.Helper()
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
}

func answerTools(p *peer, answer object) {
	p.answers["item/tool/call"] = func(object) object { return answer }
}

// holdApproval runs a turn that asks, and returns the status of the turn and of
// the command.
func holdApproval(t *testing.T, s stage, answer object) []any {
	t.Helper()
	p := s.hello()
	p.answers["item/commandExecution/requestApproval"] = func(object) object { return answer }
	end := p.turn(p.thread(s.cwd, object{"approvalPolicy": "untrusted"}), s.prompt)
	asked, item := p.first("item/commandExecution/requestApproval"), p.item("commandExecution")
	equal(t, "request", []any{item["id"], item["command"], s.cwd, "command"},
		[]any{asked["itemId"], asked["command"], asked["cwd"], asked["kind"]})
	equal(t, "resolved", 1, len(p.of("serverRequest/resolved")))
	if item["status"] != "completed" {
		if _, err := os.Stat(filepath.Join(s.cwd, "made.txt")); err == nil {
			t.Error("the command ran all the same")
		}
	}
	return []any{end.Status, item["status"]}
}
