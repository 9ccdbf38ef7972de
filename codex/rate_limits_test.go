package codex

import (
	"errors"
	"testing"
)

const (
	chatGPT = `{"account":{"type":"chatgpt","email":"a@example.com","planType":"pro"},"requiresOpenaiAuth":true}`
	started = `{"turn":{"id":"turn-1"}}`
	usedUp  = `{"method":"turn/completed","params":{"turn":{"id":"turn-1","status":"failed","error":{"codexErrorInfo":"usageLimitExceeded"}}}}`
)

// check plays a server with a login of the given account, up to the end of Check.
func (p *fakeServer) check(account string) {
	p.handshake()
	p.reply(p.expect("account/read"), account)
	p.unknown("command/exec")
}

func TestTheLimitsOfTheAccountAreReadOnceTheFirstTurnHasStarted(t *testing.T) {
	t.Parallel()
	s, j := begin(t, Options{}, func(p *fakeServer) {
		p.check(chatGPT)
		p.reply(p.expect("turn/start"), started)
		p.reply(p.expect("account/rateLimits/read"), `{"rateLimits":{"limitId":"codex","primary":{"usedPercent":100,"resetsAt":2000}},"rateLimitsByLimitId":{}}`)
		p.send(usedUp)
		p.reply(p.expect("turn/start"), started)
		p.send(completed)
		p.drain()
	})
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Turn(t.Context(), Input{Text: "go"})
	if e, ok := errors.AsType[*TurnError](err); !ok || e.ResetsAt.Unix() != 2000 {
		t.Errorf("the turn does not know when the limit ends: %v", err)
	}
	if _, err := s.Turn(t.Context(), Input{Text: "go on"}); err != nil {
		t.Error(err) // a second question would be met by the answer to a turn/start
	}
	limits := 0
	for _, e := range j.all() {
		if e.RateLimits != nil {
			limits++
		}
	}
	if limits != 1 {
		t.Errorf("%d events with limits, want 1", limits)
	}
}

func TestAServerThatDoesNotAnswerForItsLimitsDelaysNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*fakeServer, received){
		"refused": func(p *fakeServer, m received) {
			p.refuse(m, -32600, "Invalid request: unknown variant `account/rateLimits/read`")
		},
		"without login": func(p *fakeServer, m received) {
			p.refuse(m, -32600, "chatgpt authentication required to read rate limits")
		},
		"silent": func(*fakeServer, received) {},
		"odd":    func(p *fakeServer, m received) { p.reply(m, `[]`) },
		"empty":  func(p *fakeServer, m received) { p.reply(m, `{"rateLimits":{"limitId":"codex","primary":null}}`) },
	} {
		s, j := begin(t, Options{}, func(p *fakeServer) {
			p.check(chatGPT)
			p.reply(p.expect("turn/start"), started)
			answer(p, p.expect("account/rateLimits/read"))
			p.send(completed)
			p.drain()
		})
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, e := range j.all() {
			if e.RateLimits != nil || e.Kind == Warning || e.Kind == Malformed {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

// An API key has no limits that can be read. A session without Check leaves reading
// them to the session of the tick that has checked.
func TestLimitsAreNotReadWhereThereAreNone(t *testing.T) {
	t.Parallel()
	for name, account := range map[string]string{
		"an API key":         `{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}`,
		"another provider":   `{"account":{"type":"chatgpt"},"requiresOpenaiAuth":false}`,
		"nothing is checked": "",
	} {
		s, _ := begin(t, Options{}, func(p *fakeServer) {
			if account == "" {
				p.handshake()
			} else {
				p.check(account)
			}
			for range 2 {
				p.reply(p.expect("turn/start"), started)
				p.send(completed)
			}
			p.drain()
		})
		if account != "" {
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 2 {
			if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
