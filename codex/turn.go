package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// interruptWait is how long a turn gets to end after it was interrupted.
const interruptWait = 2 * time.Second

// Turn is what is known of a turn besides its success.
type Turn struct {
	ID        string   // "" when it never started
	Questions []string // what the agent asked a person without waiting for the answer
}

// turn is the turn in progress. The session's mutex guards it.
type turn struct {
	id                   string    // "" until the server has answered turn/start
	earlyOutcomes        []outcome // what ended before that, of whichever turn
	outcome              *outcome
	lastError            serverError // the last error that Codex did not retry
	blockingQuestions    []string    // questions that only a person can answer
	abortReason          error       // why it must not go on
	nonBlockingQuestions []string    // likewise, and the agent went on

	ended   chan struct{} // closed with outcome
	blocked chan struct{} // closed with the first of asked, or with broken
}

// Turn starts a turn with one text and follows it to its end (SPEC §10.3). Only
// a completed turn has no error. Otherwise it is a [TurnError], [InputRequired]
// (with the cause of ctx when that ended the turn before the question came),
// [ErrTurnTimeout], [ErrPortExit], [ErrResponse], [ErrResponseTimeout],
// [ErrPosture], [ErrToolLimit], or [ErrTurnCancelled] with the cause of ctx. A turn that we give up is interrupted
// first, if the server has said that it started. One turn runs at a time.
func (s *Session) Turn(ctx context.Context, input string) (Turn, error) {
	t := &turn{ended: make(chan struct{}), blocked: make(chan struct{})}
	s.mu.Lock()
	busy := s.turn != nil
	if !busy {
		s.turn = t
	}
	s.mu.Unlock()
	if busy {
		return Turn{}, errors.New("turn: another one is in progress: wait for its end")
	}
	err := s.runTurn(ctx, t, input)
	s.emit(turnEvent(err))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
	return Turn{ID: t.id, Questions: t.nonBlockingQuestions}, err
}

func (s *Session) runTurn(ctx context.Context, t *turn, input string) error {
	limit := s.o.Config.TurnTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("%w: not done after %v: raise codex.turn_timeout_ms or split the issue", ErrTurnTimeout, limit))
	defer cancel()
	err := s.startTurn(ctx, t, input)
	switch {
	case ctx.Err() != nil && err != nil:
		return s.interruptedError(ctx, t)
	case err != nil:
		return fmt.Errorf("turn: %w", err)
	}
	s.readLimits(ctx)
	select {
	case <-t.ended:
	case <-t.blocked:
	case <-ctx.Done():
	case <-s.conn.done:
	}
	s.mu.Lock()
	outcome, asked, broken, limits := t.outcome, t.blockingQuestions, t.abortReason, s.limits
	s.mu.Unlock()
	switch {
	case broken != nil:
		if outcome == nil {
			s.interrupt(ctx, t)
		}
		return fmt.Errorf("turn: %w", broken)
	case asked != nil:
		if outcome == nil {
			s.interrupt(ctx, t)
		}
		return &InputRequired{Questions: asked}
	case outcome != nil:
		return outcome.err(limits)
	case ctx.Err() != nil:
		s.interrupt(ctx, t)
		return s.interruptedError(ctx, t)
	default:
		return fmt.Errorf("turn: %w", s.conn.failure())
	}
}

// startTurn asks for the turn, if need be once more without what an older
// server refuses.
func (s *Session) startTurn(ctx context.Context, t *turn, input string) error {
	for {
		wait := s.o.Config.ReadTimeout
		s.mu.Lock()
		params := s.posture.turn(s.o, s.thread, input)
		if s.posture.sandbox == nil {
			wait = max(wait, turnStartTimeout)
		}
		s.mu.Unlock()
		err := s.conn.call(ctx, wait, "turn/start", params, func(result json.RawMessage) error {
			return s.turnStarted(t, result)
		})
		if err == nil || !s.retryDowngraded(err) {
			return err
		}
	}
}

// interruptedError returns the error of a turn that ctx ended. A question that came while
// the turn was being interrupted still needs its answer.
func (s *Session) interruptedError(ctx context.Context, t *turn) error {
	cause := context.Cause(ctx)
	s.mu.Lock()
	asked := t.blockingQuestions
	s.mu.Unlock()
	if asked != nil {
		return fmt.Errorf("%w: %w", &InputRequired{Questions: asked}, cause)
	}
	if errors.Is(cause, ErrTurnTimeout) {
		return fmt.Errorf("turn: %w", cause)
	}
	return fmt.Errorf("turn: %w: %w", ErrTurnCancelled, cause)
}

// turnStarted takes the turn's id from the answer to turn/start. Being on the read
// loop, it comes before all that the server sends later.
func (s *Session) turnStarted(t *turn, result json.RawMessage) error {
	id, err := resultID("turn", result)
	if err != nil {
		return err
	}
	s.mu.Lock()
	t.id = id
	s.mu.Unlock()
	s.emit(Event{Kind: SessionStarted, Summary: "a turn has started", Progress: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range t.earlyOutcomes {
		t.endLocked(o)
	}
	return nil
}

// endLocked takes the outcome of a turn on our thread. Codex may run turns of
// its own there, before ours and after it.
func (t *turn) endLocked(o outcome) {
	switch {
	case t.id == "":
		t.earlyOutcomes = append(t.earlyOutcomes, o)
	case t.outcome == nil && (o.turn == "" || o.turn == t.id):
		if o.category != nil && o.failure.empty() {
			o.failure = t.lastError
		}
		t.outcome = &o
		close(t.ended)
	}
}

// blockLocked notes that the turn cannot end well without a person.
func (t *turn) blockLocked(questions []string) {
	if t.blockingQuestions == nil && t.abortReason == nil {
		close(t.blocked)
	}
	t.blockingQuestions = append(t.blockingQuestions, questions...)
}

// abortLocked notes that the turn must not go on.
func (t *turn) abortLocked(err error) {
	if t.blockingQuestions == nil && t.abortReason == nil {
		close(t.blocked)
	}
	t.abortReason = err
}

// interrupt tells the server to end the turn and gives it a moment to do so.
// Codex leaves commands running: they end with its process.
func (s *Session) interrupt(ctx context.Context, t *turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptWait)
	defer cancel()
	refused := make(chan struct{})
	params := map[string]string{"threadId": s.ThreadID(), "turnId": t.id}
	id, err := s.conn.sendCall(ctx, "turn/interrupt", params, func(_ json.RawMessage, err error) {
		if err != nil {
			close(refused)
		}
	})
	if err != nil {
		return // there is nothing left to interrupt
	}
	defer s.conn.forget(id)
	select {
	case <-t.ended:
	case <-refused:
	case <-ctx.Done():
	case <-s.conn.done:
	}
}

func turnEvent(err error) Event {
	switch {
	case err == nil:
		return Event{Kind: TurnCompleted, Summary: "the turn is complete", Progress: true}
	case errors.Is(err, ErrInputRequired):
		return Event{Kind: TurnInputRequired, Summary: err.Error()}
	case errors.Is(err, ErrTurnFailed):
		return Event{Kind: TurnFailed, Summary: err.Error()}
	case errors.Is(err, ErrTurnCancelled):
		return Event{Kind: TurnCancelled, Summary: err.Error()}
	default:
		return Event{Kind: TurnEndedWithError, Summary: err.Error()}
	}
}
