package codex

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestPreflightFindsWhatKeepsSessionsFromWorking(t *testing.T) {
	t.Parallel()
	const loggedIn, sandboxed = `{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}`, `{"exitCode":0,"stdout":"","stderr":""}`
	models := func(p *fakeServer) {
		p.reply(p.expect("model/list"), `{"data":[{"id":"gpt-5","model":"gpt-5"}],"nextCursor":"2"}`)
		p.reply(p.expect("model/list"), `{"data":[{"id":"gpt-5.5","model":"gpt-5.5"}],"nextCursor":null}`)
	}
	for name, test := range map[string]struct {
		model  string
		script func(*fakeServer)
		want   error
	}{
		"all is well": {"gpt-5.5", func(p *fakeServer) {
			p.reply(p.expect("account/read"), loggedIn)
			models(p)
			p.reply(p.expect("command/exec"), sandboxed)
		}, nil},
		"an older server": {"gpt-5.5", func(p *fakeServer) {
			p.unknown("account/read")
			p.unknown("command/exec")
		}, nil},
		"another provider's models are its own": {"llama", func(p *fakeServer) {
			p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":false}`)
			p.reply(p.expect("command/exec"), sandboxed)
		}, nil},
		"no login": {"", func(p *fakeServer) { p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":true}`) }, ErrNotLoggedIn},
		"no such model": {"gpt-9", func(p *fakeServer) {
			p.reply(p.expect("account/read"), loggedIn)
			models(p)
		}, ErrNoModel},
		"a model list that is empty": {"gpt-9", func(p *fakeServer) {
			p.reply(p.expect("account/read"), loggedIn)
			p.reply(p.expect("model/list"), `{"data":[]}`)
			p.reply(p.expect("command/exec"), sandboxed)
		}, nil},
		"no sandbox": {"", func(p *fakeServer) {
			p.reply(p.expect("account/read"), loggedIn)
			p.reply(p.expect("command/exec"), `{"exitCode":1,"stdout":"","stderr":"bwrap: No permissions to create new namespace"}`)
		}, ErrNoSandbox},
		"a sandbox that fails otherwise": {"", func(p *fakeServer) {
			p.reply(p.expect("account/read"), loggedIn)
			p.refuse(p.expect("command/exec"), -32603, "failed to spawn")
		}, ErrNoSandbox},
		"the end of the server": {"", func(p *fakeServer) { p.expect("account/read"); p.rwc.Close() }, ErrPortExit},
	} {
		version, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.reply(p.expect("initialize"), `{"userAgent":"symphony/0.169.0 (Debian 12; x86_64) unknown"}`)
			p.expect("initialized")
			p.unknown("config/read")
			test.script(p)
			if m, ok := p.next(); ok {
				t.Errorf("%s: then %s", name, m.Method)
			}
		}), Options{Config: Config{Model: test.model}})
		if test.want == nil && (err != nil || version != "0.169.0") || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %q, %v", name, version, err)
		}
	}
}

// Codex asks the service of a ChatGPT account before it answers account/read, and
// gives up after 15 seconds: measured with a service that never answers.
func TestALoginThatCannotBeReadInTimePreventsNoSession(t *testing.T) {
	t.Parallel()
	for name, unanswered := range map[string]func(*fakeServer) received{
		"the login": func(p *fakeServer) received { return p.expect("account/read") },
		"the models": func(p *fakeServer) received {
			p.reply(p.expect("account/read"), `{"account":{"type":"apiKey"},"requiresOpenaiAuth":true}`)
			return p.expect("model/list")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, j := begin(t, Options{Config: Config{Model: "gpt-5.5"}}, func(p *fakeServer) {
				p.handshake()
				m := unanswered(p)
				p.reply(p.expect("command/exec"), `{"exitCode":0,"stdout":"","stderr":""}`)
				p.refuse(m, -32603, "workspace routing discovery timed out")
				p.reply(p.expect("turn/start"), started)
				p.send(completed)
				p.drain()
			})
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if j.count(Warning) != 1 || j.count(StartupFailed) != 0 {
				t.Errorf("%s: %+v", name, j.all())
			}
			if _, err := s.Turn(t.Context(), "go"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			s.Close()
		})
	}
}

func TestWhatToDoAboutTheSandboxComesBeforeWhatCanBeCutOff(t *testing.T) {
	t.Parallel()
	const shown = 500 // runes of a reason that a report keeps
	for name, answer := range map[string]func(p *fakeServer){
		"an exit status": func(p *fakeServer) {
			p.reply(p.expect("command/exec"), `{"exitCode":1,"stderr":"`+strings.Repeat("bwrap: ", 500)+`"}`)
		},
		"a refusal": func(p *fakeServer) { p.refuse(p.expect("command/exec"), -32603, strings.Repeat("failed ", 500)) },
	} {
		_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
			p.reply(p.expect("initialize"), `{"userAgent":"symphony/0.169.0"}`)
			p.expect("initialized")
			p.unknown("config/read")
			p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":false}`)
			answer(p)
		}), Options{})
		if !errors.Is(err, ErrNoSandbox) {
			t.Fatalf("%s: %v", name, err)
		}
		if text := []rune(err.Error()); !strings.Contains(string(text[:min(shown, len(text))]), sandboxAdvice()) {
			t.Errorf("%s: the first %d runes do not say what to do:\n%s", name, shown, string(text))
		}
	}
}
