package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// requestHandler is how a request of the server is answered: by a result or a refusal.
type requestHandler struct {
	handle     func(ctx context.Context, m message) (any, *refusal)
	isToolCall bool // a call of a tool: off the read loop, and there is a bound on how many
}

// requestHandlers has a row for each request of the protocol (SPEC §10.5). What is not
// in it is refused.
//
// Commands and changes are accepted one by one. Never for the session and never
// with a rule: what Codex remembers that way it later runs without a sandbox.
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

// answerRequest answers a request; on the read loop.
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

func refuseWith(why string) func(context.Context, message) (any, *refusal) {
	return func(context.Context, message) (any, *refusal) {
		return nil, &refusal{Code: codeUnsupported, Message: why}
	}
}

// decision answers an approval.
type decision struct {
	Decision string `json:"decision"`
}

func (s *Session) approve(word string) func(context.Context, message) (any, *refusal) {
	return func(_ context.Context, m message) (any, *refusal) {
		what := cmp.Or(approvalCommand(m.Params), text(m.Params, "reason"), "a change")
		s.emit(Event{Kind: ApprovalAutoApproved, Method: *m.Method, Summary: "approved: " + what, Progress: true})
		return decision{word}, nil
	}
}

// approveCommand accepts a command, unless the server's administrator wants a
// person to see it.
func (s *Session) approveCommand(ctx context.Context, m message) (any, *refusal) {
	if text(m.Params, "kind") == "humanCommand" {
		s.blockTurn(m, "may this run? "+approvalCommand(m.Params))
		return decision{"decline"}, nil
	}
	return s.approve("accept")(ctx, m)
}

func (s *Session) grantNothing(_ context.Context, m message) (any, *refusal) {
	s.emit(Event{Kind: Notification, Method: *m.Method, Summary: "refused: more permissions", Progress: true})
	return map[string]any{"permissions": struct{}{}, "scope": "turn"}, nil
}

// inputRequired answers a question with nothing, and the turn fails with it.
func (s *Session) inputRequired(_ context.Context, m message) (any, *refusal) {
	var p struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
		Question string // of older servers
	}
	_ = json.Unmarshal(m.Params, &p) // what cannot be read is still a question
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

// elicitation declines what a server of the agent's wants from a person.
func (s *Session) elicitation(_ context.Context, m message) (any, *refusal) {
	server := cmp.Or(text(m.Params, "servername"), "a server of the agent's")
	s.blockTurn(m, server+": "+cmp.Or(text(m.Params, "message", "description", "title"), "wants input"))
	return map[string]string{"action": "decline"}, nil
}

// blockTurn lets the turn in progress fail for want of a person.
func (s *Session) blockTurn(m message, questions ...string) {
	s.emit(Event{Kind: Notification, Method: *m.Method, Summary: "asks a person: " + strings.Join(questions, "; "), Progress: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.blockLocked(questions)
	}
}

func currentTime(context.Context, message) (any, *refusal) {
	return map[string]int64{"currentTimeAt": time.Now().Unix()}, nil
}
