package codex

import (
	"encoding/json"
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
		turn := p.turn(Options{}, "thread-1", "go")
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
