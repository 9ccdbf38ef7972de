package codex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	// deltaInterval is the least time between two events about pieces of text or
	// output, which come in thousands per second.
	deltaInterval = 100 * time.Millisecond
	// maxShownItem is a size from which an item is output that nobody reads here.
	maxShownItem = 64 << 10
)

// handleNotification deals with a notification; on the read loop. An error means that it
// makes no sense.
func (s *Session) handleNotification(method string, params json.RawMessage) error {
	e := Event{Kind: Notification, Method: method, Summary: method, Progress: true}
	switch method {
	case "turn/completed", "turn/failed", "turn/cancelled":
		return s.onTurnEnded(e, params)
	case "error":
		return s.onError(e, params)
	case "item/started", "item/completed":
		s.onItem(&e, params)
	case "thread/tokenUsage/updated", "codex/event/token_count":
		s.onUsage(&e, params)
	case "account/rateLimits/updated":
		snapshot := rateLimits(params)
		if member(params, "ratelimits") == nil && hasValues(params) { // older servers send the snapshot itself
			snapshot = params
		}
		s.onRateLimits(&e, snapshot)
	case "codex/event/stream_error": // older servers' error with willRetry
		e.Progress, e.Summary = false, "Codex retries: "+streamError(params)
	case "thread/closed":
		s.onThreadClosed(params)
	case "thread/archived":
		s.onThreadArchived(params)
	case "thread/settings/updated":
		s.onSettings(params)
	case "warning", "guardianWarning", "configWarning", "deprecationNotice":
		e.Summary = text(params, "message", "summary")
	default:
		if strings.HasSuffix(method, "elta") { // item/agentMessage/delta, outputDelta, agent_message_delta
			now := time.Now()
			if now.Before(s.deltaQuietUntil) {
				return nil
			}
			s.deltaQuietUntil = now.Add(deltaInterval)
		}
	}
	s.emit(e)
	return nil
}

// onTurnEnded ends our turn if it is the one that ended. The event of the turn is
// the turn's own.
func (s *Session) onTurnEnded(e Event, params json.RawMessage) error {
	o, err := parseTurnOutcome(e.Method, params)
	if err != nil {
		return err
	}
	s.emit(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil && (o.thread == "" || o.thread == s.thread) {
		s.turn.endLocked(o)
	}
	return nil
}

// onError keeps an error for the turn that will fail of it. One that Codex
// retries is neither progress nor failure: without a network it retries for ever.
func (s *Session) onError(e Event, params json.RawMessage) error {
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
	s.emit(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t != nil && !p.WillRetry && (p.thread() == "" || p.thread() == s.thread) && (p.TurnID == "" || t.id == "" || p.TurnID == t.id) {
		t.lastError = f
	}
	return nil
}

// onUsage counts the tokens of a usage report. Reports of older servers bring
// the account's limits along, or those alone.
func (s *Session) onUsage(e *Event, params json.RawMessage) {
	s.onRateLimits(e, rateLimits(params))
	total, last, ok := parseUsageReport(params)
	if !ok {
		return
	}
	thread, turn := usageTurn(params)
	s.mu.Lock()
	defer s.mu.Unlock()
	// A report that does not name its turn comes from the one in progress.
	ours := s.turn != nil && s.turn.id != "" && (turn == "" || turn == s.turn.id)
	s.meter.report(cmp.Or(thread, s.thread, s.o.Resume), total, last, ours)
	spent := s.meter.spent()
	e.Usage, e.Summary = &spent, fmt.Sprintf("%d tokens used", spent.Total())
}

// onRateLimits keeps a snapshot of the account's limits; nil says nothing.
func (s *Session) onRateLimits(e *Event, snapshot json.RawMessage) {
	if snapshot == nil {
		return
	}
	e.RateLimits = snapshot
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = snapshot
}

// onThreadClosed ends the session, and the turn in progress, with its thread.
func (s *Session) onThreadClosed(params json.RawMessage) {
	var of turnRef
	_ = json.Unmarshal(params, &of) // without an owner it is ours
	if of.thread() == "" || of.thread() == s.ThreadID() {
		s.conn.fail(fmt.Errorf("the thread: %w: Codex closed it: see the session's log", ErrPortExit))
	}
}

// onThreadArchived ends the turn in progress: nothing more comes of an archived
// thread. Some older servers archive a thread after each turn and take the next one
// all the same, so before the server has answered turn/start it means nothing.
func (s *Session) onThreadArchived(params json.RawMessage) {
	var of turnRef
	_ = json.Unmarshal(params, &of) // without an owner it is ours
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil && s.turn.id != "" && (of.thread() == "" || of.thread() == s.thread) {
		s.turn.endLocked(outcome{turn: of.TurnID, category: ErrTurnCancelled, failure: serverError{Message: "Codex archived the thread"}})
	}
}

// streamError returns what an older server says of a connection to the model that
// it lost.
func streamError(params json.RawMessage) string {
	for _, body := range eventBodies(params) {
		if message := text(body, "message"); message != "" {
			return message
		}
	}
	return "the connection to the model"
}

// onSettings ends our turn before its first word if its settings are not
// those that were asked for.
func (s *Session) onSettings(params json.RawMessage) {
	var of turnRef
	_ = json.Unmarshal(params, &of) // without an owner it is ours
	s.mu.Lock()
	defer s.mu.Unlock()
	settings := member(params, "threadsettings")
	if s.turn == nil || settings == nil || of.thread() != "" && of.thread() != s.thread {
		return
	}
	if err := s.posture.verifySettings(s.o, settings); err != nil {
		s.turn.abortLocked(err)
	}
}

// item is the part of a thread item that people are told about.
type item struct {
	Type           string
	Text           string
	Command        string
	CommandActions []struct{ Command string }
	Changes        []struct{ Path string }
	Server, Tool   string
	Questions      []struct {
		Title   string
		Options []string
	}
}

func (s *Session) onItem(e *Event, params json.RawMessage) {
	if len(params) > maxShownItem && !bytes.Contains(params, []byte(`"questions"`)) {
		return
	}
	var p struct{ Item item }
	_ = json.Unmarshal(params, &p) // a field of an unexpected type leaves the others readable
	e.Summary = cmp.Or(p.Item.summary(), e.Method)
	if e.Method != "item/completed" || len(p.Item.Questions) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return
	}
	for _, q := range p.Item.Questions {
		s.turn.nonBlockingQuestions = append(s.turn.nonBlockingQuestions, formatQuestion(q.Title, q.Options))
	}
}

func (i item) summary() string {
	switch i.Type {
	case "commandExecution":
		return "running `" + i.command() + "`"
	case "fileChange":
		if len(i.Changes) == 1 {
			return "editing " + i.Changes[0].Path
		}
		return fmt.Sprintf("editing %d files", len(i.Changes))
	case "dynamicToolCall":
		return "calling " + i.Tool
	case "mcpToolCall":
		return "calling " + i.Server + "." + i.Tool
	case "agentMessage":
		return cmp.Or(i.Text, "writing")
	case "reasoning":
		return "thinking"
	case "webSearch":
		return "searching the web"
	case "contextCompaction":
		return "compacting its context"
	case "userMessage": // we said it ourselves
		return ""
	}
	return i.Type
}

// command is what runs, if possible without the shell that runs it.
func (i item) command() string {
	if len(i.CommandActions) == 1 {
		return cmp.Or(i.CommandActions[0].Command, i.Command)
	}
	return i.Command
}

// approvalCommand is the one that an approval is about.
func approvalCommand(params json.RawMessage) string {
	var i item
	_ = json.Unmarshal(params, &i) // older servers send a list of words: no command is shown
	return i.command()
}

// formatQuestion is what a person reads: the formatQuestion and what may be chosen.
func formatQuestion(text string, options []string) string {
	if len(options) == 0 {
		return text
	}
	return text + " (" + strings.Join(options, " / ") + ")"
}
