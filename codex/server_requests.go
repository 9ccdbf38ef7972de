package codex

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// requestHandler answers one kind of request of the server, with a result or a
// refusal.
type requestHandler struct {
	handle     func(ctx context.Context, m message) (any, *refusal)
	isToolCall bool // runs outside the read loop, and counts towards Config.MaxToolCalls
}

// requests answers the requests of the server, of which each gets one answer.
type requests struct {
	*core
	handlers  map[string]requestHandler
	toolSlots chan struct{} // one for each tool call that runs
	toolCalls int           // made so far; only the read loop uses it
}

func newRequests(c *core) *requests {
	r := &requests{core: c, toolSlots: make(chan struct{}, maxConcurrentTools)}
	r.handlers = r.allHandlers()
	return r
}

// allHandlers returns the handler of each request of the protocol (SPEC §10.5).
// Requests without a handler are refused.
//
// Commands and changes are accepted one by one, never for the whole session and never with a
// rule, because Codex runs commands that it remembers without a sandbox.
func (r *requests) allHandlers() map[string]requestHandler {
	return map[string]requestHandler{
		"item/commandExecution/requestApproval": {handle: r.approveCommand},
		"item/fileChange/requestApproval":       {handle: r.approve("accept")},
		"item/permissions/requestApproval":      {handle: r.grantNothing},
		"item/tool/requestUserInput":            {handle: r.inputRequired},
		"item/tool/call":                        {handle: r.callTool, isToolCall: true},
		"mcpServer/elicitation/request":         {handle: r.elicitation},
		"account/chatgptAuthTokens/refresh":     {handle: refuseWith("this client has no ChatGPT login to refresh")},
		"attestation/generate":                  {handle: refuseWith("this client cannot attest anything")},
		"currentTime/read": {handle: func(context.Context, message) (any, *refusal) {
			return map[string]int64{"currentTimeAt": time.Now().Unix()}, nil
		}},
		"applyPatchApproval":  {handle: r.approve("approved")}, // older servers
		"execCommandApproval": {handle: r.approve("approved")},
	}
}

// answer answers a request of the server, on the read loop except for tool calls.
func (r *requests) answer(ctx context.Context, m message) {
	row, known := r.handlers[*m.Method]
	if !known {
		row.handle = refuseWith("unsupported: " + *m.Method)
	}
	respond := func() {
		result, refused := row.handle(ctx, m)
		if refused != nil {
			r.emit(Event{Kind: OtherMessage, Method: *m.Method, Summary: "refused: " + refused.Message, Progress: true})
		}
		r.conn.sendReply(reply{ID: m.ID, Result: result, Error: refused})
	}
	if row.isToolCall {
		if r.toolCalls++; r.toolCalls <= r.o.Config.MaxToolCalls {
			r.conn.wg.Go(respond)
			return
		}
		row.handle = r.refuseTool
	}
	respond()
}

func refuseWith(why string) func(context.Context, message) (any, *refusal) {
	return func(context.Context, message) (any, *refusal) {
		return nil, &refusal{Code: codeUnsupported, Message: why}
	}
}

// approve returns a handler that accepts, with the word that the request expects.
func (r *requests) approve(word string) func(context.Context, message) (any, *refusal) {
	return func(_ context.Context, m message) (any, *refusal) {
		what := cmp.Or(approvalCommand(m.Params), textMember(m.Params, "reason"), "a change")
		r.emit(Event{Kind: ApprovalAutoApproved, Method: *m.Method, Summary: "approved: " + what, Progress: true})
		return map[string]string{"decision": word}, nil
	}
}

// approveCommand accepts a command, unless the server's administrator requires that
// a person approves it.
func (r *requests) approveCommand(ctx context.Context, m message) (any, *refusal) {
	if textMember(m.Params, "kind") == "humanCommand" {
		r.blockTurn(m, "may this run? "+approvalCommand(m.Params))
		return map[string]string{"decision": "decline"}, nil
	}
	return r.approve("accept")(ctx, m)
}

func (r *requests) grantNothing(_ context.Context, m message) (any, *refusal) {
	r.emit(Event{Kind: Notification, Method: *m.Method, Summary: "refused: more permissions", Progress: true})
	return map[string]any{"permissions": struct{}{}, "scope": "turn"}, nil
}

// inputRequired gives questions an empty answer and makes the turn fail with them.
func (r *requests) inputRequired(_ context.Context, m message) (any, *refusal) {
	var p struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
		Question string // sent by older servers
	}
	decodeLenient(m.Params, &p) // an unreadable question still blocks the turn
	var questions []string
	for _, q := range p.Questions {
		var options []string
		for _, o := range q.Options {
			options = append(options, o.Label)
		}
		questions = append(questions, formatQuestion(q.Question, options))
	}
	if len(questions) == 0 {
		questions = []string{cmp.Or(p.Question, "the agent wants input and does not say which")}
	}
	r.blockTurn(m, questions...)
	return map[string]any{"answers": struct{}{}}, nil
}

// elicitation declines a request of an MCP server for input from a person, and makes
// the turn fail with it.
func (r *requests) elicitation(_ context.Context, m message) (any, *refusal) {
	server := cmp.Or(textMember(m.Params, "servername"), "a server of the agent's")
	r.blockTurn(m, server+": "+cmp.Or(textMember(m.Params, "message", "description", "title"), "wants input"))
	return map[string]string{"action": "decline"}, nil
}

// blockTurn makes the turn in progress fail with questions that only a person can
// answer.
func (r *requests) blockTurn(m message, questions ...string) {
	asks := "asks a person: " + strings.Join(questions, "; ")
	r.emit(Event{Kind: Notification, Method: *m.Method, Summary: asks, Doing: asks, Progress: true})
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turnLocked(textMember(m.Params, "threadid", "conversationid")); t != nil {
		t.blockLocked(questions)
	}
}
