package scriptedagent

import (
	"encoding/json"
	"slices"
	"strings"
)

// dynamicTool is a tool that the client offers.
type dynamicTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (a *agent) checkTools(tools []dynamicTool) *wireError {
	if len(tools) > 0 && !a.experimental {
		return invalid("thread/start.dynamicTools requires experimentalApi capability")
	}
	for _, t := range tools {
		switch {
		case t.Name == "":
			return missing("name")
		case t.Description == nil:
			return missing("description")
		case t.InputSchema == nil:
			return missing("inputSchema")
		case t.Type != "function":
			return missing("type")
		}
	}
	return nil
}

// checkApproval accepts the names that Codex has, or an object with granular. The agent
// stores the policy and does not follow it: the script decides when to ask.
func (a *agent) checkApproval(policy json.RawMessage) *wireError {
	var name string
	if policy == nil || json.Unmarshal(policy, &name) == nil {
		return oneOf(name, "", "untrusted", "on-request", "never")
	}
	var p struct{ Granular map[string]bool }
	if json.Unmarshal(policy, &p) != nil || p.Granular == nil {
		return invalid("Invalid request: unknown variant, expected `granular`")
	}
	if !a.experimental {
		return invalid("askForApproval.granular requires experimentalApi capability")
	}
	return nil
}

// sandbox returns the policy of a thread's sandbox mode. A script runs without a
// sandbox, whatever the policy.
func sandbox(mode string) (object, *wireError) {
	switch mode {
	case "", "read-only":
		return object{"type": "readOnly", "networkAccess": false}, nil
	case "workspace-write":
		return object{"type": "workspaceWrite", "writableRoots": []string{}, "networkAccess": false,
			"excludeTmpdirEnvVar": false, "excludeSlashTmp": false}, nil
	case "danger-full-access":
		return object{"type": "dangerFullAccess"}, nil
	}
	return nil, oneOf(mode, "read-only", "workspace-write", "danger-full-access")
}

// settings are the configuration that a client gives a thread. The agent stores them
// and does not follow them.
type settings struct {
	Profile      string `json:"default_permissions"`
	NetworkProxy bool   `json:"features.network_proxy"`
}

// profile returns the permission profile that a thread starts with. A sandbox mode takes
// precedence over it.
func (s settings) profile(mode string) any {
	if s.Profile == "" || mode != "" {
		return nil
	}
	return object{"id": s.Profile, "extends": nil}
}

// listFeatures returns the one feature of a thread that the agent knows.
func (a *agent) listFeatures(params json.RawMessage) (object, func(), *wireError) {
	var p struct{ ThreadID string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	t, ok := a.threads[p.ThreadID]
	if !ok {
		return nil, nil, invalid("thread not found: %s", p.ThreadID)
	}
	return object{"data": []object{{"name": "network_proxy", "stage": "experimental", "enabled": t.proxied, "defaultEnabled": false}}, "nextCursor": nil}, nil, nil
}

// checkSandboxPolicy accepts the sandbox policy of a turn, which is an object.
func checkSandboxPolicy(policy json.RawMessage) *wireError {
	if policy == nil {
		return nil
	}
	var p struct{ Type string }
	if err := json.Unmarshal(policy, &p); err != nil {
		return invalid("Invalid request: %v", err)
	}
	return oneOf(p.Type, "dangerFullAccess", "readOnly", "externalSandbox", "workspaceWrite")
}

func oneOf(value string, known ...string) *wireError {
	if slices.Contains(known, value) {
		return nil
	}
	return invalid("Invalid request: unknown variant `%s`, expected one of `%s`", value, strings.Join(known, "`, `"))
}
