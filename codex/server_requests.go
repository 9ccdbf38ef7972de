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

// requestHandlers returns the handler of each request of the protocol (SPEC §10.5).
// Requests without a handler are refused.
//
// Commands and changes are accepted one by one, never for the whole session and
// never with a rule, because Codex runs what it remembers that way without a sandbox.
func (s *Session) requestHandlers() map[string]requestHandler {
	return map[string]requestHandler{
		"item/commandExecution/requestApproval": {handle: s.approveCommand},
		"item/fileChange/requestApproval":       {handle: s.approve("accept")},
		"item/permissions/requestApproval":      {handle: s.grantNothing},
		"item/tool/requestUserInput":            {handle: s.inputRequired},
		"item/tool/call":                        {handle: s.callTool, isToolCall: true},
		"mcpServer/elicitation/request":         {handle: s.elicitation},
		"account/chatgptAuthTokens/refresh":     {handle: refuseWith("this client has no ChatGPT login to refresh")},
		"attestation/generate":                  {handle: refuseWith("this client cannot attest anything")},
		"currentTime/read":                      {handle: currentTime},
		"applyPatchApproval":                    {handle: s.approve("approved")}, // older servers
		"execCommandApproval":                   {handle: s.approve("approved")},
	}
}

// answerRequest answers a request of the server, on the read loop except for tool
// calls.
func (s *Session) answerRequest(ctx context.Context, m message) {
	row, known := s.handlers[*m.Method]
	if !known {
		row.handle = refuseWith("unsupported: " + *m.Method)
	}
	respond := func() {
		result, refused := row.handle(ctx, m)
		if refused != nil {
			s.emit(Event{Kind: OtherMessage, Method: *m.Method, Summary: "refused: " + refused.Message, Progress: true})
		}
		s.conn.sendReply(reply{ID: m.ID, Result: result, Error: refused})
	}
	if row.isToolCall {
		if s.toolCalls++; s.toolCalls <= s.o.Config.MaxToolCalls {
			s.conn.wg.Go(respond)
			return
		}
		row.handle = s.refuseTool
	}
	respond()
}

// refuseWith returns a handler that refuses every request for one reason.
func refuseWith(why string) func(context.Context, message) (any, *refusal) {
	return func(context.Context, message) (any, *refusal) {
		return nil, &refusal{Code: codeUnsupported, Message: why}
	}
}

// decision is the answer to a request for approval.
type decision struct {
	Decision string `json:"decision"`
}

// approve returns a handler that accepts, with the word that the request expects.
func (s *Session) approve(word string) func(context.Context, message) (any, *refusal) {
	return func(_ context.Context, m message) (any, *refusal) {
		what := cmp.Or(approvalCommand(m.Params), textMember(m.Params, "reason"), "a change")
		s.emit(Event{Kind: ApprovalAutoApproved, Method: *m.Method, Summary: "approved: " + what, Progress: true})
		return decision{word}, nil
	}
}

// approveCommand accepts a command, unless the server's administrator requires that
// a person approves it.
func (s *Session) approveCommand(ctx context.Context, m message) (any, *refusal) {
	if textMember(m.Params, "kind") == "humanCommand" {
		s.blockTurn(m, "may this run? "+approvalCommand(m.Params))
		return decision{"decline"}, nil
	}
	return s.approve("accept")(ctx, m)
}

// grantNothing refuses a request for more permissions.
func (s *Session) grantNothing(_ context.Context, m message) (any, *refusal) {
	s.emit(Event{Kind: Notification, Method: *m.Method, Summary: "refused: more permissions", Progress: true})
	return map[string]any{"permissions": struct{}{}, "scope": "turn"}, nil
}

// inputRequired gives questions an empty answer and makes the turn fail with them.
func (s *Session) inputRequired(_ context.Context, m message) (any, *refusal) {
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
	s.blockTurn(m, questions...)
	return map[string]any{"answers": struct{}{}}, nil
}

// elicitation declines a request of an MCP server for input from a person, and makes
// the turn fail with it.
func (s *Session) elicitation(_ context.Context, m message) (any, *refusal) {
	server := cmp.Or(textMember(m.Params, "servername"), "a server of the agent's")
	s.blockTurn(m, server+": "+cmp.Or(textMember(m.Params, "message", "description", "title"), "wants input"))
	return map[string]string{"action": "decline"}, nil
}

// blockTurn makes the turn in progress fail with questions that only a person can
// answer.
func (s *Session) blockTurn(m message, questions ...string) {
	asks := "asks a person: " + strings.Join(questions, "; ")
	s.emit(Event{Kind: Notification, Method: *m.Method, Summary: asks, Doing: asks, Progress: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.blockLocked(questions)
	}
}

// currentTime answers with the time of the host.
func currentTime(context.Context, message) (any, *refusal) {
	return map[string]int64{"currentTimeAt": time.Now().Unix()}, nil
}
