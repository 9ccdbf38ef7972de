package codex

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheServerGetsTheProfileOfTheTurns(t *testing.T) {
	t.Parallel()
	o := Options{Cwd: "/w", Temp: "/temp", Repository: true, Deny: func(string, int) []string {
		return []string{`/home/o"ne`, "/back\\slash", "/del\x7f\x01", "/later"}
	}}
	saved := 0
	var lines, thread string
	o.SaveProfile = func(text string) error {
		saved++
		lines = text
		return nil
	}
	begin(t, o, func(p *fakeServer) {
		p.hello()
		m := p.expect("thread/start")
		if saved != 1 {
			t.Errorf("saved %d times before the thread is opened", saved)
		}
		thread = string(m.Params)
		p.reply(m, `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.drain()
	})
	want := `default_permissions=":read-only"
permissions.symphony.extends=":workspace"
permissions.symphony.filesystem={"/back\\slash"="deny","/del\u007f\u0001"="deny","/home/o\"ne"="deny","/later"="deny","/temp"="write",` +
		`":slash_tmp"="read",":tmpdir"="read",":workspace_roots"={".git"="write",".git/commondir"="read",".git/config"="read",".git/config.worktree"="read",".git/hooks"="read"}}
permissions.symphony.network.enabled=false
`
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{`/home/o\"ne`, `/back\\slash`, "/later"} {
		if !strings.Contains(thread, path) {
			t.Errorf("the thread does not deny %s: %s", path, thread)
		}
	}
}

func TestAProfileThatCannotBeSavedEndsTheSession(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	_, err := Connect(t.Context(), dial(t, (*fakeServer).hello), Options{Cwd: "/w", SaveProfile: func(string) error { return full }})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

func TestTheProfileIsAppendedToASimpleCommandOnly(t *testing.T) {
	t.Parallel()
	const given = ` -c 'default_permissions=":read-only"' -c 'permissions.symphony.extends=":workspace"'` +
		` -c 'permissions.symphony.filesystem={"/it'\''s"="deny",":slash_tmp"="read",":tmpdir"="read",":workspace_roots"={}}' -c 'permissions.symphony.network.enabled=false'`
	o := Options{Cwd: "/w", Deny: func(string, int) []string { return []string{"/it's"} }}
	for command, simple := range map[string]bool{
		"codex app-server":                                             true,
		"exec '/my codex/codex' app-server":                            true,
		" codex app-server \n":                                         true,
		`RUST_LOG=warn codex -c model="a;b" app-server`:                true,
		`codex -c 'x={a = 1} # no comment' app-server`:                 true,
		`codex app-server -c x=a#b`:                                    true,
		"exec '/a b/symphony' scripted-agent app-server --home '/c d'": true,
		`codex\;x app-server`:                                          true,
		"codex app-server; cleanup":                                    false,
		"codex app-server | tee log":                                   false,
		"codex app-server &":                                           false,
		"codex app-server # the agent":                                 false,
		"codex app-server 2>log":                                       false,
		"cd /x\ncodex app-server":                                      false,
		"$(which codex) app-server":                                    false,
		"`which codex` app-server":                                     false,
		"codex app-server 'open":                                       false,
		`codex app-server \`:                                           false,
		"codex app-server --":                                          false,
		"./my-agent":                                                   false,
		"codex app-server -c default_permissions=':workspace'":         false,
		"codex -c permissions.symphony.extends=':x' app-server":        false,
	} {
		got, ok := CommandWithProfile(command, o)
		want := strings.TrimSpace(command)
		if simple {
			want += given
		}
		if ok != simple || got != want {
			t.Errorf("%q: %v, %s", command, ok, got)
		}
	}
}

func TestWhatWeGaveTheServerIsNotTakenForASettingOfCodexCommand(t *testing.T) {
	t.Parallel()
	o := Options{ProfileGiven: true}
	p := posture{turns: o.profileOf("")}
	s := serverInfo{overridden: map[string]bool{"default_permissions": true, "permissions.symphony.extends": true, "web_search": true}}
	if diff := cmp.Diff([]string{"web_search"}, p.complete(o, s, permissions(o, o.denied("/home", 0)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.settings["default_permissions"] != ":read-only" || p.settings["permissions.symphony.extends"] != ":workspace" {
		t.Errorf("the thread lacks settings: %v", p.settings)
	}
}

func TestExecIsRefusedByAServerThatCannotRunPrograms(t *testing.T) {
	t.Parallel()
	list := func(result string) func(p *fakeServer) {
		return func(p *fakeServer) { p.reply(p.expect("permissionProfile/list"), result) }
	}
	config := func(profiles string) func(p *fakeServer) {
		return func(p *fakeServer) {
			list(`{"data":[{"id":"symphony","allowed":true}]}`)(p)
			p.reply(p.expect("config/read"), `{"config":{"permissions":`+profiles+`},"origins":{}}`)
		}
	}
	const ours = `"description":null,"extends":":workspace","filesystem":{"glob_scan_max_depth":null,":slash_tmp":"read",":tmpdir":"read","/secret":"deny"%s},"network":{"enabled":false,"mode":null}`
	for name, test := range map[string]struct {
		script func(p *fakeServer)
		want   error
	}{
		"no such call":             {func(p *fakeServer) { p.unknown("permissionProfile/list") }, ErrNoExec},
		"the call is refused":      {func(p *fakeServer) { p.refuse(p.expect("permissionProfile/list"), -32600, "invalid configuration") }, ErrNoExec},
		"not listed":               {list(`{"data":[{"id":":workspace","allowed":true}]}`), ErrNoExec},
		"an answer of other shape": {list(`[]`), ErrNoExec},
		"not allowed":              {list(`{"data":[{"id":"symphony","allowed":false}]}`), ErrNoExec},
		"the same rules":           {config(`{"symphony":{` + strings.ReplaceAll(ours, "%s", "") + `}}`), nil},
		"a rule more":              {config(`{"symphony":{` + strings.ReplaceAll(ours, "%s", `,"/secret/key":"read"`) + `}}`), ErrPosture},
		"a network":                {config(`{"symphony":{` + strings.ReplaceAll(strings.ReplaceAll(ours, "%s", ""), `"mode":null`, `"mode":"full"`) + `}}`), ErrPosture},
		"no rules":                 {config(`{"other":{}}`), ErrPosture},
		"a table of another shape": {config(`[]`), ErrPosture},
		"an unreadable config": {func(p *fakeServer) {
			list(`{"data":[{"id":"symphony"}]}`)(p)
			p.refuse(p.expect("config/read"), -32603, "failed to read the configuration")
		}, ErrResponse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := execOptions(t)
			o.Deny = func(string, int) []string { return []string{"/secret"} }
			s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
				p.hello()
				test.script(p)
				p.drain() // the program must not be started
			}), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.CanExec(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestExecAsksFirstWhetherItMay(t *testing.T) {
	t.Parallel()
	s, err := Connect(t.Context(), dial(t, func(p *fakeServer) {
		p.hello()
		p.reply(p.expect("permissionProfile/list"), `{"data":[]}`)
		if m, ok := p.next(); ok {
			t.Errorf("the session wrote %+v", m)
		}
	}), execOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}}); !errors.Is(err, ErrNoExec) {
		t.Error(err)
	}
}

func TestExecNeedsAServerThatWasGivenTheProfile(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	o.ProfileGiven = false
	s, err := Connect(t.Context(), dial(t, (*fakeServer).hello), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.CanExec(t.Context()); !errors.Is(err, ErrNoExec) || !strings.Contains(err.Error(), "codex.command") {
		t.Error(err)
	}
}

func TestAConnectionOpensItsThreadLater(t *testing.T) {
	t.Parallel()
	o := execOptions(t)
	s, j := beginExec(t, o, func(p *fakeServer) {
		m, _ := p.exec()
		p.exited(m, 0)
		p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
		p.reply(p.expect("turn/start"), `{"turn":{"id":"turn-1"}}`)
		p.send(completed)
		m = p.expect("thread/backgroundTerminals/clean")
		if diff := cmp.Diff(json.RawMessage(`{"threadId":"thread-1"}`), m.Params); diff != "" {
			t.Errorf("clean (-want +got):\n%s", diff)
		}
		p.reply(m, `{}`)
		p.unknown("thread/backgroundTerminals/clean")
		p.drain()
	})
	if err := s.CleanTerminals(t.Context()); err != nil {
		t.Errorf("without a thread: %v", err)
	}
	if _, err := s.Exec(t.Context(), Exec{Argv: []string{"git"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.OpenThread(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if err := s.CleanTerminals(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.CleanTerminals(t.Context()); !errors.Is(err, ErrNoExec) {
		t.Errorf("an older server: %v", err)
	}
	if j.count(StartupFailed) > 0 {
		t.Errorf("%+v", j.all())
	}
}
