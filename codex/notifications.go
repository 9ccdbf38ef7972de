package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// deltaInterval is the shortest time between two events about pieces of text or
	// output, of which a server sends thousands per second.
	deltaInterval = 100 * time.Millisecond
	// maxShownItem is the size above which an item is not decoded for a summary: it is
	// output, of which the summary shows nothing.
	maxShownItem = 64 << 10
)

// notifications makes events of the notifications of a server, and brings them to the turn, the
// spending and the programs.
type notifications struct {
	*core
	spending        *spending
	programs        *programs
	deltaQuietUntil time.Time // delta events are dropped until then; only the read loop uses it
}

// handle handles a notification, on the read loop. It fails if the notification cannot be
// understood.
func (n *notifications) handle(method string, params json.RawMessage) error {
	e := Event{Kind: Notification, Method: method, Summary: method, Progress: true}
	switch method {
	case "turn/completed", "turn/failed", "turn/cancelled":
		return n.onTurnEnded(e, params)
	case "error":
		return n.onError(e, params)
	case "item/started", "item/completed":
		n.onSteered(params)
		n.onItem(&e, params)
	case "thread/tokenUsage/updated", "codex/event/token_count":
		n.spending.onUsage(&e, params)
	case "account/rateLimits/updated":
		snapshot := rateLimits(params)
		if member(params, "ratelimits") == nil && hasValues(params) { // older servers send the snapshot itself
			snapshot = params
		}
		n.spending.onRateLimits(&e, snapshot)
	case "codex/event/stream_error": // older servers' error with willRetry
		e.Progress, e.Summary = false, "Codex retries: "+streamError(params)
		e.Doing = e.Summary
	case "thread/closed", "thread/deleted":
		n.onThreadClosed(method, params)
	case "thread/reverted":
		e.Summary = "somebody took back a part of the thread"
		e.Doing = e.Summary
	case "model/rerouted":
		n.onRerouted(params)
	case "thread/archived":
		n.onThreadArchived(params)
	case "thread/settings/updated":
		n.onSettings(params)
	case "warning", "guardianWarning", "configWarning", "deprecationNotice":
		e.Summary = textMember(params, "message", "summary")
	default:
		if method == execMethod+"/outputDelta" {
			if err := n.programs.onOutput(params); err != nil {
				return err
			}
		}
		if strings.HasSuffix(method, "elta") { // item/agentMessage/delta, outputDelta, agent_message_delta
			now := time.Now()
			if now.Before(n.deltaQuietUntil) {
				return nil
			}
			n.deltaQuietUntil = now.Add(deltaInterval)
		}
	}
	n.emit(e)
	return nil
}

// onTurnEnded ends the turn in progress if it is the one that ended. The event of
// kind TurnCompleted, or of another outcome, is emitted by Session.Turn.
func (n *notifications) onTurnEnded(e Event, params json.RawMessage) error {
	o, err := parseTurnOutcome(e.Method, params)
	if err != nil {
		return err
	}
	n.emit(e)
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.turnLocked(o.thread); t.isOn(o.thread) {
		t.endLocked(o)
	}
	return nil
}

// onError records an error that the turn in progress will fail with. An error that
// Codex retries is neither progress nor a failure: without a network Codex retries
// forever.
func (n *notifications) onError(e Event, params json.RawMessage) error {
	var p struct {
		turnRef
		Error     json.RawMessage `json:"error"`
		WillRetry bool            `json:"willRetry"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	f := parseServerError(p.Error)
	e.Summary = "error: " + f.Message
	if p.WillRetry {
		e.Progress, e.Summary = false, "Codex retries: "+cmp.Or(f.Details, f.Message)
	}
	e.Doing = e.Summary
	n.emit(e)
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.turnLocked(p.thread())
	if t.isOn(p.thread()) && !p.WillRetry && (p.TurnID == "" || t.id == "" || p.TurnID == t.id) {
		t.lastError = f
	}
	return nil
}

// onThreadClosed ends the session, and so the turn in progress, when the server
// closes the session's thread.
func (n *notifications) onThreadClosed(method string, params json.RawMessage) {
	var of turnRef
	decodeLenient(params, &of) // a notification that names no thread is about ours
	if of.thread() == "" || of.thread() == n.ThreadID() {
		n.conn.fail(fmt.Errorf("the thread: %w: Codex %s it: see the session's log", ErrPortExit, strings.TrimPrefix(method, "thread/")))
	}
}

// onRerouted warns that another model than the workflow names does the work: its price and
// its abilities differ.
func (n *notifications) onRerouted(params json.RawMessage) {
	to := textMember(params, "tomodel")
	n.mu.Lock() // without a name of the thread it is the session's own, and without a name of the model nobody knows its price
	n.spending.tariffs.rerouted[cmp.Or(textMember(params, "threadid"), n.thread)] = to
	n.mu.Unlock()
	said := "Codex has chosen another model: " + cmp.Or(to, "it does not say which")
	if from := textMember(params, "frommodel"); from != "" {
		said += " in place of " + from
	}
	if why := textMember(params, "reason"); why != "" {
		said += " (" + why + ")"
	}
	n.warn(text.OneLine(said, summaryRunes))
}

// onThreadArchived ends the turn in progress, because an archived thread does not
// continue. Some older servers archive a thread after each turn and still accept the
// next turn, so the notification is ignored until the server has answered turn/start.
func (n *notifications) onThreadArchived(params json.RawMessage) {
	var of turnRef
	decodeLenient(params, &of) // a notification that names no thread is about ours
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.turnLocked(of.thread()); t.isOn(of.thread()) && t.id != "" {
		t.endLocked(outcome{turn: of.TurnID, category: ErrTurnCancelled, failure: serverError{Message: "Codex archived the thread"}})
	}
}

// streamError returns the message of an older server about a lost connection to the
// model.
func streamError(params json.RawMessage) string {
	for _, body := range eventBodies(params) {
		if message := textMember(body, "message"); message != "" {
			return message
		}
	}
	return "the connection to the model"
}

// onSettings aborts the turn in progress, before the model is asked, if its settings
// are not those that were asked for.
func (n *notifications) onSettings(params json.RawMessage) {
	var of turnRef
	decodeLenient(params, &of) // a notification that names no thread is about ours
	n.mu.Lock()
	defer n.mu.Unlock()
	settings := member(params, "threadsettings")
	n.spending.tariffs.set(cmp.Or(of.thread(), n.thread), members(settings))
	t := n.turnLocked(of.thread())
	if settings == nil || !t.isOn(of.thread()) {
		return
	}
	if err := t.posture.verifySettings(t.o, members(settings)); err != nil {
		t.abortLocked(err)
	}
}

// item is the part of a thread item that summaries and questions are made of.
type item struct {
	Type           string
	Text           string
	Summary        []string // summary of the reasoning
	Command        string
	CommandActions []struct{ Command string }
	ExitCode       *int
	Changes        []struct{ Path string }
	Server, Tool   string
	Query          string
	Questions      []struct {
		Title   string
		Options []string
	}
	Model             string   // of the sub-agents
	ReceiverThreadIDs []string // threads of the sub-agents
}

// onItem describes an item in the event, and records that the agent acts, and the
// questions that it asks without waiting for an answer.
func (n *notifications) onItem(e *Event, params json.RawMessage) {
	if len(params) > maxShownItem && !bytes.Contains(params, []byte(`"questions"`)) && !bytes.Contains(params, []byte(`"agentMessage"`)) {
		return // output of an item that was small when it started
	}
	var p struct {
		turnRef
		Item item
	}
	decodeLenient(params, &p)
	e.Doing = p.Item.summary(n.o.Cwd)
	e.Summary = cmp.Or(e.Doing, e.Method)
	if e.Method == "item/completed" && p.Item.Type == "commandExecution" {
		e.Doing = "ran `" + p.Item.command() + "`"
		if code := p.Item.ExitCode; code != nil && *code != 0 {
			e.Doing += fmt.Sprintf(", exit code %d", *code)
			e.Summary = e.Doing
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, thread := range p.Item.ReceiverThreadIDs {
		if p.Item.Model != "" {
			n.spending.tariffs.model[thread] = p.Item.Model
		}
	}
	t := n.turnLocked(p.thread())
	if t == nil {
		return
	}
	t.acted = t.acted || p.Item.acts()
	if e.Method != "item/completed" {
		return
	}
	switch {
	case p.Item.Type != "agentMessage":
	case t.isReview():
		t.said = p.Item.Text
	default:
		e.Said = p.Item.Text
	}
	for _, q := range p.Item.Questions {
		t.nonBlockingQuestions = append(t.nonBlockingQuestions, formatQuestion(q.Title, q.Options))
	}
}

// acts reports whether the item is more than thinking and speaking.
func (i item) acts() bool {
	return !slices.Contains([]string{"", "userMessage", "agentMessage", "reasoning", "plan", "contextCompaction"}, i.Type)
}

// summary describes the item in a few words for people. Paths are shown as seen from
// the workspace. It is empty for our own input.
func (i item) summary(cwd string) string {
	switch i.Type {
	case "commandExecution":
		return "running `" + i.command() + "`"
	case "fileChange":
		if len(i.Changes) == 0 {
			return "editing files"
		}
		first := strings.TrimPrefix(i.Changes[0].Path, cwd+"/")
		if more := len(i.Changes) - 1; more > 0 {
			return fmt.Sprintf("editing %s and %d more", first, more)
		}
		return "editing " + first
	case "dynamicToolCall":
		return "calling " + i.Tool
	case "mcpToolCall":
		return "calling " + i.Server + "." + i.Tool
	case "agentMessage":
		return cmp.Or(i.Text, "writing")
	case "reasoning":
		if len(i.Summary) == 0 {
			return "thinking"
		}
		return "thinking: " + strings.ReplaceAll(i.Summary[len(i.Summary)-1], "**", "")
	case "plan":
		return "planning: " + i.Text
	case "webSearch":
		if i.Query == "" {
			return "searching the web"
		}
		return "searching the web for " + i.Query
	case "imageView":
		return "looking at an image"
	case "contextCompaction":
		return "compacting its context"
	case "userMessage": // our own input
		return ""
	}
	return i.Type
}

// command returns the command of the item, without the shell that runs it if Codex
// names it separately.
func (i item) command() string {
	if len(i.CommandActions) == 1 {
		return cmp.Or(i.CommandActions[0].Command, i.Command)
	}
	return i.Command
}

func approvalCommand(params json.RawMessage) string {
	var i item
	decodeLenient(params, &i) // older servers send a list of words, which is not shown
	return i.command()
}

func formatQuestion(text string, options []string) string {
	if len(options) == 0 {
		return text
	}
	return text + " (" + strings.Join(options, " / ") + ")"
}
