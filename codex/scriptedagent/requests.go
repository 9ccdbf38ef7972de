package scriptedagent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// callTool asks the client to run one of the tools that it offered. A call that fails
// is reported in a message and does not end the turn, because a model would get the
// failure as an answer.
func callTool(ctx context.Context, t *turn, args arguments) error {
	name, input := args[0], json.RawMessage(args[1])
	if !t.thread.offers(name) {
		t.say(ctx, "unsupported call: "+name)
		return nil
	}
	item := object{"type": "dynamicToolCall", "id": t.itemID("call"), "namespace": nil, "tool": name,
		"arguments": input, "status": "inProgress", "contentItems": nil, "success": nil, "durationMs": nil}
	end := t.item(ctx, item)
	t.said = nil
	began := time.Now()
	_, answers := t.agent.wire.ask(ctx, "item/tool/call", object{"threadId": t.thread.ID, "turnId": t.id,
		"callId": item["id"], "namespace": nil, "tool": name, "arguments": input})
	answer, err := await(ctx, t, answers)
	if err != nil {
		return err
	}
	reply := readToolReply(answer)
	item["success"], item["contentItems"] = reply.Success, reply.ContentItems
	item["durationMs"] = time.Since(began).Milliseconds()
	item["status"] = "completed"
	if !*reply.Success {
		item["status"] = "failed"
	}
	end(ctx)
	if !*reply.Success {
		t.say(ctx, name+" failed: "+reply.text())
	}
	return nil
}

// moveIssue calls issue_update with the new state.
func moveIssue(ctx context.Context, t *turn, args arguments) error {
	input, err := json.Marshal(object{"state": args[0]})
	if err != nil {
		return err
	}
	return callTool(ctx, t, arguments{"issue_update", string(input)})
}

func (t *thread) offers(tool string) bool {
	return slices.ContainsFunc(t.Tools, func(d dynamicTool) bool { return d.Name == tool })
}

// toolReply is a client's answer to a tool call. Both fields are required.
type toolReply struct {
	Success      *bool
	ContentItems []contentItem
}

type contentItem struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func readToolReply(answer message) toolReply {
	if answer.Error != nil {
		return failedReply("dynamic tool request failed")
	}
	var r toolReply
	if json.Unmarshal(answer.Result, &r) != nil || r.Success == nil || r.ContentItems == nil {
		return failedReply("dynamic tool response was invalid")
	}
	return r
}

func failedReply(text string) toolReply {
	return toolReply{Success: new(bool), ContentItems: []contentItem{{"inputText", text}}}
}

func (r toolReply) text() string {
	var texts []string
	for _, c := range r.ContentItems {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// askApproval runs a command if the client approves it. As in Codex the turn continues
// without the command, unless the answer is cancel, and an answer that cannot be read
// makes the command a failed one.
func askApproval(ctx context.Context, t *turn, args arguments) error {
	command := args[0]
	t.waiting(ctx, "waitingOnApproval")
	item := t.commandItem(command)
	end := t.item(ctx, item)
	t.said = nil
	answer, err := t.ask(ctx, "item/commandExecution/requestApproval", object{
		"kind": "command", "itemId": item["id"], "startedAtMs": item["startedAtMs"], "environmentId": "local",
		"command": item["command"], "cwd": item["cwd"], "commandActions": item["commandActions"],
		"proposedExecpolicyAmendment": nil,
		"availableDecisions":          []string{"accept", "acceptForSession", "decline", "cancel"}})
	if err != nil {
		return err
	}
	var reply struct{ Decision json.RawMessage }
	json.Unmarshal(answer.Result, &reply) // what cannot be read is not an answer
	switch string(reply.Decision) {
	case `"accept"`, `"acceptForSession"`:
		t.waiting(ctx)
		return t.execute(ctx, command, item, end)
	case `"decline"`:
		item["status"] = "declined"
	case `"cancel"`:
		item["status"] = "declined"
		err = errInterrupted
	default:
		item["status"] = "failed"
	}
	end(ctx)
	t.waiting(ctx)
	return err
}

// askQuestion asks the client a question and repeats the answer in a message.
func askQuestion(ctx context.Context, t *turn, args arguments) error {
	t.waiting(ctx, "waitingOnUserInput")
	answer, err := t.ask(ctx, "item/tool/requestUserInput", object{
		"itemId": t.itemID("call"), "isBlocking": false, "autoResolutionMs": nil,
		"questions": []object{{"id": "q1", "header": "Question", "question": args[0],
			"isOther": true, "isSecret": false, "options": nil}}})
	if err != nil {
		return err
	}
	t.waiting(ctx)
	var reply struct {
		Answers map[string]struct{ Answers []string }
	}
	json.Unmarshal(answer.Result, &reply) // what cannot be read is not an answer
	if answers := reply.Answers["q1"].Answers; len(answers) > 0 {
		t.say(ctx, "The answer is: "+strings.Join(answers, ", "))
	} else {
		t.say(ctx, "There is no answer.")
	}
	return nil
}

// ask sends a request about the turn, waits for the answer and notifies the client that
// the request is resolved.
func (t *turn) ask(ctx context.Context, method string, params object) (message, error) {
	params["threadId"], params["turnId"] = t.thread.ID, t.id
	id, answers := t.agent.wire.ask(ctx, method, params)
	answer, err := await(ctx, t, answers)
	if err == nil {
		t.notify(ctx, "serverRequest/resolved", object{"requestId": id})
	}
	return answer, err
}

// waiting notifies the client of what the turn waits for; no flags mean nothing.
func (t *turn) waiting(ctx context.Context, flags ...string) {
	t.notify(ctx, "thread/status/changed", object{"status": object{
		"type": "active", "activeFlags": append([]string{}, flags...)}})
}
