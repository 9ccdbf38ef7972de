package codex

import "encoding/json"

// PostureWarnings says, for people, what the agent may do that the guarded posture
// forbids, because the workflow says so. It is empty for a workflow that says
// nothing about it, or asks for less.
func (c Config) PostureWarnings() []string {
	var notes []string
	if allowsEscalation(c.ApprovalPolicy) {
		notes = append(notes, "codex.approval_policy: what Codex asks for is accepted, so commands may run outside the sandbox")
	}
	key, sandbox := "codex.turn_sandbox_policy", c.TurnSandboxPolicy
	if !present(sandbox) {
		key = "codex.thread_sandbox"
		sandbox, _ = turnSandbox(c.ThreadSandbox) // a bad value fails the session
	}
	if note := sandboxWarning(sandbox); note != "" {
		notes = append(notes, key+": "+note)
	}
	return notes
}

// NeedsSandbox reports whether Codex has to start a sandbox for these settings.
func (c Config) NeedsSandbox() bool {
	sandbox := c.TurnSandboxPolicy
	if !present(sandbox) {
		sandbox, _ = turnSandbox(c.ThreadSandbox) // a bad value fails the session
	}
	var p struct{ Type string }
	_ = json.Unmarshal(sandbox, &p) // none at all is our own
	return p.Type != "dangerFullAccess" && p.Type != "externalSandbox"
}

// allowsEscalation reports whether a policy lets Codex ask for what leaves the
// sandbox, since the answer is always yes.
func allowsEscalation(policy json.RawMessage) bool {
	if !present(policy) {
		return false
	}
	var name string
	if json.Unmarshal(policy, &name) == nil {
		return name != "never"
	}
	var p struct{ Granular map[string]bool }
	if json.Unmarshal(policy, &p) != nil || p.Granular == nil {
		return true
	}
	for _, asks := range p.Granular {
		if asks {
			return true
		}
	}
	return false
}

// readsEverything says what every sandbox but ours lets an agent read.
const readsEverything = "the agent can read the Codex home with its login, your keys, what codex.deny names, and other issues' workspaces and event logs"

// sandboxWarning says what is open in a sandbox that is not ours.
func sandboxWarning(sandbox json.RawMessage) string {
	if !present(sandbox) {
		return ""
	}
	var p struct {
		Type          string
		NetworkAccess any
		WritableRoots []string
	}
	_ = json.Unmarshal(sandbox, &p) // what cannot be read is not known
	var note string
	switch p.Type {
	case "dangerFullAccess":
		return "the agent runs without a sandbox, as the user of this program"
	case "externalSandbox":
		return "the agent runs without a sandbox of Codex's: whatever runs this program has to hold it"
	case "readOnly":
		note = readsEverything
	case "workspaceWrite":
		note = readsEverything + ", and write the temporary folders"
		if len(p.WritableRoots) > 0 {
			note += " and its writableRoots"
		}
	default:
		return "a sandbox that this program does not know is in force"
	}
	if p.NetworkAccess == true || p.NetworkAccess == "enabled" {
		note += "; it has the network, this machine's own services too"
	}
	return note
}
