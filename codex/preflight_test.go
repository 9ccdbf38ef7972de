package codex

import (
	"encoding/json"
	"errors"
	"fmt"
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
			p.judge("", "")
		}, nil},
		"an older server": {"gpt-5.5", func(p *fakeServer) {
			p.unknown("account/read")
			p.unknown("command/exec")
			p.judge("", "")
		}, nil},
		"another provider's models are its own": {"llama", func(p *fakeServer) {
			p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":false}`)
			p.reply(p.expect("command/exec"), sandboxed)
			p.judge("", "")
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
			p.judge("", "")
		}, nil},
		"a server that crashes as it opens a thread": {"", func(p *fakeServer) {
			p.unknown("account/read")
			p.unknown("command/exec")
			p.expect("thread/start")
			p.rwc.Close()
		}, ErrPortExit},
		"a server that crashes as it judges a turn": {"", func(p *fakeServer) {
			p.unknown("account/read")
			p.unknown("command/exec")
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.expect("turn/start")
			p.rwc.Close()
		}, ErrPortExit},
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
		}), Options{Config: Config{Choice: Choice{Model: test.model}}})
		if test.want == ErrNotLoggedIn && !strings.Contains(fmt.Sprint(err), "Codex has no login: set OPENAI_API_KEY") { // people see no category
			t.Errorf("%s: %v", name, err)
		}
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
			s, j := begin(t, Options{Config: Config{Choice: Choice{Model: "gpt-5.5"}}}, func(p *fakeServer) {
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
			if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			s.Close()
		})
	}
}

// checking begins a Preflight with a server that needs no login and plays a script.
func checking(t *testing.T, o Options, script func(*fakeServer)) error {
	t.Helper()
	_, err := Preflight(t.Context(), dial(t, func(p *fakeServer) {
		p.hello()
		p.reply(p.expect("account/read"), `{"account":null,"requiresOpenaiAuth":false}`)
		script(p)
	}), o)
	return err
}

// TestEachCauseOfAFailedSandboxHasItsAdvice uses answers of the real Codex. What to do stands
// before what can be cut off.
func TestEachCauseOfAFailedSandboxHasItsAdvice(t *testing.T) {
	t.Parallel()
	const namespaces, tooOld = "allow user namespaces", "the bubblewrap on the PATH is too old"
	policy := Options{Config: Config{TurnSandboxPolicy: json.RawMessage(`{"type":"workspaceWrit"}`)}}
	thread := Options{Config: Config{ThreadSandbox: json.RawMessage(`{"type":"workspaceWrite","writableRoots":3}`)}}
	ends := func(stderr string) func(*fakeServer) {
		return func(p *fakeServer) {
			answer, _ := json.Marshal(map[string]any{"exitCode": 1, "stdout": "", "stderr": stderr}) // strings always marshal
			p.reply(p.expect("command/exec"), string(answer))
		}
	}
	refuses := func(code int, text string) func(*fakeServer) {
		return func(p *fakeServer) { p.refuse(p.expect("command/exec"), code, text) }
	}
	for name, test := range map[string]struct {
		o      Options
		script func(*fakeServer)
		want   error
		says   string
		never  string
	}{
		"no user namespaces": {Options{}, ends("bwrap: No permissions to create a new namespace, likely because the kernel does not allow it" + strings.Repeat(" and more", 500)),
			ErrNoSandbox, namespaces, ""},
		"a container": {Options{}, ends("bwrap: Can't mount proc on /newroot/proc: Operation not permitted"), ErrNoSandbox, namespaces, ""},
		"an old bubblewrap": {Options{}, ends("bwrap: execvp /home/kim/.codex/tmp/arg0-linux/codex-arg0x/codex-linux-sandbox: Permission denied"),
			ErrNoSandbox, tooOld, namespaces},
		"a bubblewrap without an option": {Options{}, ends("bwrap: Unknown option --argv0"), ErrNoSandbox, tooOld, namespaces},
		"a full disk":                    {Options{}, ends("bwrap: Can't create file at /w/.git: No space left on device"), ErrNoSandbox, "No space left on device", namespaces},
		"no such folder": {Options{}, refuses(-32603, "failed to spawn command: No such file or directory (os error 2)"),
			ErrNoSandbox, "No such file or directory", namespaces},
		"a wrong turn_sandbox_policy": {policy, refuses(-32600, "Invalid request: unknown variant `workspaceWrit`, expected one of `dangerFullAccess`, `readOnly`"),
			ErrSettings, "codex.turn_sandbox_policy: codex_settings_refused: {\"type\":\"workspaceWrit\"}: Codex refuses it: Invalid request: unknown variant `workspaceWrit`, expected one of `dangerFullAccess`", namespaces},
		"a wrong thread_sandbox":           {thread, refuses(-32600, "Invalid request: invalid type: integer `3`, expected a sequence"), ErrSettings, "codex.thread_sandbox: ", namespaces},
		"a policy of ours that is refused": {Options{}, refuses(-32600, "Invalid request: missing field `x`"), ErrNoSandbox, "missing field", namespaces},
	} {
		err := checking(t, test.o, test.script)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
			continue
		}
		text := []rune(err.Error())
		shown := string(text[:min(500, len(text))]) // what a report keeps of a reason
		if !strings.Contains(shown, test.says) || test.never != "" && strings.Contains(shown, test.never) {
			t.Errorf("%s: %s", name, shown)
		}
	}
	if got := sandboxAdvice("darwin", "sandbox-exec: sandbox_apply: Operation not permitted"); !strings.Contains(got, "Seatbelt") {
		t.Errorf("on a Mac: %q", got)
	}
}

// TestTheCheckTriesThePermissionProfile shows that the profile which turns get is tried
// where the server has it, and the nearest policy elsewhere.
func TestTheCheckTriesThePermissionProfile(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	runs := func(code int) func(*fakeServer) {
		return func(p *fakeServer) {
			p.admitExec()
			m, _ := p.exec()
			if !strings.Contains(string(m.Params), `"permissionProfile":"symphony"`) {
				t.Errorf("the check runs %s", m.Params)
			}
			p.reply(m, fmt.Sprintf(`{"exitCode":%d,"stdout":"","stderr":""}`, code))
			if code == 0 {
				p.judge("", "")
			}
		}
	}
	plain := func(p *fakeServer) {
		m := p.expect("command/exec")
		if !strings.Contains(string(m.Params), `"sandboxPolicy":{`) {
			t.Errorf("the check runs %s", m.Params)
		}
		p.reply(m, `{"exitCode":0}`)
		p.judge("", "")
	}
	for name, test := range map[string]struct {
		script func(*fakeServer)
		want   error
	}{
		"it works":      {runs(0), nil},
		"it fails":      {runs(1), ErrNoSandbox},
		"an old server": {func(p *fakeServer) { p.unknown("permissionProfile/list"); plain(p) }, nil},
		"other rules": {func(p *fakeServer) {
			p.reply(p.expect("permissionProfile/list"), `{"data":[{"id":"symphony"}]}`)
			p.reply(p.expect("config/read"), `{"config":{"permissions":{"symphony":{"extends":":danger-full-access"}}}}`)
			plain(p)
		}, nil},
	} {
		if err := checking(t, o, test.script); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
