package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The table has the requests of Codex 0.169 and their answers. The tools and the clock
// have tests of their own.
func TestEveryRequestOfTheProtocolIsAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, params string
		want           string // the result, or the code and message of a refusal
		kind           Kind
		summary        string
	}{
		{"item/commandExecution/requestApproval", `{"kind":"command","command":"/bin/bash -lc 'rm -rf build'","commandActions":[{"type":"unknown","command":"rm -rf build"}],"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["rm"]}},"acceptForSession"]}`, `{"decision":"accept"}`, ApprovalAutoApproved, "approved: rm -rf build"},
		{"item/commandExecution/requestApproval", `{}`, `{"decision":"accept"}`, ApprovalAutoApproved, "approved: a change"},
		{"item/commandExecution/requestApproval", `"?"`, `{"decision":"accept"}`, ApprovalAutoApproved, "approved: a change"},
		{"item/fileChange/requestApproval", `{"reason":null,"grantRoot":null}`, `{"decision":"accept"}`, ApprovalAutoApproved, "approved: a change"},
		{"item/fileChange/requestApproval", `{"reason":"outside\nof it"}`, `{"decision":"accept"}`, ApprovalAutoApproved, "approved: outside of it"},
		{"item/permissions/requestApproval", `{"permissions":{"network":{"enabled":true}}}`, `{"permissions":{},"scope":"turn"}`, Notification, "refused: more permissions"},
		{"account/chatgptAuthTokens/refresh", `{}`, `-32601 this client has no ChatGPT login to refresh`, OtherMessage, "refused: this client has no ChatGPT login to refresh"},
		{"attestation/generate", `{}`, `-32601 this client cannot attest anything`, OtherMessage, "refused: this client cannot attest anything"},
		{"applyPatchApproval", `{"conversationId":"c","fileChanges":{},"reason":"why"}`, `{"decision":"approved"}`, ApprovalAutoApproved, "approved: why"},
		{"execCommandApproval", `{"conversationId":"c","command":["git","status"]}`, `{"decision":"approved"}`, ApprovalAutoApproved, "approved: a change"},
		{"brand/new", `{}`, `-32601 unsupported: brand/new`, OtherMessage, "refused: unsupported: brand/new"},
		{"", `{}`, `-32601 unsupported: `, OtherMessage, "refused: unsupported: "},
	} {
		for _, owner := range []string{"thread-1", "child"} {
			var params map[string]any
			raw := test.params
			if json.Unmarshal([]byte(raw), &params) == nil {
				params["threadId"] = owner
				text, _ := json.Marshal(params)
				raw = string(text)
			}
			var got string
			_, j, _, err := runTurnAfter(t, func(p *fakeServer) {
				p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
				p.send(fmt.Sprintf(`{"id":0,"method":%q,"params":%s}`, test.method, raw))
				m, _ := p.next()
				got = answerOf(t, m)
				p.send(completed)
				p.drain()
			})
			if err != nil {
				t.Errorf("%s: %v", test.method, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.method, diff)
			}
			if !j.says(test.kind, test.summary) && test.summary != "refused: unsupported: " {
				t.Errorf("%s: no event %s %q in %+v", test.method, test.kind, test.summary, j.all())
			}
		}
	}
}

func answerOf(t *testing.T, m received) string {
	if string(m.ID) != "0" {
		t.Errorf("answered %s", m.ID)
	}
	if m.Error != nil {
		return fmt.Sprintf("%d %s", m.Error.Code, m.Error.Message)
	}
	return compact(t, m.Result)
}

func TestTheTableHasTheRequestsOfTheProtocol(t *testing.T) {
	t.Parallel()
	answers := newRequests(&core{}).handlers
	for _, method := range []string{
		"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/tool/requestUserInput",
		"mcpServer/elicitation/request", "item/permissions/requestApproval", "item/tool/call",
		"account/chatgptAuthTokens/refresh", "attestation/generate", "currentTime/read", "applyPatchApproval", "execCommandApproval",
	} {
		if _, ok := answers[method]; !ok {
			t.Errorf("no row for %s", method)
		}
		delete(answers, method)
	}
	for method := range answers {
		t.Errorf("%s is not in the protocol", method)
	}
}

func TestARequestForTheTimeIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got, want string
		runTurnAfter(t, func(p *fakeServer) {
			p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
			p.send(`{"id":0,"method":"currentTime/read","params":{"threadId":"thread-1"}}`)
			m, _ := p.next()
			got, want = answerOf(t, m), fmt.Sprintf(`{"currentTimeAt":%d}`, time.Now().Unix())
			p.send(completed)
			p.drain()
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestATurnThatNeedsAPersonFailsWithTheQuestions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, params string
		answer         string
		want           []string
	}{
		"questions": {"item/tool/requestUserInput",
			`{"threadId":"thread-1","questions":[{"id":"q1","question":"Which one?","options":[{"label":"A","description":"a"},{"label":"B"}]},{"id":"q2","question":"Why?","options":null}]}`,
			`{"answers":{}}`, []string{"Which one? (A / B)", "Why?"}},
		"a sub-agent's": {"item/tool/requestUserInput", `{"threadId":"child","questions":[{"question":"Why?"}]}`, `{"answers":{}}`, []string{"Why?"}},
		"older":         {"item/tool/requestUserInput", `{"tool":"browser","question":"Why?"}`, `{"answers":{}}`, []string{"Why?"}},
		"unreadable":    {"item/tool/requestUserInput", `[]`, `{"answers":{}}`, []string{"the agent wants input and does not say which"}},
		"elicitation":   {"mcpServer/elicitation/request", `{"serverName":"db","mode":"form","message":"Password?","requestedSchema":{}}`, `{"action":"decline"}`, []string{"db: Password?"}},
		"verification":  {"mcpServer/elicitation/request", `{"serverName":"db","mode":"openai/userVerification","title":"T","description":"D","challenge":"x"}`, `{"action":"decline"}`, []string{"db: D"}},
		"nothing said":  {"mcpServer/elicitation/request", `{}`, `{"action":"decline"}`, []string{"a server of the agent's: wants input"}},
		"a checkpoint":  {"item/commandExecution/requestApproval", `{"kind":"humanCommand","command":"deploy"}`, `{"decision":"decline"}`, []string{"may this run? deploy"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, j, _, err := runTurnAfter(t, func(p *fakeServer) {
				p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
				p.send(fmt.Sprintf(`{"id":0,"method":%q,"params":%s}`, test.method, test.params))
				var answered, interrupted bool
				for range 2 { // in either order
					switch m, _ := p.next(); m.Method {
					case "turn/interrupt":
						interrupted = true
						p.reply(m, `{}`)
					case "":
						answered = true
						if diff := cmp.Diff(test.answer, answerOf(t, m)); diff != "" {
							t.Errorf("%s (-want +got):\n%s", name, diff)
						}
					}
				}
				if !answered || !interrupted {
					t.Errorf("%s: answered %v, interrupted %v", name, answered, interrupted)
				}
				p.send(completed) // without an answer the turn continues
				p.drain()
			})
			asked, ok := errors.AsType[*InputRequired](err)
			if !ok || !errors.Is(err, ErrInputRequired) {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(test.want, asked.Questions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			i := slices.IndexFunc(j.all(), func(e Event) bool { return e.Kind == TurnInputRequired })
			if j.count(TurnInputRequired) != 1 || !strings.HasPrefix(j.all()[i].Summary, "the agent asks: "+test.want[0]) {
				t.Errorf("%s: %+v", name, j.all())
			}
		})
	}
}

func TestQuestionsThatTheAgentDoesNotWaitForComeWithTheTurn(t *testing.T) {
	t.Parallel()
	item := func(method, questions string) string {
		return `{"method":"` + method + `","params":{"threadId":"thread-1","turnId":"turn-1","item":{"type":"agentMessage","id":"1","text":"Which one?","delivery":"async","questions":` + questions + `}}}`
	}
	const ask = `[{"title":"Which one?","options":["A","B"]},{"title":"Why?"}]`
	_, _, turn, err := runTurn(t, Options{}, item("item/started", ask), item("item/completed", ask), item("item/completed", `null`), item("item/completed", `[]`), item("item/completed", `"?"`), completed)
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Which one? (A / B)", "Why?"}, turn.Questions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
