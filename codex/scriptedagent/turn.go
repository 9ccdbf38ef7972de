package scriptedagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrInterrupted is the error of a step whose turn the client interrupts.
var ErrInterrupted = errors.New("interrupted")

// Failure is the error of a step that fails its turn as planned, so that the turn's part of
// the script is done.
type Failure struct {
	Message string
	Info    any // codexErrorInfo: a name, or an object of a name and details
}

func (f *Failure) Error() string { return f.Message }

func (f *Failure) object() Object {
	return Object{"message": f.Message, "codexErrorInfo": f.Info, "additionalDetails": nil, "misalignment": nil}
}

// Turn is one turn of a thread while it runs, in a goroutine of its own.
type Turn struct {
	ID, ThreadID, Cwd string

	server    *server
	thread    *thread
	text      string // text of the client's prompt
	began     time.Time
	interrupt context.CancelCauseFunc
	items     int    // so far, to number them
	said      Object // the last message, if nothing came after it
}

// startTurn starts a turn, or gives the input to the one that runs, as Codex does. t.mu must
// be held.
func (t *thread) startTurn(ctx context.Context, r request) {
	text := r.text()
	if turn := t.active; turn != nil {
		r.reply(Object{"turn": turn.object("inProgress", nil)})
		turn.hear(text, r.ClientID)
		return
	}
	t.Cwd = cmp.Or(r.Cwd, t.Cwd)
	turn := &Turn{ID: newID(), ThreadID: t.ID, Cwd: t.Cwd, server: r.s, thread: t, text: text, began: time.Now()}
	t.active = turn
	ctx, turn.interrupt = context.WithCancelCause(ctx)
	r.reply(Object{"turn": turn.object("inProgress", nil)})
	r.s.running.Go(func() {
		defer turn.interrupt(nil)
		turn.run(ctx)
	})
}

// run does the turn's part of the script and reports the outcome of the turn.
func (t *Turn) run(ctx context.Context) {
	t.Notify("thread/status/changed", Object{"status": Object{"type": "active", "activeFlags": []string{}}})
	t.Notify("turn/started", Object{"turn": t.object("inProgress", nil)})
	t.hear(t.text, "")
	err := t.begin()
	if err == nil {
		err = t.steps(ctx)
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrInterrupted) {
		return // the process ends: no client is left to be told
	}
	t.Spend(100, 20)
	t.finish(err)
}

func (t *Turn) begin() error {
	t.thread.mu.Lock()
	defer t.thread.mu.Unlock()
	if len(t.thread.Turns) == 0 {
		t.thread.Prompt = t.text
	}
	t.thread.Turns = append(t.thread.Turns, t.object("inProgress", nil))
	return t.thread.save()
}

func (t *Turn) steps(ctx context.Context) error {
	parts, err := parseScript(t.thread.Prompt, slices.Concat(verbs(), t.server.Verbs))
	if err != nil {
		return err
	}
	part := t.thread.Parts
	if part >= len(parts) || len(parts[part]) == 0 {
		t.Say("There is nothing left to do.")
		return nil
	}
	for _, s := range parts[part] {
		if err := s.verb.Run(ctx, t, s.args); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if t.said == nil {
		t.Say(fmt.Sprintf("Done: %d of %d parts.", part+1, len(parts)))
	}
	return nil
}

// finish reports the end of the turn to the client and makes room for another one.
func (t *Turn) finish(err error) {
	status := "failed"
	var failure *Failure
	done := err == nil || errors.As(err, &failure)
	switch {
	case err == nil:
		status = "completed"
	case errors.Is(err, ErrInterrupted):
		status = "interrupted"
	case failure == nil:
		failure = &Failure{Message: err.Error(), Info: "other"}
	}
	t.Notify("thread/readState/changed", Object{"readState": Object{
		"firstUnread": Object{"type": "turn", "turnId": t.ID}, "revision": newID()}})
	if failure != nil {
		t.Notify("thread/status/changed", Object{"status": Object{"type": "systemError"}})
		t.Notify("error", Object{"turnId": t.ID, "willRetry": false, "error": failure.object()})
	} else {
		t.Notify("thread/status/changed", Object{"status": Object{"type": "idle"}})
	}

	t.thread.mu.Lock()
	defer t.thread.mu.Unlock()
	end := t.object(status, failure)
	t.thread.Turns[len(t.thread.Turns)-1] = end
	if done {
		t.thread.Parts++
	}
	t.thread.active = nil
	if err := t.thread.save(); err != nil {
		t.server.stop(fmt.Errorf("the scripted agent cannot store its thread: %w", err))
	}
	t.Notify("turn/completed", Object{"turn": end})
}

// object returns the turn as it is sent. A turn in progress has no times of its end.
func (t *Turn) object(status string, failure *Failure) Object {
	o := Object{
		"id": t.ID, "rootTurnId": t.ID, "status": status, "error": nil,
		"items": []Object{}, "itemsView": "notLoaded",
		"startedAt": t.began.Unix(), "completedAt": nil, "durationMs": nil,
	}
	if status != "inProgress" {
		o["completedAt"] = time.Now().Unix()
		o["durationMs"] = time.Since(t.began).Milliseconds()
	}
	if status == "completed" && t.said != nil {
		o["items"], o["itemsView"] = []Object{t.said}, "summary"
	}
	if failure != nil {
		o["error"] = failure.object()
	}
	return o
}

// Notify sends a notification about the thread.
func (t *Turn) Notify(method string, params Object) {
	params["threadId"] = t.ThreadID
	t.server.notify(method, params)
}

// Ask sends a request about the turn and waits for the answer.
func (t *Turn) Ask(ctx context.Context, method string, params Object) (id int, answer Message, err error) {
	params["threadId"], params["turnId"] = t.ThreadID, t.ID
	id, answers := t.server.ask(method, params)
	select {
	case answer = <-answers:
		return id, answer, nil
	case <-ctx.Done():
		return id, answer, context.Cause(ctx)
	}
}

// Write sends a line verbatim, also one that Codex would never send.
func (t *Turn) Write(line string) { t.server.line([]byte(line + "\n")) }

// End ends the agent: Serve returns the error.
func (t *Turn) End(err error) { t.server.stop(err) }

func (t *Turn) itemID(kind string) string {
	t.items++
	return fmt.Sprintf("%s_%s_%d", kind, t.ID[len(t.ID)-12:], t.items)
}

// Item announces that an item has started. It returns a function that announces its end;
// the caller may change the item before that.
func (t *Turn) Item(item Object) (end func()) {
	t.said = nil
	return t.announce(item)
}

func (t *Turn) announce(item Object) (end func()) {
	now := time.Now().UnixMilli()
	item["startedAtMs"], item["completedAtMs"] = now, nil
	t.Notify("item/started", Object{"turnId": t.ID, "item": item, "startedAtMs": now})
	return func() {
		now := time.Now().UnixMilli()
		item["completedAtMs"] = now
		t.Notify("item/completed", Object{"turnId": t.ID, "item": item, "completedAtMs": now, "contentTokenCount": nil})
	}
}

func (r request) text() string {
	var texts []string
	for _, in := range r.Input {
		texts = append(texts, in.Text)
	}
	return strings.Join(texts, "\n")
}

// hear announces the client's text, also in the middle of the turn, with the name that the client
// gave to it; an empty one for none.
func (t *Turn) hear(text, name string) {
	var client any
	if name != "" {
		client = name
	}
	t.announce(Object{"type": "userMessage", "id": newID(), "clientId": client,
		"content": []Object{{"type": "text", "text": text, "text_elements": []Object{}}}})()
}

// Message returns a message of the agent without text.
func (t *Turn) Message() Object {
	return Object{"type": "agentMessage", "id": t.itemID("msg"), "text": "", "phase": nil, "moderation": nil,
		"memoryCitation": nil, "delivery": nil, "questions": nil}
}

// Say sends a message of the agent in one piece.
func (t *Turn) Say(text string) {
	item := t.Message()
	end := t.Item(item)
	t.Notify("item/agentMessage/delta", Object{"turnId": t.ID, "itemId": item["id"], "delta": text})
	item["text"] = text
	end()
	t.said = item
}

// Spend adds to the usage of the thread, as one answer of a model does.
func (t *Turn) Spend(input, output int) {
	t.thread.mu.Lock()
	defer t.thread.mu.Unlock()
	t.thread.Total.In += input
	t.thread.Total.Out += output
	t.server.notify("thread/tokenUsage/updated", t.thread.usage(t.ID, tokens{input, output}))
}
