package codextest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// callTool has the client run one of the tools that it offered. A call that
// does not succeed is told and does not end the turn: a model would be told.
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

// toolReply is a client's answer to a tool call; both fields are required.
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
