package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestIDsOfOlderServersAreUnderstood(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, Options{}, func(p *fakeServer) {
		p.reply(p.expect("initialize"), `{"serverInfo":{"name":"codex"}}`)
		p.expect("initialized")
		p.unknown("config/read")
		p.reply(p.expect("thread/start"), `{"id":"old-thread","activePermissionProfile":{"id":":read-only"}}`)
		p.reply(p.expect("turn/start"), `{"id":"old-turn"}`)
		p.send(`{"method":"turn/completed"}`)
		p.drain()
	})
	turn, err := s.Turn(t.Context(), Input{Text: "go"})
	if err != nil || turn.ID != "old-turn" || s.ThreadID() != "old-thread" {
		t.Errorf("turn %q of %q, %v", turn.ID, s.ThreadID(), err)
	}
}

func TestAThreadIsResumed(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, Options{Resume: "thread-1", Cwd: "/workspace", Tools: []Tool{echoTool}}, func(p *fakeServer) {
		p.hello()
		m := p.expect("thread/resume")
		want := `{"approvalPolicy":` + compact(t, json.RawMessage(guardedApproval)) + `,"config":` + settings(t, Options{}, "") +
			`,"cwd":"/workspace","excludeTurns":true,"threadId":"thread-1"}`
		if diff := cmp.Diff(want, compact(t, m.Params)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.drain()
	})
	if !s.Resumed() || s.ThreadID() != "thread-1" {
		t.Errorf("resumed %v, thread %q", s.Resumed(), s.ThreadID())
	}
}

func TestAThreadThatCannotBeResumedIsReplaced(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*fakeServer, received){
		"no rollout":    func(p *fakeServer, m received) { p.refuse(m, -32600, "no rollout found for thread id gone") },
		"active writer": func(p *fakeServer, m received) { p.refuse(m, -32600, "already has an active writer") },
		"no id":         func(p *fakeServer, m received) { p.reply(m, `{}`) },
		"silence":       func(*fakeServer, received) {},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, j := begin(t, Options{Resume: "gone"}, func(p *fakeServer) {
				p.hello()
				refuse(p, p.expect("thread/resume"))
				p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
				p.drain()
			})
			if s.Resumed() || s.ThreadID() != "thread-1" {
				t.Errorf("%s: resumed %v, thread %q", name, s.Resumed(), s.ThreadID())
			}
			if events := j.all(); len(events) != 1 || !strings.HasPrefix(events[0].Summary, "starting a new thread: ") {
				t.Errorf("%s: %+v", name, events)
			}
			s.Close()
		})
	}
}

// TestAnOlderServerIsRefused has servers that do not know a part of the posture. No session begins
// with less of it.
func TestAnOlderServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refusal, want string
	}{
		"tools":    {"thread/start.dynamicTools requires experimentalApi capability", "tools of the host (dynamicTools)"},
		"policy":   {"Invalid request: unknown variant `granular`, expected one of `untrusted`", "granular approval policies"},
		"profiles": {"failed to load configuration: unknown field `permissions`", "permission profiles"},
		"settings": {"unknown field `features.goals`", "the setting features.goals"},
	} {
		j := &eventLog{}
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.refuse(p.expect("thread/start"), -32600, test.refusal)
			if m, ok := p.next(); ok {
				t.Errorf("%s: then %s", name, m.Method)
			}
		}), Options{Events: j.add, Tools: []Tool{echoTool}})
		if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "install Codex 0.169 or later: this one does not know "+test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if j.count(StartupFailed) != 1 || j.count(Warning) != 0 {
			t.Errorf("%s: %+v", name, j.all())
		}
	}
}

func TestAnotherRefusalFailsTheOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy  json.RawMessage
		refusal string
	}{
		"broken configuration":    {nil, "failed to load configuration"},
		"the workflow's own wish": {json.RawMessage(`{"granular":{}}`), "unknown variant `granular`"},
	} {
		j := &eventLog{}
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.refuse(p.expect("thread/start"), -32600, test.refusal)
			if m, ok := p.next(); ok {
				t.Errorf("%s: then %s", name, m.Method)
			}
		}), Options{Events: j.add, Config: Config{ApprovalPolicy: test.policy}})
		refused, ok := errors.AsType[*ResponseError](err)
		if !ok || !errors.Is(err, ErrResponse) || refused.Message != test.refusal || refused.Code != -32600 {
			t.Errorf("%s: %v", name, err)
		}
		if j.count(StartupFailed) != 1 {
			t.Errorf("%s: %+v", name, j.all())
		}
	}
}
