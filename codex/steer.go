package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// ErrNotSteered says that the model did not get the text of [Session.Steer]: no turn was in
// progress, the server refused the text, or the turn ended before it took it.
var ErrNotSteered = errors.New("turn_not_steered")

// steerPrefix begins the name by which the server tells when it takes a text into the turn.
const steerPrefix = "symphony-steer-"

// Steer gives a text to the turn in progress, and returns when the model's next request has it.
// Until then the server keeps the text while a tool call runs, and a turn that is interrupted
// meanwhile loses it. A turn that would end goes on with it. The errors are [ErrNotSteered] and
// the cause of ctx, after which the model may still get the text.
func (s *turns) Steer(ctx context.Context, text string) error {
	taken := make(chan struct{})
	s.mu.Lock()
	t, thread := s.turn, s.thread
	if t == nil || t.id == "" || t.outcome != nil {
		s.mu.Unlock()
		return fmt.Errorf("steer: %w: no turn is in progress", ErrNotSteered)
	}
	if t.steers == nil {
		t.steers = map[string]chan struct{}{}
	}
	name := steerPrefix + strconv.Itoa(len(t.steers)+1)
	t.steers[name] = taken
	s.mu.Unlock()
	params := map[string]any{
		"threadId": thread, "expectedTurnId": t.id, "clientUserMessageId": name,
		"input": []any{textInput(text)},
	}
	if err := s.call(ctx, "turn/steer", params, nil); err != nil && ctx.Err() == nil {
		return fmt.Errorf("steer: %w: %w", ErrNotSteered, err)
	}
	select {
	case <-taken:
		return nil
	case <-t.ended:
	case <-s.conn.done:
	case <-ctx.Done():
	}
	select {
	case <-taken: // both came at once
		return nil
	default:
	}
	if ctx.Err() != nil {
		return fmt.Errorf("steer: %w", context.Cause(ctx))
	}
	return fmt.Errorf("steer: %w: the turn ended before", ErrNotSteered)
}

// onSteered notes that the server has taken a text of [Session.Steer] into the turn, which must not
// have ended.
func (n *notifications) onSteered(params json.RawMessage) {
	if !bytes.Contains(params, []byte(steerPrefix)) {
		return
	}
	var p struct {
		turnRef
		Item struct{ Type, ClientID string }
	}
	decodeLenient(params, &p)
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.turn
	if t == nil || t.outcome != nil || p.Item.Type != "userMessage" || p.TurnID != t.id || p.thread() != n.thread {
		return
	}
	if taken := t.steers[p.Item.ClientID]; taken != nil {
		t.steers[p.Item.ClientID] = nil
		close(taken)
	}
}
