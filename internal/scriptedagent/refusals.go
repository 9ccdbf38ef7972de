package scriptedagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/codex/scriptedagent"
)

type refusal = scriptedagent.Error

// inputCap is the longest input of a turn, in characters.
const inputCap = 1 << 20

// required names the parameters that Codex does not do without, by method. A dot stands for a
// parameter of a parameter.
var required = map[string][]string{
	"initialize":                       {"clientInfo", "clientInfo.name", "clientInfo.version"},
	"turn/start":                       {"threadId", "input"},
	"thread/resume":                    {"threadId"},
	"command/exec":                     {"command"},
	"command/exec/terminate":           {"processId"},
	"thread/backgroundTerminals/clean": {"threadId"},
}

// refusals refuses what Codex refuses and the agent does not look at. Its methods run one
// after the other.
type refusals struct {
	unknown      []string // methods
	experimental bool
}

// refuse returns the refusal of a request; nil leaves it to the agent.
func (r *refusals) refuse(method string, params json.RawMessage) *refusal {
	if slices.Contains(r.unknown, method) {
		return scriptedagent.UnknownMethod(method)
	}
	for _, path := range required[method] {
		if !has(params, path) {
			return scriptedagent.Invalid("Invalid request: missing field `%s`", path[strings.LastIndex(path, ".")+1:])
		}
	}
	var p struct {
		Capabilities   struct{ ExperimentalAPI bool }
		Sandbox        string
		ApprovalPolicy json.RawMessage
		SandboxPolicy  json.RawMessage
		DynamicTools   []json.RawMessage
		Input          []struct{ Text string }
		Name           string
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return scriptedagent.Invalid("Invalid request: %v", err)
	}
	switch method {
	case "initialize":
		r.experimental = p.Capabilities.ExperimentalAPI
	case "thread/start", "thread/resume", "turn/start":
		if err := cmp.Or(oneOf(p.Sandbox, "", "read-only", "workspace-write", "danger-full-access"), r.checkApproval(p.ApprovalPolicy), r.checkTools(p.DynamicTools), checkSandboxPolicy(p.SandboxPolicy)); err != nil {
			return err
		}
		length := 0
		for _, in := range p.Input {
			length += utf8.RuneCountInString(in.Text)
		}
		if length > inputCap {
			return &refusal{Code: -32602,
				Message: fmt.Sprintf("Input exceeds the maximum length of %d characters.", inputCap),
				Data:    object{"input_error_code": "input_too_large", "max_chars": inputCap, "actual_chars": length}}
		}
	case "thread/name/set":
		if strings.TrimSpace(p.Name) == "" {
			return scriptedagent.Invalid("thread name must not be empty")
		}
	}
	return nil
}

// has reports whether an object has a field that is not null.
func has(o json.RawMessage, path string) bool {
	name, rest, more := strings.Cut(path, ".")
	var fields map[string]json.RawMessage
	if json.Unmarshal(o, &fields) != nil || len(fields[name]) == 0 || string(fields[name]) == "null" || string(fields[name]) == `""` {
		return false
	}
	return !more || has(fields[name], rest)
}

func (r *refusals) checkTools(tools []json.RawMessage) *refusal {
	if len(tools) > 0 && !r.experimental {
		return scriptedagent.Invalid("thread/start.dynamicTools requires experimentalApi capability")
	}
	for _, tool := range tools {
		for _, field := range []string{"name", "inputSchema", "type"} {
			if !has(tool, field) {
				return scriptedagent.Invalid("Invalid request: missing field `%s`", field)
			}
		}
	}
	return nil
}

// checkApproval accepts the names that Codex has, or an object with granular.
func (r *refusals) checkApproval(policy json.RawMessage) *refusal {
	var name string
	if policy == nil || json.Unmarshal(policy, &name) == nil {
		return oneOf(name, "", "untrusted", "on-request", "never")
	}
	if !has(policy, "granular") {
		return scriptedagent.Invalid("Invalid request: unknown variant, expected `granular`")
	}
	if !r.experimental {
		return scriptedagent.Invalid("askForApproval.granular requires experimentalApi capability")
	}
	return nil
}

// checkSandboxPolicy accepts the sandbox policy of a turn, which is an object.
func checkSandboxPolicy(policy json.RawMessage) *refusal {
	if policy == nil {
		return nil
	}
	var p struct{ Type string }
	if err := json.Unmarshal(policy, &p); err != nil {
		return scriptedagent.Invalid("Invalid request: %v", err)
	}
	return oneOf(p.Type, "dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite")
}

func oneOf(value string, known ...string) *refusal {
	if slices.Contains(known, value) {
		return nil
	}
	return scriptedagent.Invalid("Invalid request: unknown variant `%s`, expected one of `%s`", value, strings.Join(known, "`, `"))
}
