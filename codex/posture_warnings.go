package codex

import (
	"encoding/json"
	"maps"
	"slices"
)

// PostureWarnings describes, for people, the freedom that the workflow gives the agent beyond
// the guarded posture. It returns nothing for a workflow that sets no policy or a stricter one.
// servesPage says that this program serves its status page.
func (c Config) PostureWarnings(servesPage bool) []string {
	var notes []string
	if allowsEscalation(c.ApprovalPolicy) {
		notes = append(notes, "codex.approval_policy: what Codex asks for is accepted, so commands may run outside the sandbox")
	}
	key, sandbox, _ := c.sandbox()
	if note := sandboxWarning(sandbox); note != "" {
		notes = append(notes, key+": "+note)
	}
	if servesPage && c.hasNetwork() {
		notes = append(notes, "server.port or --port: the agent has the network of this machine, so it can read the status page with the titles and transcripts of all issues; serve no page, or take the network from the agent")
	}
	return notes
}

// sandbox returns the sandbox policy of the turns, nil if the workflow sets none, and the key that sets
// it. thread_sandbox goes with each turn, for the reason given in hardenedSettings. It fails for a bad
// value, which fails the session.
func (c Config) sandbox() (key string, policy json.RawMessage, err error) {
	if present(c.TurnSandboxPolicy) {
		return "codex.turn_sandbox_policy", c.TurnSandboxPolicy, nil
	}
	policy, err = turnSandbox(c.ThreadSandbox)
	return "codex.thread_sandbox", policy, err
}

func (c Config) hasNetwork() bool {
	_, sandbox, _ := c.sandbox()
	if !present(sandbox) {
		return allowsEscalation(c.ApprovalPolicy)
	}
	p := decodeSandbox(sandbox)
	isClosed := (p.Type == "readOnly" || p.Type == "workspaceWrite") && !p.hasNetwork()
	return !isClosed || allowsEscalation(c.ApprovalPolicy)
}

// NeedsSandbox reports whether Codex has to start a sandbox with these settings.
func (c Config) NeedsSandbox() bool {
	_, sandbox, _ := c.sandbox()
	p := decodeSandbox(sandbox) // none is our own sandbox
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
	return slices.Contains(slices.Collect(maps.Values(p.Granular)), true)
}

// readsEverything describes what every sandbox except ours lets the agent read.
const readsEverything = "the agent can read the Codex home with its login, your keys, what codex.deny names, and other issues' workspaces and event logs"

type sandboxPolicy struct {
	Type          string
	NetworkAccess any
	WritableRoots []string
}

// decodeSandbox returns a policy. An unreadable policy has no type.
func decodeSandbox(policy json.RawMessage) (p sandboxPolicy) {
	decodeLenient(policy, &p)
	return p
}

func (p sandboxPolicy) hasNetwork() bool {
	return p.NetworkAccess == true || p.NetworkAccess == "enabled"
}

// sandboxWarning describes the freedom that a sandbox policy of the workflow gives. It returns
// "" if the workflow sets none.
func sandboxWarning(sandbox json.RawMessage) string {
	if !present(sandbox) {
		return ""
	}
	p := decodeSandbox(sandbox) // an unreadable policy is an unknown one
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
	if p.hasNetwork() {
		note += "; it has the network, this machine's own services too"
	}
	return note
}
