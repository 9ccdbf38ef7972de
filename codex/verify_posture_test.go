package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestAThreadThatIsNotWhatWasAskedForIsNotUsed(t *testing.T) {
	t.Parallel()
	const fine = `"activePermissionProfile":{"id":":read-only"}`
	for name, test := range map[string]struct {
		echo string
		fits bool
	}{
		"as asked":         {fine + `,"approvalPolicy":` + guardedApproval + `,"cwd":"/workspace/","model":"gpt-5.5"`, true},
		"more is off":      {fine + `,"approvalPolicy":{"granular":{"sandbox_approval":false,"later":false}}`, true},
		"nothing is said":  {fine, true},
		"it asks":          {fine + `,"approvalPolicy":{"granular":{"sandbox_approval":true,"rules":false,"mcp_elicitations":false}}`, false},
		"another approval": {fine + `,"approvalPolicy":"on-request"`, false},
		"another folder":   {fine + `,"cwd":"/"`, false},
		"another model":    {fine + `,"model":"gpt-4"`, false},
		"another profile":  {`"activePermissionProfile":{"id":":workspace"}`, false},
	} {
		for _, resume := range []string{"", "thread-1"} {
			method := map[bool]string{true: "thread/start", false: "thread/resume"}[resume == ""]
			s, err := Open(t.Context(), dial(t, func(p *fakeServer) {
				p.hello()
				p.reply(p.expect(method), `{"thread":{"id":"thread-1"},`+test.echo+`}`)
				if m, ok := p.next(); ok {
					t.Errorf("%s: went on with %s", name, m.Method)
				}
			}), Options{Cwd: "/workspace", Resume: resume, Config: Config{Model: "gpt-5.5"}})
			if err == nil {
				s.Close()
			}
			if fits := err == nil; fits != test.fits || !fits && !errors.Is(err, ErrPosture) {
				t.Errorf("%s, %s: %v", name, method, err)
			}
		}
	}
}

func TestATurnWhoseSettingsAreNotWhatWasAskedForIsStopped(t *testing.T) {
	t.Parallel()
	const profiled = `"activePermissionProfile":{"id":"symphony"},`
	sandbox := json.RawMessage(`{"type":"workspaceWrite","networkAccess":true}`)
	for name, test := range map[string]struct {
		sandbox  json.RawMessage // of the workflow
		settings string
		fits     bool
	}{
		"the profile":      {nil, profiled + `"cwd":"/workspace","sandboxPolicy":{"type":"workspaceWrite","networkAccess":false,"writableRoots":["/x"]}`, true},
		"no profile":       {nil, `"activePermissionProfile":null`, false},
		"another":          {nil, `"activePermissionProfile":{"id":":workspace"}`, false},
		"with a network":   {nil, profiled + `"sandboxPolicy":{"type":"workspaceWrite","networkAccess":true}`, false},
		"another folder":   {nil, profiled + `"cwd":"/"`, false},
		"another approval": {nil, profiled + `"approvalPolicy":"never"`, false},
		"the workflow's":   {sandbox, `"sandboxPolicy":{"type":"workspaceWrite","networkAccess":true,"writableRoots":[]}`, true},
		"not its network":  {sandbox, `"sandboxPolicy":{"type":"workspaceWrite","networkAccess":false}`, false},
		"no sandbox":       {sandbox, `"sandboxPolicy":{"type":"dangerFullAccess"}`, false},
	} {
		_, _, _, err := runTurn(t, Options{Cwd: "/workspace", Config: Config{TurnSandboxPolicy: test.sandbox}},
			`{"method":"thread/settings/updated","params":{"threadId":"another","threadSettings":{"cwd":"/elsewhere"}}}`,
			fmt.Sprintf(`{"method":"thread/settings/updated","params":{"threadId":"thread-1","threadSettings":{%s}}}`, test.settings), completed)
		if fits := err == nil; fits != test.fits || !fits && !errors.Is(err, ErrPosture) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherCodexHomeThanOursIsNotUsed(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
		p.reply(p.expect("initialize"), `{"codexHome":"/home/x/.codex"}`)
		p.drain()
	}), Options{Home: "/state/codex/home/A-1", Key: "sk-secret"})
	if !errors.Is(err, ErrPosture) {
		t.Error(err)
	}
}

func TestAServerWithoutProfilesGetsASandbox(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*fakeServer){
		"it does not say so": func(p *fakeServer) {
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"}}`)
		},
		"it refuses them with the thread": func(p *fakeServer) {
			p.refuse(p.expect("thread/start"), -32600, "failed to load configuration: unknown field `permissions`")
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"}}`)
		},
		"it refuses them with the turn": func(p *fakeServer) {
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.refuse(p.expect("turn/start"), -32600, "unknown field `permissions`")
		},
	} {
		s, j := begin(t, Options{Temp: "/temp"}, func(p *fakeServer) {
			p.hello()
			script(p)
			m := p.expect("turn/start")
			var turn struct {
				Permissions   string
				SandboxPolicy json.RawMessage
			}
			_ = json.Unmarshal(m.Params, &turn)
			if turn.Permissions != "" || compact(t, turn.SandboxPolicy) != compact(t, guardedSandbox(Options{Temp: "/temp"})) {
				t.Errorf("%s: %s", name, m.Params)
			}
			p.reply(m, `{"turn":{"id":"turn-1"}}`)
			p.send(completed)
			p.drain()
		})
		if _, err := s.Turn(t.Context(), "go"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := j.count(Warning); n != 1 {
			t.Errorf("%s: %d warnings: %+v", name, n, j.all())
		}
	}
}
