package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheWorkflowsPolicyGoesWithEveryTurn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config            Config
		approval, sandbox string // of a turn; an empty sandbox is the profile
	}{
		"nothing said":                {Config{}, guardedApproval, ""},
		"nulls":                       {Config{ApprovalPolicy: json.RawMessage("null"), ThreadSandbox: json.RawMessage("null"), TurnSandboxPolicy: json.RawMessage("null")}, guardedApproval, ""},
		"approval":                    {Config{ApprovalPolicy: json.RawMessage(`"on-request"`)}, `"on-request"`, ""},
		"read only":                   {Config{ThreadSandbox: json.RawMessage(`"read-only"`)}, guardedApproval, `{"type":"readOnly"}`},
		"workspace":                   {Config{ThreadSandbox: json.RawMessage(`"workspace-write"`)}, guardedApproval, `{"type":"workspaceWrite"}`},
		"no sandbox":                  {Config{ThreadSandbox: json.RawMessage(`"danger-full-access"`)}, guardedApproval, `{"type":"dangerFullAccess"}`},
		"as a turn's":                 {Config{ThreadSandbox: json.RawMessage(`"dangerFullAccess"`)}, guardedApproval, `{"type":"dangerFullAccess"}`},
		"an object":                   {Config{ThreadSandbox: json.RawMessage(`{"type":"externalSandbox"}`)}, guardedApproval, `{"type":"externalSandbox"}`},
		"the turn's takes precedence": {Config{ThreadSandbox: json.RawMessage(`"read-only"`), TurnSandboxPolicy: json.RawMessage(`{"type":"x"}`)}, guardedApproval, `{"type":"x"}`},
	} {
		p, err := newPosture(Options{Config: test.config})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		turn := p.turn(Options{}, "thread-1", Input{Text: "go"})
		if diff := cmp.Diff([]string{test.approval, test.sandbox}, []string{string(turn.ApprovalPolicy), string(turn.SandboxPolicy)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := map[bool]string{true: profile}[test.sandbox == ""]; turn.Permissions != want {
			t.Errorf("%s: permissions %q, want %q", name, turn.Permissions, want)
		}
		if thread := p.start(Options{}); string(thread.ApprovalPolicy) != test.approval {
			t.Errorf("%s: the thread starts with %s", name, thread.ApprovalPolicy)
		}
	}
}

func TestAnUnknownThreadSandboxIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{`"workspace"`, `""`, `7`, `["read-only"]`} {
		_, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			if m, ok := p.next(); ok {
				t.Errorf("%s: sent %s", sandbox, m.Method)
			}
		}), Options{Config: Config{ThreadSandbox: json.RawMessage(sandbox)}})
		if err == nil {
			t.Errorf("%s was taken", sandbox)
		}
	}
}

func TestAWorkflowThatWeakensThePostureSaysSo(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for name, test := range map[string]struct {
		config Config
		words  []string // one for each note
	}{
		"nothing said":       {Config{}, nil},
		"nulls":              {Config{ApprovalPolicy: raw("null"), ThreadSandbox: raw("null")}, nil},
		"never":              {Config{ApprovalPolicy: raw(`"never"`)}, nil},
		"granular, refusing": {Config{ApprovalPolicy: raw(`{"granular":{"rules":false}}`)}, nil},
		"granular, asking":   {Config{ApprovalPolicy: raw(`{"granular":{"rules":true}}`)}, []string{"approval_policy"}},
		"on request":         {Config{ApprovalPolicy: raw(`"on-request"`)}, []string{"approval_policy"}},
		"unknown approval":   {Config{ApprovalPolicy: raw(`{"later":{}}`)}, []string{"approval_policy"}},
		"no sandbox":         {Config{ThreadSandbox: raw(`"danger-full-access"`)}, []string{"thread_sandbox: the agent runs without"}},
		"outer sandbox":      {Config{ThreadSandbox: raw(`{"type":"externalSandbox"}`)}, []string{"whatever runs this program"}},
		"workspace":          {Config{ThreadSandbox: raw(`"workspace-write"`)}, []string{"can read the Codex home"}},
		"read only":          {Config{TurnSandboxPolicy: raw(`{"type":"readOnly"}`)}, []string{"turn_sandbox_policy: the agent can read"}},
		"network":            {Config{TurnSandboxPolicy: raw(`{"type":"workspaceWrite","networkAccess":true,"writableRoots":["/x"]}`)}, []string{"network"}},
		"unknown sandbox":    {Config{TurnSandboxPolicy: raw(`{"type":"later"}`)}, []string{"does not know"}},
		"both":               {Config{ApprovalPolicy: raw(`"untrusted"`), ThreadSandbox: raw(`"danger-full-access"`)}, []string{"approval_policy", "without a sandbox"}},
	} {
		notes := test.config.PostureWarnings(false)
		if len(notes) != len(test.words) {
			t.Errorf("%s: %q", name, notes)
			continue
		}
		for i, words := range test.words {
			if !strings.Contains(notes[i], words) {
				t.Errorf("%s: %q does not say %q", name, notes[i], words)
			}
		}
	}
}

func TestAnAgentWithTheNetworkBesideAStatusPageIsWarnedOf(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for name, test := range map[string]struct {
		config Config
		reads  bool
	}{
		"nothing said":     {Config{}, false},
		"never asking":     {Config{ApprovalPolicy: raw(`"never"`)}, false},
		"on request":       {Config{ApprovalPolicy: raw(`"on-request"`)}, true},
		"no sandbox":       {Config{ThreadSandbox: raw(`"danger-full-access"`)}, true},
		"an outer sandbox": {Config{TurnSandboxPolicy: raw(`{"type":"externalSandbox"}`)}, true},
		"workspace":        {Config{ThreadSandbox: raw(`"workspace-write"`)}, false},
		"its network":      {Config{TurnSandboxPolicy: raw(`{"type":"workspaceWrite","networkAccess":true}`)}, true},
		"read only":        {Config{TurnSandboxPolicy: raw(`{"type":"readOnly","networkAccess":"restricted"}`)}, false},
		"with the network": {Config{TurnSandboxPolicy: raw(`{"type":"readOnly","networkAccess":"enabled"}`)}, true},
		"unknown sandbox":  {Config{TurnSandboxPolicy: raw(`{"type":"later"}`)}, true},
		"both":             {Config{ApprovalPolicy: raw(`"untrusted"`), ThreadSandbox: raw(`"read-only"`)}, true},
	} {
		without, with := test.config.PostureWarnings(false), test.config.PostureWarnings(true)
		said := len(with) == len(without)+1 && strings.HasPrefix(with[len(with)-1], "server.port or --port: the agent has the network of this machine")
		if said != test.reads || !said && len(with) != len(without) {
			t.Errorf("%s: %q", name, with)
		}
	}
}

func TestOnlyASandboxOfItsOwnHasToBeStarted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		policy, thread string
		want           bool
	}{
		{"", "", true},
		{`{"type":"workspaceWrite"}`, `"danger-full-access"`, true},
		{`{"type":"dangerFullAccess"}`, "", false},
		{`{"type":"externalSandbox"}`, `"workspace-write"`, false},
		{"", `"read-only"`, true},
		{"", `"danger-full-access"`, false},
		{"", `"nonsense"`, true},
	} {
		c := Config{TurnSandboxPolicy: json.RawMessage(row.policy), ThreadSandbox: json.RawMessage(row.thread)}
		if got := c.NeedsSandbox(); got != row.want {
			t.Errorf("%s %s: %t", row.policy, row.thread, got)
		}
	}
}

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
			}), Options{Cwd: "/workspace", Resume: resume, Config: Config{Choice: Choice{Model: "gpt-5.5"}}})
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

// TestAServerWithoutProfilesGetsNoTurn has servers that open a thread, or take a turn, without the
// permission profile.
func TestAServerWithoutProfilesGetsNoTurn(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*fakeServer){
		"it does not say so": func(p *fakeServer) {
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"}}`)
			p.drain()
		},
		"it refuses them with the turn": func(p *fakeServer) {
			p.reply(p.expect("thread/start"), `{"thread":{"id":"thread-1"},"activePermissionProfile":{"id":":read-only"}}`)
			p.refuse(p.expect("turn/start"), -32600, "unknown field `permissions`")
			p.drain()
		},
	} {
		s, err := Open(t.Context(), dial(t, func(p *fakeServer) {
			p.hello()
			script(p)
		}), Options{Temp: "/temp"})
		if err == nil {
			_, err = s.Turn(t.Context(), Input{Text: "go"})
			s.Close()
		}
		if !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "this one does not know permission profiles") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
