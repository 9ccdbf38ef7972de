package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// nobody is the id of a thread that does not exist.
const nobody = "00000000-0000-7000-8000-000000000000"

// trySettings lets Codex judge everything that a session sets with its thread and its turns. It
// opens an ephemeral thread, of which Codex keeps nothing. Then it asks for a turn on a thread
// that does not exist, which is refused in every case: if the refusal differs from the refusal
// of a turn without settings, the settings are the cause. The error is [ErrSettings], or the
// error of a connection that ends.
func (s *Session) trySettings(ctx context.Context) error {
	params := s.posture.start(s.o)
	params.Ephemeral = true
	if err := s.call(ctx, "thread/start", params, s.threadOpened); err != nil {
		return s.settingsError(err)
	}
	if err := s.sandbox.verifyLoopback(ctx); err != nil {
		return err
	}
	refused, err := s.refusalOf(ctx, s.posture.turn(s.o, nobody, Input{Text: "."}))
	if refused == nil {
		return err // nil: a server that judges nothing before the turn
	}
	plain, err := s.refusalOf(ctx, turnParams{ThreadID: nobody, Input: []any{textInput{"text", "."}}, Cwd: s.o.Cwd})
	if plain == nil || plain.Code == refused.Code && plain.Message == refused.Message {
		return err
	}
	return s.settingsError(refused)
}

// refusalOf returns the refusal of a turn; nil if the server does not refuse it. The error is
// the end of the connection before the answer.
func (s *Session) refusalOf(ctx context.Context, params turnParams) (*ResponseError, error) {
	err := s.call(ctx, "turn/start", params, nil)
	if refused, isRefusal := errors.AsType[*ResponseError](err); isRefusal {
		return refused, nil
	}
	if err != nil && s.conn.failure() == nil {
		err = nil // it did not answer in time, so it judges nothing
	}
	return nil, err
}

// settingsError returns the error for settings that Codex refuses, with the keys of the
// workflow that may be the cause. It returns other errors as they are.
func (s *Session) settingsError(err error) error {
	if old := s.checkAge(err); errors.Is(old, ErrTooOld) {
		return old
	}
	refused, isRefusal := errors.AsType[*ResponseError](err)
	if !isRefusal {
		return err
	}
	var keys []string
	c := s.o.Config
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"codex.approval_policy", present(c.ApprovalPolicy)},
		{"codex.thread_sandbox", present(c.ThreadSandbox)},
		{"codex.turn_sandbox_policy", present(c.TurnSandboxPolicy)},
		{"codex.model", c.Model != ""},
		{"codex.effort", c.Effort != ""},
		{"codex.service_tier", c.ServiceTier != ""},
	} {
		if key.set {
			keys = append(keys, key.name)
		}
	}
	keys = append(keys, "what codex.command and Codex's own config.toml set")
	return fmt.Errorf("%w: %s: %s: correct %s", ErrSettings, refused.Method, text.OneLine(refused.Message, messageRunes), strings.Join(keys, ", "))
}
