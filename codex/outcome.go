package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// outcome is the end of a turn as the server reports it.
type outcome struct {
	thread, turn string // "" in older servers
	category     error  // nil is success
	failure      serverError
}

type serverError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
}

// turnRef names the turn and the thread that a message is about. Older servers
// leave them out, or call the thread a conversation.
type turnRef struct {
	ThreadID       string `json:"threadId"`
	ConversationID string `json:"conversationId"`
	TurnID         string `json:"turnId"`
}

func (o turnRef) thread() string {
	if o.ThreadID == "" {
		return o.ConversationID
	}
	return o.ThreadID
}

// parseTurnOutcome reads turn/completed, and turn/failed and turn/cancelled of older
// servers. Success is the status completed, or a turn/completed without a status.
func parseTurnOutcome(method string, params json.RawMessage) (outcome, error) {
	var p struct {
		turnRef
		Status  string          `json:"status"`
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Reason  string          `json:"reason"`
		Turn    struct {
			ID     string          `json:"id"`
			Status string          `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"turn"`
	}
	if present(params) {
		if err := json.Unmarshal(params, &p); err != nil {
			return outcome{}, err
		}
	}
	o := outcome{thread: p.thread(), turn: cmp.Or(p.Turn.ID, p.TurnID)}
	if o.failure = parseServerError(p.Turn.Error); o.failure.empty() {
		o.failure = parseServerError(p.Error)
	}
	o.failure.Message = cmp.Or(o.failure.Message, p.Message, p.Reason)
	status := cmp.Or(p.Turn.Status, p.Status)
	switch method {
	case "turn/failed":
		o.category = ErrTurnFailed
		return o, nil
	case "turn/cancelled":
		o.category = ErrTurnCancelled
		return o, nil
	}
	switch status {
	case "", "completed", "success":
	case "interrupted", "cancelled":
		o.category = ErrTurnCancelled
	case "failed":
		o.category = ErrTurnFailed
	default:
		o.category = ErrTurnFailed
		o.failure.Message = cmp.Or(o.failure.Message, fmt.Sprintf("the turn ended with the unknown status %q", status))
	}
	return o, nil
}

func (f serverError) empty() bool { return f.Message == "" && !present(f.Info) }

// parseServerError reads an object or, from older servers, a message alone.
func parseServerError(raw json.RawMessage) (f serverError) {
	if !present(raw) {
		return f
	}
	if json.Unmarshal(raw, &f.Message) != nil {
		decodeLenient(raw, &f)
	}
	return f
}

// variant returns the variant of codexErrorInfo and the HTTP status of the model's
// provider. codexErrorInfo is a string, or an object whose only key is the variant.
func (f serverError) variant() (variant string, status int) {
	if !present(f.Info) || json.Unmarshal(f.Info, &variant) == nil {
		return variant, 0
	}
	var variants map[string]struct {
		HTTPStatusCode int `json:"httpStatusCode"`
	}
	decodeLenient(f.Info, &variants)
	if len(variants) == 1 {
		for variant, v := range variants {
			return variant, v.HTTPStatusCode
		}
	}
	return "", 0
}

func (o outcome) err(limits json.RawMessage) error {
	if o.category == nil {
		return nil
	}
	e := &TurnError{Category: o.category, Message: cmp.Or(o.failure.Message, o.failure.Details)}
	e.Info, e.HTTPStatus = o.failure.variant()
	if e.Info == "usageLimitExceeded" {
		e.ResetsAt = resetsAt(limits)
	}
	return e
}
