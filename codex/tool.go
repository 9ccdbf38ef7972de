package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	toolTimeout         = time.Minute
	maxConcurrentTools  = 8         // calls that run at the same time; others wait
	maxToolText         = 256 << 10 // bytes of an answer; the rest is cut off
	maxRefusedToolCalls = 100       // refused calls after which the turn is aborted
)

// Tool is an action of the host that the agent may call (SPEC §10.5). A thread keeps
// the tools that it was started with.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // JSON Schema of the arguments; this package does not check it
	Timeout     time.Duration   // time for one call; not positive means one minute
	// Call runs the tool and returns the answer for the model, which may be the
	// description of a failure. The arguments are one JSON value. Call must return
	// when ctx is done. Several calls may run at the same time.
	Call func(ctx context.Context, arguments json.RawMessage) (text string, ok bool)
}

// callTool answers item/tool/call. It runs outside the read loop.
func (r *requests) callTool(ctx context.Context, m message) (any, *refusal) {
	name := textMember(m.Params, "tool", "name")
	at := slices.IndexFunc(r.o.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 || r.isReview(m) { // a copy of our thread keeps its tools
		r.emit(Event{Kind: UnsupportedToolCall, Method: *m.Method, Summary: "no tool is called " + name, Progress: true})
		return answerText(fmt.Sprintf("unsupported_tool_call: there is no tool %q", name), false), nil
	}
	select {
	case r.toolSlots <- struct{}{}:
		defer func() { <-r.toolSlots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return answerText("the session is over", false), nil
	}
	r.emit(Event{Kind: Notification, Method: *m.Method, Summary: "calling " + name, Doing: "calling " + name, Progress: true})
	return answerText(r.o.Tools[at].call(ctx, toolArguments(m.Params))), nil
}

// refuseTool refuses a call beyond codex.max_tool_calls, on the read loop, so that a
// flood of calls starts no goroutines. The agent may still finish without the tools.
// If it makes maxRefusedToolCalls further calls, as a script in a loop does, the turn
// is aborted.
func (r *requests) refuseTool(context.Context, message) (any, *refusal) {
	bound := r.o.Config.MaxToolCalls
	switch refused := r.toolCalls - bound; {
	case refused == 1:
		r.warn(fmt.Sprintf("the session has made its %d tool calls (codex.max_tool_calls): more are refused", bound))
	case refused >= maxRefusedToolCalls:
		r.mu.Lock()
		if r.turn != nil {
			r.turn.abortLocked(fmt.Errorf("%w: the agent made %d tool calls and continues after %d refusals: raise codex.max_tool_calls if it needs more",
				ErrToolLimit, bound, maxRefusedToolCalls))
		}
		r.mu.Unlock()
	}
	return answerText(fmt.Sprintf("tool_call_limit: this session has made its %d tool calls (codex.max_tool_calls): finish without the tools", bound), false), nil
}

// call runs the tool for at most its timeout. A panic of the tool is returned as its
// failure.
func (t *Tool) call(ctx context.Context, arguments json.RawMessage) (text string, ok bool) {
	limit := t.Timeout
	if limit <= 0 {
		limit = toolTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			text, ok = fmt.Sprintf("%s failed: %v", t.Name, p), false
		}
	}()
	text, ok = t.Call(ctx, arguments)
	if !ok && ctx.Err() != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s was stopped after at most %v. %s", t.Name, limit, text))
	}
	return text, ok
}

// toolArguments returns the arguments of a call, or null if there are none. It
// unwraps arguments that a model wrapped into a string.
func toolArguments(params json.RawMessage) json.RawMessage {
	arguments := member(params, "arguments")
	if arguments == nil {
		return json.RawMessage("null")
	}
	var wrapped string
	if json.Unmarshal(arguments, &wrapped) == nil && members(json.RawMessage(wrapped)) != nil {
		return json.RawMessage(wrapped)
	}
	return arguments
}

// answerText returns text as the answer to a call, cut to maxToolText.
func answerText(s string, ok bool) map[string]any {
	return map[string]any{"success": ok, "contentItems": []map[string]string{{"type": "inputText", "text": text.Cut(s, maxToolText, "")}}}
}
