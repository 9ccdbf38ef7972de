package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// threads opens the session's thread, or resumes it.
type threads struct {
	*core
	spending *spending
	sandbox  *sandbox
	resumed  bool // set before Open returns
}

// OpenThread opens the thread of a session that [Connect] returned. After an error the
// session has failed to start. It fails with the errors of Open.
func (s *threads) OpenThread(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		s.emit(Event{Kind: StartupFailed, Summary: err.Error()})
		return fmt.Errorf("opening a Codex session: %w", err)
	}
	return nil
}

func (s *threads) open(ctx context.Context) error {
	err := s.resumeOrStart(ctx)
	if err == nil {
		err = s.sandbox.verifyLoopback(ctx)
	}
	if err != nil {
		return err
	}
	return s.setName(ctx)
}

// resumeOrStart resumes the thread of Options.Resume. It starts a new one if there is
// none or it cannot be resumed.
func (s *threads) resumeOrStart(ctx context.Context) error {
	if s.o.Resume != "" {
		err := s.call(ctx, "thread/resume", s.posture.resume(s.o, s.server), s.opened)
		if err == nil {
			s.resumed = true
			return nil
		}
		if lacks := errors.Is(err, ErrPosture) || errors.Is(err, ErrTooOld); ctx.Err() != nil || s.conn.failure() != nil || lacks {
			if ctx.Err() == nil && !lacks {
				err = fmt.Errorf("%w: %w", ErrNotResumed, err)
			}
			return err
		}
		s.warn(fmt.Sprintf("starting a new thread: %v", err))
	}
	return s.checkAge(s.call(ctx, "thread/start", s.posture.start(s.o), s.opened))
}

func tooOld(what string, err error) error {
	return fmt.Errorf("%w: install Codex 0.169 or later: this one does not know %s: %w", ErrTooOld, what, err)
}

// opened records the thread's id from result.thread.id or, from older servers, result.id.
// It fails if the thread does not have the posture that was asked for.
func (s *threads) opened(result json.RawMessage) error {
	answer := members(result)
	id, err := resultID("thread", answer)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.thread = id
	s.spending.tariffs.main = id
	s.spending.tariffs.set(id, answer)
	s.mu.Unlock()
	return s.posture.verifyThread(s.o, answer)
}

func resultID(what string, result object) (string, error) {
	id := cmp.Or(textMember(result[what], "id"), result.text("id"))
	if id == "" {
		return "", fmt.Errorf("%s/start: %w: the answer has no id of the %[1]s: is this a Codex app-server?", what, ErrResponse)
	}
	return id, nil
}

// setName gives the thread the name of the issue. It does not wait for the
// answer, because nothing depends on the name.
func (s *threads) setName(ctx context.Context) error {
	if s.o.Name == "" {
		return nil
	}
	params := map[string]string{"threadId": s.ThreadID(), "name": s.o.Name}
	_, err := s.conn.sendCall(ctx, "thread/name/set", params, func(_ json.RawMessage, err error) {
		if err != nil {
			s.emit(Event{Kind: Notification, Summary: fmt.Sprintf("the thread has no name: %v", err)})
		}
	})
	return err
}

// Resumed reports whether the session continues the thread Options.Resume.
func (s *threads) Resumed() bool { return s.resumed }
