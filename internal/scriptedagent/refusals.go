package scriptedagent

import (
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
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
	config       []string
	home         string
	experimental bool
}

// answer answers a request, or leaves it to the agent.
func (r *refusals) answer(method string, params json.RawMessage, notify func(string, object)) (object, *refusal) {
	if slices.Contains(r.unknown, method) {
		return nil, scriptedagent.UnknownMethod(method)
	}
	for _, path := range required[method] {
		if !has(params, path) {
			return nil, scriptedagent.Invalid("Invalid request: missing field `%s`", path[strings.LastIndex(path, ".")+1:])
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
		return nil, scriptedagent.Invalid("Invalid request: %v", err)
	}
	switch method {
	case "initialize":
		r.experimental = p.Capabilities.ExperimentalAPI
	case "thread/start", "thread/resume", "turn/start":
		if err := cmp.Or(oneOf(p.Sandbox, "", "read-only", "workspace-write", "danger-full-access"), r.checkApproval(p.ApprovalPolicy), r.checkTools(p.DynamicTools), checkSandboxPolicy(p.SandboxPolicy)); err != nil {
			return nil, err
		}
		length := 0
		for _, in := range p.Input {
			length += utf8.RuneCountInString(in.Text)
		}
		if length > inputCap {
			return nil, &refusal{Code: -32602,
				Message: fmt.Sprintf("Input exceeds the maximum length of %d characters.", inputCap),
				Data:    object{"input_error_code": "input_too_large", "max_chars": inputCap, "actual_chars": length}}
		}
	case "thread/name/set":
		if strings.TrimSpace(p.Name) == "" {
			return nil, scriptedagent.Invalid("thread name must not be empty")
		}
	case "command/exec":
		return r.printCertificates(params, notify)
	}
	return nil, nil
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

// printCertificates answers the client's probe of a network whose requests a proxy reads. It prints
// the path of the certificates of the proxy. There is no proxy here, so the certificate is none.
func (r *refusals) printCertificates(params json.RawMessage, notify func(string, object)) (object, *refusal) {
	var p struct {
		Env                          map[string]*string
		PermissionProfile, ProcessID string
	}
	isRead := func(setting string) bool {
		return strings.HasPrefix(setting, "permissions."+p.PermissionProfile+".network=") && strings.Contains(setting, `"mode"="limited"`)
	}
	file, _ := os.ReadFile(filepath.Join(r.home, "config.toml")) // a missing file configures nothing
	if json.Unmarshal(params, &p) != nil || p.Env["SYMPHONY_PROBE_PORT"] == nil || !slices.ContainsFunc(slices.Concat(r.config, strings.Split(string(file), "\n")), isRead) {
		return nil, nil
	}
	path := filepath.Join(r.home, "proxy/ca-bundle-scripted.pem")
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("scripted")}), 0o600)
	}
	if err != nil {
		return nil, &refusal{Code: -32603, Message: err.Error()}
	}
	notify("command/exec/outputDelta", object{"processId": p.ProcessID, "stream": "stdout", "deltaBase64": []byte(path), "capReached": false})
	return object{"exitCode": 0, "stdout": "", "stderr": ""}, nil
}
