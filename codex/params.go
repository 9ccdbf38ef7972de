package codex

import "encoding/json"

// threadParams are the parameters of thread/start, thread/resume and thread/fork.
type threadParams struct {
	ThreadID       string          `json:"threadId,omitempty"`     // the thread to resume or to copy
	ExcludeTurns   bool            `json:"excludeTurns,omitempty"` // sessions do not use them
	Cwd            string          `json:"cwd"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Model          string          `json:"model,omitempty"`
	ModelProvider  string          `json:"modelProvider,omitempty"`
	ServiceTier    json.RawMessage `json:"serviceTier,omitempty"` // null is the default
	Config         map[string]any  `json:"config,omitempty"`
	DynamicTools   []toolSpec      `json:"dynamicTools,omitempty"`
	Ephemeral      bool            `json:"ephemeral,omitempty"` // Codex keeps nothing of the thread
}

type toolSpec struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func (p posture) start(o Options) threadParams {
	params := threadParams{Cwd: o.Cwd, ApprovalPolicy: p.approval, Model: o.Config.Model, Config: p.settings, DynamicTools: p.tools}
	if o.Config.ServiceTier != "" {
		params.ServiceTier = quoted(o.Config.ServiceTier)
	}
	return params
}

// resume returns the parameters of thread/resume. They name no tools because a
// thread keeps those it was started with. It also keeps its model, effort and service tier, unless
// they are named: with codex.by_label an earlier session may have had others, so everything that
// this session leaves out is set to the value of Codex's own configuration. To name the model or
// the provider is enough for the model and the effort.
func (p posture) resume(o Options, own serverInfo) threadParams {
	params := p.start(o)
	params.ThreadID, params.ExcludeTurns, params.DynamicTools = o.Resume, true, nil
	if len(o.Config.ByLabel) == 0 {
		return params
	}
	if params.Model == "" {
		params.ModelProvider = own.provider
	}
	if params.ServiceTier == nil && o.Config.namesTier() {
		params.ServiceTier = json.RawMessage("null")
		if own.tier != "" {
			params.ServiceTier = quoted(own.tier)
		}
	}
	return params
}

func quoted(text string) json.RawMessage {
	encoded, _ := json.Marshal(text) // strings always marshal
	return encoded
}

// turnParams are the parameters of turn/start.
type turnParams struct {
	ThreadID       string          `json:"threadId"`
	Input          []any           `json:"input"` // texts and pictures
	Cwd            string          `json:"cwd"`
	Title          string          `json:"title,omitempty"` // SPEC §10.2; newer servers have thread/name/set instead
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	SandboxPolicy  json.RawMessage `json:"sandboxPolicy,omitempty"` // this or Permissions
	Permissions    string          `json:"permissions,omitempty"`
	Model          string          `json:"model,omitempty"`
	Effort         string          `json:"effort,omitempty"`
	OutputSchema   json.RawMessage `json:"outputSchema,omitempty"`
}

func textInput(text string) map[string]string { return map[string]string{"type": "text", "text": text} }

func (p posture) turn(o Options, thread string, input Input) turnParams {
	params := turnParams{
		ThreadID: thread, Input: []any{textInput(input.Text)}, Cwd: o.Cwd, Title: o.Name,
		ApprovalPolicy: p.approval, SandboxPolicy: p.sandbox, Model: o.Config.Model, Effort: o.Config.Effort, OutputSchema: input.Schema,
	}
	for _, path := range input.Images {
		params.Input = append(params.Input, map[string]string{"type": "localImage", "path": path})
	}
	if p.sandbox == nil {
		params.Permissions = p.turns
	}
	return params
}
