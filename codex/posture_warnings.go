package codex

import "encoding/json"

// PostureWarnings describes, for people, what the workflow lets the agent do beyond
// the guarded posture. It returns nothing for a workflow that sets no policy or a
// stricter one.
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

// NeedsSandbox reports whether Codex has to start a sandbox with these settings.
func (c Config) NeedsSandbox() bool {
	sandbox := c.TurnSandboxPolicy
	if !present(sandbox) {
		sandbox, _ = turnSandbox(c.ThreadSandbox) // a bad value fails the session
	}
	var p struct{ Type string }
	decodeLenient(sandbox, &p) // without a policy it is our own sandbox
	return p.Type != "dangerFullAccess" && p.Type != "externalSandbox"
}

// allowsEscalation reports whether an approval policy lets commands leave the
// sandbox. It does if Codex may ask for that, because the answer is always yes.
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

// readsEverything describes what every sandbox except ours lets the agent read.
const readsEverything = "the agent can read the Codex home with its login, your keys, what codex.deny names, and other issues' workspaces and event logs"

// sandboxWarning describes what a sandbox policy of the workflow allows. It returns
// "" if the workflow sets none.
func sandboxWarning(sandbox json.RawMessage) string {
	if !present(sandbox) {
		return ""
	}
	var p struct {
		Type          string
		NetworkAccess any
		WritableRoots []string
	}
	decodeLenient(sandbox, &p) // an unreadable policy is an unknown one
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
