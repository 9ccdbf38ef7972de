package codex

import (
	"encoding/json"
	"strings"
	"testing"
)

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
		notes := test.config.PostureWarnings()
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
