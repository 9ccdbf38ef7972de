package scriptedagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// inputCap is the longest input of a turn, in characters.
const inputCap = 1 << 20

// errInterrupted is the error of a step whose turn the client interrupts.
var errInterrupted = errors.New("interrupted")

// turn is one turn of a thread while it runs, in a goroutine of its own.
type turn struct {
	agent  *agent
	thread *thread
	id     string
	text   string // of the client's prompt
	began  time.Time

	interrupt   context.CancelFunc
	interrupted <-chan struct{} // closed also when the agent ends

	items int    // so far, to number them
	said  object // the last message, if nothing came after it
}

func (a *agent) startTurn(ctx context.Context, params json.RawMessage) (object, func(), *wireError) {
	var p struct {
		ThreadID       *string
		Input          []struct{ Type, Text string }
		Cwd            string
		ApprovalPolicy json.RawMessage
		SandboxPolicy  json.RawMessage
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if p.ThreadID == nil {
		return nil, nil, missing("threadId")
	}
	if p.Input == nil {
		return nil, nil, missing("input")
	}
	th, ok := a.threads[*p.ThreadID]
	if !ok {
		return nil, nil, invalid("thread not found: %s", *p.ThreadID)
	}
	if err := cmp.Or(a.checkApproval(p.ApprovalPolicy), checkSandboxPolicy(p.SandboxPolicy)); err != nil {
		return nil, nil, err
	}
	var texts []string
	for _, in := range p.Input {
		texts = append(texts, in.Text)
	}
	text := strings.Join(texts, "\n")
	if n := utf8.RuneCountInString(text); n > inputCap {
		return nil, nil, &wireError{Code: -32602,
			Message: fmt.Sprintf("Input exceeds the maximum length of %d characters.", inputCap),
			Data:    object{"input_error_code": "input_too_large", "max_chars": inputCap, "actual_chars": n}}
	}

	th.mu.Lock()
	defer th.mu.Unlock()
	if t := th.active; t != nil { // as in Codex, the input goes to the running turn
		return object{"turn": t.object("inProgress", nil)}, func() { t.hear(ctx, text) }, nil
	}
	if p.Cwd != "" {
		th.Cwd = p.Cwd
	}
	t := &turn{agent: a, thread: th, id: newID(), text: text, began: time.Now()}
	th.active = t
	running, interrupt := context.WithCancel(ctx)
	t.interrupt, t.interrupted = interrupt, running.Done()
	return object{"turn": t.object("inProgress", nil)}, func() {
		a.turns.Go(func() {
			defer interrupt()
			t.run(ctx)
		})
	}, nil
}

func (a *agent) interruptTurn(params json.RawMessage) (object, func(), *wireError) {
	var p struct{ ThreadID, TurnID string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	th, ok := a.threads[p.ThreadID]
	if !ok {
		return nil, nil, invalid("thread not found: %s", p.ThreadID)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	switch t := th.active; {
	case t == nil:
		return nil, nil, invalid("no active turn to interrupt")
	case t.id != p.TurnID:
		return nil, nil, invalid("expected active turn id %s but found %s", p.TurnID, t.id)
	default:
		return object{}, t.interrupt, nil
	}
}

// run does the turn's part of the script and reports how the turn ended.
func (t *turn) run(ctx context.Context) {
	err := t.begin(ctx)
	if err == nil {
		err = t.steps(ctx)
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		t.agent.stop(exit)
	}
	if ctx.Err() != nil {
		return // the process ends: no client is left to be told
	}
	t.spend(ctx, 100, 20)
	t.finish(ctx, err)
}

// begin announces the turn and records it in the thread and its rollout.
func (t *turn) begin(ctx context.Context) error {
	t.notify(ctx, "thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{}}})
	t.notify(ctx, "turn/started", object{"turn": t.object("inProgress", nil)})
	t.hear(ctx, t.text)

	t.thread.mu.Lock()
	defer t.thread.mu.Unlock()
	if len(t.thread.turns) == 0 {
		t.thread.Prompt = t.text
	}
	t.thread.turns = append(t.thread.turns, t.object("inProgress", nil))
	if t.thread.rollout == nil && t.thread.home != "" {
		r, err := createRollout(t.thread.home, t.thread.memory)
		if err != nil {
			return err
		}
		t.thread.rollout = r
		if t.thread.name != "" {
			if err := r.add(record{Name: t.thread.name}); err != nil {
				return err
			}
		}
	}
	return t.thread.rollout.add(record{Begun: t.object("inProgress", nil)})
}

// steps does the steps of the script for this turn.
func (t *turn) steps(ctx context.Context) error {
	script, err := parseScript(t.thread.Prompt)
	if err != nil {
		return err
	}
	part := t.thread.parts
	if part >= len(script.Turns) || len(script.Turns[part]) == 0 {
		t.say(ctx, "There is nothing left to do.")
		return nil
	}
	for _, s := range script.Turns[part] {
		v, _ := lookup(s.Verb)
		if err := v.run(ctx, t, s.Args); err != nil {
			return err
		}
		if err := t.stopped(ctx); err != nil {
			return err
		}
	}
	if t.said == nil {
		t.say(ctx, fmt.Sprintf("Done: %d of %d parts.", part+1, len(script.Turns)))
	}
	return nil
}

// finish reports the end of the turn to the client and makes room for another one.
func (t *turn) finish(ctx context.Context, err error) {
	status := "failed"
	var failure *turnFailure
	done := err == nil || errors.As(err, &failure) // a failure that the script asks for is work done
	switch {
	case err == nil:
		status = "completed"
	case errors.Is(err, errInterrupted):
		status = "interrupted"
	case failure == nil:
		failure = &turnFailure{Message: err.Error(), Info: "other"}
	}
	t.notify(ctx, "thread/readState/changed", object{"readState": object{
		"firstUnread": object{"type": "turn", "turnId": t.id}, "revision": newID()}})
	if failure != nil {
		t.notify(ctx, "thread/status/changed", object{"status": object{"type": "systemError"}})
		t.notify(ctx, "error", object{"turnId": t.id, "willRetry": false, "error": failure.object()})
	} else {
		t.notify(ctx, "thread/status/changed", object{"status": object{"type": "idle"}})
	}

	t.thread.mu.Lock()
	defer t.thread.mu.Unlock()
	end := t.object(status, failure)
	t.thread.turns[len(t.thread.turns)-1] = end
	if done {
		t.thread.parts++
	}
	if err := t.thread.rollout.add(record{Ended: end, PartDone: done}); err != nil {
		t.agent.log.Error("failed to record turn", "error", err)
	}
	t.thread.active = nil
	t.notify(ctx, "turn/completed", object{"turn": end})
}

// notify sends a notification about the thread.
func (t *turn) notify(ctx context.Context, method string, params object) {
	params["threadId"] = t.thread.ID
	t.agent.wire.notify(ctx, method, params)
}

// await waits for a step's channel, unless the turn is interrupted.
func await[T any](ctx context.Context, t *turn, c <-chan T) (T, error) {
	select {
	case v := <-c:
		return v, nil
	case <-t.interrupted:
		var none T
		return none, t.stopped(ctx)
	}
}

// stopped returns the reason why the turn ends early, or nil.
func (t *turn) stopped(ctx context.Context) error {
	select {
	case <-t.interrupted:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errInterrupted
	default:
		return nil
	}
}

// object returns the turn as it is sent. A turn in progress has no times of its end.
func (t *turn) object(status string, failure *turnFailure) object {
	o := object{
		"id": t.id, "rootTurnId": t.id, "status": status, "error": nil,
		"items": []object{}, "itemsView": "notLoaded",
		"startedAt": t.began.Unix(), "completedAt": nil, "durationMs": nil,
	}
	if status != "inProgress" {
		o["completedAt"] = time.Now().Unix()
		o["durationMs"] = time.Since(t.began).Milliseconds()
	}
	if status == "completed" && t.said != nil {
		o["items"], o["itemsView"] = []object{t.said}, "summary"
	}
	if failure != nil {
		o["error"] = failure.object()
	}
	return o
}

// itemID numbers the items of the turn.
func (t *turn) itemID(kind string) string {
	t.items++
	return fmt.Sprintf("%s_%s_%d", kind, t.id[len(t.id)-12:], t.items)
}

// item announces that an item has started. It returns a function that announces its end;
// the caller may change the item before that.
func (t *turn) item(ctx context.Context, item object) (end func(context.Context)) {
	now := time.Now().UnixMilli()
	item["startedAtMs"], item["completedAtMs"] = now, nil
	t.notify(ctx, "item/started", object{"turnId": t.id, "item": item, "startedAtMs": now})
	return func(ctx context.Context) {
		now := time.Now().UnixMilli()
		item["completedAtMs"] = now
		t.notify(ctx, "item/completed", object{"turnId": t.id, "item": item, "completedAtMs": now, "contentTokenCount": nil})
	}
}

// hear announces what the client says.
func (t *turn) hear(ctx context.Context, text string) {
	t.item(ctx, object{"type": "userMessage", "id": newID(), "clientId": nil,
		"content": []object{{"type": "text", "text": text, "text_elements": []object{}}}})(ctx)
}

// message returns a message of the agent without text.
func (t *turn) message() object {
	return object{"type": "agentMessage", "id": t.itemID("msg"), "text": "", "phase": nil, "moderation": nil,
		"memoryCitation": nil, "delivery": nil, "questions": nil}
}

// say sends a message of the agent in one piece.
func (t *turn) say(ctx context.Context, text string) {
	item := t.message()
	end := t.item(ctx, item)
	t.notify(ctx, "item/agentMessage/delta", object{"turnId": t.id, "itemId": item["id"], "delta": text})
	item["text"] = text
	end(ctx)
	t.said = item
}
