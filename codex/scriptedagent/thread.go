package scriptedagent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// thread is a conversation. A later process needs its exported fields.
type thread struct {
	ID       string
	Created  int64 // time in Unix seconds
	Cwd      string
	Model    string
	Approval json.RawMessage
	Tools    []tool

	path    string // file of the thread; empty if it has none
	profile any    // the permission profile of its start, or nil
	proxied bool   // its settings switch the feature network_proxy on

	commands sync.Map // running commands, as *exec.Cmd, with the channel that is closed at their end

	mu     sync.Mutex // guards the fields below
	Name   string
	Prompt string   // prompt of the first turn: the script
	Turns  []Object // turns that have begun, as on the wire
	Parts  int      // number of finished parts of the script
	Total  tokens   // tokens of the thread's whole life
	active *Turn
}

// tool is a tool that the client offers.
type tool struct {
	Name string `json:"name"`
}

func (s *server) startThread(r request) {
	here, _ := os.Getwd() // if that fails, so do the steps of a turn
	t := &thread{ID: newID(), Created: time.Now().Unix(), Cwd: here, Model: cmp.Or(r.Model, "scripted"), Tools: r.DynamicTools, Approval: json.RawMessage(`"on-request"`)}
	t.configure(r)
	if s.Home != "" && !r.Ephemeral { // Codex would store it
		now := time.Now()
		t.path = filepath.Join(s.Home, "sessions", now.Format("2006/01/02"), "rollout-"+now.Format("2006-01-02T15-04-05")+"-"+t.ID+".jsonl")
	}
	s.threads[t.ID] = t
	opened := t.opened(s.client, true)
	r.reply(opened)
	s.notify("thread/started", Object{"thread": opened["thread"]})
}

// resumeThread continues a thread of this process or of an earlier one. It keeps the
// tools and the script that it was started with.
func (s *server) resumeThread(r request) *Error {
	t := s.threads[r.ThreadID]
	if t == nil {
		if t = loadThread(s.Home, r.ThreadID); t == nil {
			return Invalid("no rollout found for thread id %s", r.ThreadID)
		}
		s.threads[t.ID] = t
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		t.configure(r)
	}
	result := t.opened(s.client, r.ExcludeTurns)
	result["initialTurnsPage"], result["turnsBackwardsCursor"], result["itemsBackwardsCursor"] = nil, nil, nil
	result["collaborationMode"] = Object{"mode": "default", "settings": Object{
		"model": t.Model, "reasoning_effort": nil, "developer_instructions": nil}}
	r.reply(result)
	if n := len(t.Turns); n > 0 {
		s.notify("thread/tokenUsage/updated", t.usage(t.Turns[n-1]["id"], tokens{}))
	}
	return nil
}

func (t *thread) configure(r request) {
	t.Cwd = cmp.Or(r.Cwd, t.Cwd)
	if r.ApprovalPolicy != nil {
		t.Approval = r.ApprovalPolicy
	}
	t.proxied = r.Config.NetworkProxy
	if t.profile = nil; r.Config.Profile != "" && r.Sandbox == "" {
		t.profile = Object{"id": r.Config.Profile, "extends": nil}
	}
}

func (t *thread) handle(ctx context.Context, method string, r request) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch method {
	case "thread/name/set":
		t.Name = r.Name
		if err := t.save(); err != nil {
			return Invalid("failed to set thread name: %v", err)
		}
		r.reply(Object{})
		r.s.notify("thread/name/updated", Object{"threadId": t.ID, "threadName": t.Name})
	case "thread/backgroundTerminals/clean": // these are the commands that outlived their turns
		t.killCommands()
		r.reply(Object{})
	case "experimentalFeature/list": // the one that the client looks for
		r.reply(Object{"data": []Object{{"name": "network_proxy", "stage": "experimental", "enabled": t.proxied, "defaultEnabled": false}}, "nextCursor": nil})
	case "turn/start":
		t.startTurn(ctx, r)
	case "turn/steer":
		switch {
		case t.active == nil:
			return Invalid("no active turn to steer")
		case t.active.ID != r.ExpectedTurnID:
			return Invalid("expected active turn id `%s` but found `%s`", r.ExpectedTurnID, t.active.ID)
		}
		r.reply(Object{"turnId": t.active.ID})
		t.active.hear(r.text(), r.ClientID)
	case "turn/interrupt":
		switch {
		case t.active == nil:
			return Invalid("no active turn to interrupt")
		case t.active.ID != r.TurnID:
			return Invalid("expected active turn id %s but found %s", r.TurnID, t.active.ID)
		}
		r.reply(Object{})
		t.active.interrupt(ErrInterrupted)
	}
	return nil
}

func (t *thread) killCommands() {
	t.commands.Range(func(cmd, ended any) bool {
		_ = syscall.Kill(-cmd.(*exec.Cmd).Process.Pid, syscall.SIGKILL) // it may have ended
		<-ended.(chan struct{})
		return true
	})
}

// save stores the thread once it has a turn. A thread that is read again has its last turn
// as it was then, so a killed turn counts. t.mu must be held.
func (t *thread) save() error {
	if t.path == "" || len(t.Turns) == 0 {
		return nil
	}
	text, err := json.Marshal(t)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(t.path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(t.path+".new", append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(t.path+".new", t.path)
	}
	return err
}

// loadThread returns a thread of an earlier process, or nil. It searches all of sessions,
// because the file may have been copied from another home.
func loadThread(home, id string) *thread {
	t := new(thread)
	if home == "" || id == "" {
		return nil
	}
	_ = filepath.WalkDir(filepath.Join(home, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, "-"+id+".jsonl") {
			t.path = path
			return filepath.SkipAll
		}
		return err
	})
	text, err := os.ReadFile(t.path)
	if err != nil || json.Unmarshal(text, t) != nil || t.ID != id || len(t.Turns) == 0 {
		return nil
	}
	if last := t.Turns[len(t.Turns)-1]; last["status"] == "inProgress" {
		last["status"] = "interrupted"
	}
	return t
}

func (t *thread) opened(client string, excludeTurns bool) Object {
	turns, status := []Object{}, Object{"type": "idle"}
	if !excludeTurns {
		turns = append(turns, t.Turns...)
	}
	if t.active != nil {
		status = Object{"type": "active", "activeFlags": []string{}}
	}
	roots := []string{t.Cwd}
	return Object{
		"thread": Object{
			"id": t.ID, "sessionId": t.ID, "name": orNil(t.Name), "preview": t.Prompt, "status": status,
			"cwd": t.Cwd, "path": orNil(t.path), "ephemeral": t.path == "",
			"environments": []Object{{"environmentId": "local", "cwd": t.Cwd, "runtimeWorkspaceRoots": roots}},
			"model":        t.Model, "modelProvider": "scripted", "reasoningEffort": nil,
			"createdAt": t.Created, "updatedAt": t.Created, "recencyAt": t.Created,
			"cliVersion": version, "originator": client, "source": "vscode", "historyMode": "paginated",
			"turns": turns, "canAcceptDirectInput": true,
			"extra": nil, "forkedFromId": nil, "attachedToThreadId": nil, "parentThreadId": nil, "section": nil,
			"sectionEnteredAt": nil, "projectId": nil, "threadSource": nil, "agentNickname": nil, "agentRole": nil,
			"gitInfo": nil, "daybreakEnabled": nil,
		},
		"model": t.Model, "modelProvider": "scripted", "serviceTier": nil, "disabledPluginIds": []string{},
		"cwd": t.Cwd, "runtimeWorkspaceRoots": roots, "instructionSources": []string{},
		"approvalPolicy": t.Approval, "approvalsReviewer": "user",
		"sandbox": Object{"type": "readOnly", "networkAccess": false}, "activePermissionProfile": t.profile,
		"reasoningEffort": nil, "multiAgentMode": "explicitRequestOnly",
	}
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// tokens counts the tokens of a model.
type tokens struct{ In, Out int }

func (n tokens) object() Object {
	return Object{"totalTokens": n.In + n.Out, "inputTokens": n.In, "cachedInputTokens": 0, "cacheWriteInputTokens": 0, "outputTokens": n.Out, "reasoningOutputTokens": 0}
}

// usage returns the tokens of the thread, in all and of its last response. t.mu must be held.
func (t *thread) usage(turnID any, last tokens) Object {
	return Object{"threadId": t.ID, "turnId": turnID,
		"tokenUsage": Object{"total": t.Total.object(), "last": last.object(), "modelContextWindow": 258400}}
}
