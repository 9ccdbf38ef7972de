package codex

import (
	"encoding/json"
	"fmt"
	"strings"
)

// posture is what the agent may do: everything about permissions that the
// thread and each turn are told is made here.
//
// The sandbox goes with every turn and never with the thread. A thread that
// starts in a writable sandbox makes Codex trust the repository: it would load
// the repository's own .codex folder, and run the servers it names with no
// sandbox at all. thread_sandbox of the workflow is applied per turn as well.
type posture struct {
	approval json.RawMessage // approvalPolicy
	sandbox  json.RawMessage // sandboxPolicy
	tools    []toolSpec
	guarded  bool // approval is ours, the workflow says nothing
}

// The posture when the workflow says nothing. Codex refuses by itself what
// would leave the sandbox; what it still asks for runs inside, so the answer is
// always yes (SPEC §10.5).
const (
	guardedApproval = `{"granular":{"sandbox_approval":false,"rules":false,"mcp_elicitations":false}}`
	guardedSandbox  = `{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":true,"excludeSlashTmp":true}`
	olderApproval   = `"never"` // for servers that know nothing granular: they ask for nothing then
)

func newPosture(c Config, tools []Tool) (posture, error) {
	p := posture{approval: c.ApprovalPolicy, sandbox: c.TurnSandboxPolicy}
	if !present(p.approval) {
		p.approval, p.guarded = json.RawMessage(guardedApproval), true
	}
	if !present(p.sandbox) {
		var err error
		if p.sandbox, err = turnSandbox(c.ThreadSandbox); err != nil {
			return posture{}, err
		}
	}
	for _, t := range tools {
		p.tools = append(p.tools, toolSpec{Type: "function", Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return p, nil
}

// turnSandbox is a thread's sandbox in the words of a turn, where Codex takes
// an object and spells the names differently.
func turnSandbox(thread json.RawMessage) (json.RawMessage, error) {
	if !present(thread) {
		return json.RawMessage(guardedSandbox), nil
	}
	if thread[0] == '{' {
		return thread, nil
	}
	var mode string
	if err := json.Unmarshal(thread, &mode); err != nil {
		return nil, fmt.Errorf("codex.thread_sandbox: %w: use read-only, workspace-write or danger-full-access", err)
	}
	switch strings.ToLower(strings.ReplaceAll(mode, "-", "")) {
	case "readonly":
		return json.RawMessage(`{"type":"readOnly"}`), nil
	case "workspacewrite":
		return json.RawMessage(`{"type":"workspaceWrite"}`), nil
	case "dangerfullaccess":
		return json.RawMessage(`{"type":"dangerFullAccess"}`), nil
	}
	return nil, fmt.Errorf("codex.thread_sandbox: unknown value %q: use read-only, workspace-write or danger-full-access", mode)
}

// concede drops what an older server's refusal of the thread names, and returns
// what is lost with it; "" when there is nothing to drop. It goes by the names
// of the protocol in the message because the code is the same for everything.
// What the workflow asks for itself is never dropped.
func (p *posture) concede(refused *ResponseError) string {
	names := func(name string) bool { return strings.Contains(refused.Message, name) }
	var lost []string
	if len(p.tools) > 0 && (names("dynamicTools") || names("experimentalApi")) {
		p.tools = nil
		lost = append(lost, "the tools of the host (dynamicTools): the agent has to do without")
	}
	if p.guarded && (names("granular") || names("approvalPolicy") || names("experimentalApi")) {
		p.approval, p.guarded = json.RawMessage(olderApproval), false
		lost = append(lost, "the granular approval policy: `never` is used, which refuses some commands")
	}
	return strings.Join(lost, "; ")
}

type initializeParams struct {
	ClientInfo struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	Capabilities struct {
		ExperimentalAPI bool `json:"experimentalApi"`
	} `json:"capabilities"`
}

// initialize asks for the experimental part of the protocol: the tools and the
// granular approval policy belong to it.
func initialize(version string) (p initializeParams) {
	p.ClientInfo.Name, p.ClientInfo.Title, p.ClientInfo.Version = "symphony", "Symphony", version
	p.Capabilities.ExperimentalAPI = true
	return p
}

// threadParams are those of thread/start and thread/resume.
type threadParams struct {
	ThreadID       string          `json:"threadId,omitempty"`     // to resume
	ExcludeTurns   bool            `json:"excludeTurns,omitempty"` // nobody reads them
	Cwd            string          `json:"cwd"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Model          string          `json:"model,omitempty"`
	DynamicTools   []toolSpec      `json:"dynamicTools,omitempty"`
}

type toolSpec struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (p posture) start(o Options) threadParams {
	return threadParams{Cwd: o.Cwd, ApprovalPolicy: p.approval, Model: o.Config.Model, DynamicTools: p.tools}
}

// resume has no tools: a thread keeps those it was started with.
func (p posture) resume(o Options) threadParams {
	return threadParams{ThreadID: o.Resume, ExcludeTurns: true, Cwd: o.Cwd, ApprovalPolicy: p.approval, Model: o.Config.Model}
}

type turnParams struct {
	ThreadID       string          `json:"threadId"`
	Input          []turnInput     `json:"input"`
	Cwd            string          `json:"cwd"`
	Title          string          `json:"title,omitempty"` // SPEC §10.2; newer servers have thread/name/set instead
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	SandboxPolicy  json.RawMessage `json:"sandboxPolicy"`
	Model          string          `json:"model,omitempty"`
	Effort         string          `json:"effort,omitempty"`
}

type turnInput struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (p posture) turn(o Options, thread, input string) turnParams {
	return turnParams{
		ThreadID: thread, Input: []turnInput{{Type: "text", Text: input}}, Cwd: o.Cwd, Title: o.Name,
		ApprovalPolicy: p.approval, SandboxPolicy: p.sandbox, Model: o.Config.Model, Effort: o.Config.Effort,
	}
}
