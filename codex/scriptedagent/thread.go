package scriptedagent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// memory is the part of a thread that its rollout begins with.
type memory struct {
	ID       string          `json:"id"`
	Created  int64           `json:"createdAt"` // in Unix seconds
	Cwd      string          `json:"cwd"`
	Model    string          `json:"model"`
	Approval json.RawMessage `json:"approvalPolicy"`
	Tools    []dynamicTool   `json:"dynamicTools"`
	Prompt   string          `json:"prompt"` // of the first turn: the script
}

// thread is a conversation. Its running turn may change the fields below the mutex.
// Those above do not change while a turn runs, except for the first prompt.
type thread struct {
	memory
	home    string // the folder of its rollout; empty if it has none
	sandbox object
	profile any  // the permission profile of its start, or nil
	proxied bool // whether its settings switch the feature network_proxy on

	commands sync.Map // those that run, as *exec.Cmd; its turns add and remove them

	mu      sync.Mutex
	name    string
	active  *turn
	turns   []object // that have begun, as on the wire
	parts   int      // of the script that are done
	tokens  tokenUsage
	rollout *rollout // nil before the first turn
}

// threadParams holds what a thread may be given at its start and when it is resumed.
type threadParams struct {
	Cwd            string
	Sandbox        string
	ApprovalPolicy json.RawMessage
	Config         settings
}

func (a *agent) startThread(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct {
		threadParams
		Model        string
		Ephemeral    bool
		DynamicTools []dynamicTool
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	policy, err := sandbox(p.Sandbox)
	if err := cmp.Or(err, a.checkApproval(p.ApprovalPolicy), a.checkTools(p.DynamicTools)); err != nil {
		return nil, nil, err
	}
	if p.Cwd == "" {
		p.Cwd, _ = os.Getwd() // if that fails, so do the steps of a turn
	}
	t := &thread{sandbox: policy, profile: p.Config.profile(p.Sandbox), proxied: p.Config.NetworkProxy, memory: memory{
		ID: newID(), Created: time.Now().Unix(), Cwd: p.Cwd, Model: cmp.Or(p.Model, "scripted"),
		Approval: p.ApprovalPolicy, Tools: p.DynamicTools,
	}}
	if t.Approval == nil {
		t.Approval = json.RawMessage(`"on-request"`)
	}
	if !p.Ephemeral {
		t.home = a.home
	}
	a.threads[t.ID] = t
	opened := t.opened(a.client, nil)
	return opened, func() {
		a.wire.notify(ctx, "thread/started", object{"thread": opened["thread"]})
	}, nil
}

// resumeThread continues a thread of this process or of an earlier one. It keeps the
// tools and the script that it was started with.
func (a *agent) resumeThread(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct {
		threadParams
		ThreadID     string
		ExcludeTurns bool
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	policy, err := sandbox(p.Sandbox)
	if err := cmp.Or(err, a.checkApproval(p.ApprovalPolicy)); err != nil {
		return nil, nil, err
	}
	t, ok := a.threads[p.ThreadID]
	if !ok {
		var err error
		if t, err = openRollout(a.home, p.ThreadID); err != nil {
			return nil, nil, rolloutError(err, p.ThreadID)
		}
		a.threads[t.ID] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		t.sandbox, t.profile, t.proxied = policy, p.Config.profile(p.Sandbox), p.Config.NetworkProxy
		t.Cwd = cmp.Or(p.Cwd, t.Cwd)
		if p.ApprovalPolicy != nil {
			t.Approval = p.ApprovalPolicy
		}
	}
	turns := t.turns
	if p.ExcludeTurns {
		turns = nil
	} else {
		a.wire.notify(ctx, "deprecationNotice", object{"summary": "Use `excludeTurns: true`.", "details": nil})
	}
	result := t.opened(a.client, turns)
	result["initialTurnsPage"], result["turnsBackwardsCursor"], result["itemsBackwardsCursor"] = nil, nil, nil
	result["collaborationMode"] = object{"mode": "default", "settings": object{
		"model": t.Model, "reasoning_effort": nil, "developer_instructions": nil}}
	return result, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.turns) > 0 {
			t.notifyUsage(ctx, a.wire, t.turns[len(t.turns)-1]["id"])
		}
	}, nil
}

func rolloutError(err error, id string) *wireError {
	switch {
	case errors.Is(err, errNoRollout):
		return invalid("no rollout found for thread id %s", id)
	case errors.Is(err, errActiveWriter):
		return invalid("thread %s already has an active writer", id)
	}
	return invalid("failed to resume thread %s: %v", id, err)
}

func (a *agent) nameThread(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct{ ThreadID, Name string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if strings.TrimSpace(p.Name) == "" {
		return nil, nil, invalid("thread name must not be empty")
	}
	t, ok := a.threads[p.ThreadID]
	if !ok {
		return nil, nil, rolloutError(errNoRollout, p.ThreadID)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name = p.Name
	if err := t.rollout.add(record{Name: p.Name}); err != nil {
		return nil, nil, invalid("failed to set thread name: %v", err)
	}
	return object{}, func() {
		a.wire.notify(ctx, "thread/name/updated", object{"threadId": t.ID, "threadName": p.Name})
	}, nil
}

// opened returns the reply to thread/start and thread/resume.
func (t *thread) opened(client string, turns []object) object {
	return object{
		"thread": t.object(client, turns),
		"model":  t.Model, "modelProvider": "scripted", "serviceTier": nil, "disabledPluginIds": []string{},
		"cwd": t.Cwd, "runtimeWorkspaceRoots": []string{t.Cwd}, "instructionSources": []string{},
		"approvalPolicy": t.Approval, "approvalsReviewer": "user",
		"sandbox": t.sandbox, "activePermissionProfile": t.profile,
		"reasoningEffort": nil, "multiAgentMode": "explicitRequestOnly",
	}
}

func (t *thread) object(client string, turns []object) object {
	var name, path any
	if t.name != "" {
		name = t.name
	}
	if t.home != "" {
		path = rolloutPath(t.home, t.memory)
	}
	status := object{"type": "idle"}
	if t.active != nil {
		status = object{"type": "active", "activeFlags": []string{}}
	}
	return object{
		"id": t.ID, "sessionId": t.ID, "name": name, "preview": t.Prompt, "status": status,
		"cwd": t.Cwd, "path": path, "ephemeral": t.home == "",
		"environments": []object{{"environmentId": "local", "cwd": t.Cwd, "runtimeWorkspaceRoots": []string{t.Cwd}}},
		"model":        t.Model, "modelProvider": "scripted", "reasoningEffort": nil,
		"createdAt": t.Created, "updatedAt": t.Created, "recencyAt": t.Created,
		"cliVersion": version, "originator": client, "source": "vscode", "historyMode": "paginated",
		"turns": append([]object{}, turns...), "canAcceptDirectInput": true,
		"extra": nil, "forkedFromId": nil, "attachedToThreadId": nil, "parentThreadId": nil, "section": nil,
		"sectionEnteredAt": nil, "projectId": nil, "threadSource": nil, "agentNickname": nil, "agentRole": nil,
		"gitInfo": nil, "daybreakEnabled": nil,
	}
}

// newID returns a new UUID of version 7, which are ordered by time, as Codex uses them.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	binary.BigEndian.PutUint64(b[:8], uint64(time.Now().UnixMilli())<<16|uint64(b[6]&0x0f|0x70)<<8|uint64(b[7]))
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// tokens are counts as Codex reports them.
type tokens struct {
	Total      int `json:"totalTokens"`
	Input      int `json:"inputTokens"`
	Cached     int `json:"cachedInputTokens"`
	CacheWrite int `json:"cacheWriteInputTokens"`
	Output     int `json:"outputTokens"`
	Reasoning  int `json:"reasoningOutputTokens"`
}

// tokenUsage holds the tokens that a thread has used in its whole life, and with its last response.
type tokenUsage struct {
	Total  tokens `json:"total"`
	Last   tokens `json:"last"`
	Window int    `json:"modelContextWindow"`
}

// spend adds to the usage of the thread, as one answer of a model does.
func (t *turn) spend(ctx context.Context, input, output int) {
	th := t.thread
	th.mu.Lock()
	defer th.mu.Unlock()
	th.tokens.Last = tokens{Total: input + output, Input: input, Output: output}
	th.tokens.Total.Total += input + output
	th.tokens.Total.Input += input
	th.tokens.Total.Output += output
	th.tokens.Window = 258400
	if err := th.rollout.add(record{Tokens: &th.tokens}); err != nil {
		t.agent.log.Error("failed to record usage", "error", err)
	}
	th.notifyUsage(ctx, t.agent.wire, t.id)
	t.agent.wire.notify(ctx, "account/rateLimits/updated", object{"rateLimits": object{
		"limitId": "codex", "limitName": nil, "normalModelSlug": nil, "primary": nil, "secondary": nil,
		"credits": nil, "individualLimit": nil, "spendControlReached": nil, "planType": nil,
		"rateLimitReachedType": nil}})
}

// notifyUsage sends the usage. t.mu must be held.
func (t *thread) notifyUsage(ctx context.Context, w *wire, turnID any) {
	w.notify(ctx, "thread/tokenUsage/updated", object{"threadId": t.ID, "turnId": turnID, "tokenUsage": t.tokens})
}
