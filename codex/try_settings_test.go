package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// judge plays the part of the preflight in which Codex judges the settings: it refuses the
// thread, or a turn that has settings, with these messages. An empty one refuses nothing.
func (p *fakeServer) judge(thread, turn string) {
	const notFound = "thread not found: " + nobody
	m := p.expect("thread/start")
	if !strings.Contains(string(m.Params), `"ephemeral":true`) {
		p.t.Errorf("the thread is not ephemeral: %s", m.Params)
	}
	if thread != "" {
		p.refuse(m, -32600, thread)
		return
	}
	p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
	if turn == "" {
		turn = notFound
	}
	for _, message := range []string{turn, notFound} {
		m := p.expect("turn/start")
		if !strings.Contains(string(m.Params), nobody) {
			p.t.Errorf("a turn may begin: %s", m.Params)
		}
		p.refuse(m, -32600, message)
	}
}

func TestCodexItselfJudgesTheSettings(t *testing.T) {
	t.Parallel()
	const unknown = "Invalid request: unknown variant `on-failure`, expected one of `untrusted`, `never`"
	for name, test := range map[string]struct {
		thread, turn string
		config       Config
		want         string // in the error; empty for none
	}{
		"it takes them":               {"", "", Config{ApprovalPolicy: json.RawMessage(`"never"`)}, ""},
		"it refuses the thread":       {unknown, "", Config{ApprovalPolicy: json.RawMessage(`"on-failure"`)}, "correct codex.approval_policy, what codex.command"},
		"it refuses the turn":         {"", unknown, Config{TurnSandboxPolicy: json.RawMessage(`{"type":"read-only"}`)}, "correct codex.turn_sandbox_policy, what codex.command"},
		"it refuses its own settings": {"failed to load configuration", "", Config{}, "correct what codex.command and"},
	} {
		_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.unknown("account/read")
			p.unknown("command/exec")
			p.judge(test.thread, test.turn)
			p.drain()
		}), Options{Config: test.config})
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAServerThatJudgesNothingBeforeATurnPasses(t *testing.T) {
	t.Parallel()
	_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
		p.hello()
		p.unknown("account/read")
		p.unknown("command/exec")
		p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
		p.drain()
	}), Options{})
	if err != nil {
		t.Error(err)
	}
}

func TestAnEffortThatTheModelDoesNotHaveIsFound(t *testing.T) {
	t.Parallel()
	const models = `{"data":[{"id":"gpt-5","model":"gpt-5","supportedReasoningEfforts":[{"reasoningEffort":"max"}]},
		{"id":"gpt-6","model":"gpt-6","isDefault":true,"supportedReasoningEfforts":[{"reasoningEffort":"low"},{"reasoningEffort":"high"}]},
		{"id":"old","model":"old"}]}`
	for _, test := range []struct {
		model, effort string
		wrong         bool
	}{
		{"gpt-6", "low", false}, {"gpt-6", "turbo", true}, {"gpt-5", "low", true}, {"gpt-5", "max", false},
		{"", "high", false}, {"", "max", true}, {"old", "anything", false}, {"gpt-6", "", false},
	} {
		_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			p.reply(p.expect("account/read"), `{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}`)
			p.reply(p.expect("model/list"), strings.ReplaceAll(models, "\n", ""))
			if !test.wrong {
				p.unknown("command/exec")
				p.judge("", "")
			}
			p.drain()
		}), Options{Config: Config{Choice: Choice{Model: test.model, Effort: test.effort}}})
		if errors.Is(err, ErrSettings) != test.wrong || !test.wrong && err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
