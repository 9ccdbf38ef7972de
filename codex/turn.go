package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// interruptWait bounds the end of a turn after it was interrupted.
const interruptWait = 2 * time.Second

// Input is what a turn gives to the model.
type Input struct {
	Text string
	// Images are the paths of picture files, which follow the text. The server reads them itself
	// when the turn starts, whatever the agent may read, and keeps their content in the thread.
	Images []string
	Schema json.RawMessage // JSON schema of the last message; nil for words
}

// Turn describes a turn that has ended, apart from its success.
type Turn struct {
	ID        string   // "" if the turn never started
	Questions []string // asked by the agent without waiting for the answer
	Acted     bool     // the agent did more than think and speak, as far as the server says
}

// turn is a turn in progress. core.mu guards the fields below posture.
type turn struct {
	o       Options // what the turn is given
	posture posture

	thread               string    // "" for a review whose thread is not open yet
	id                   string    // "" until the server has answered turn/start
	earlyOutcomes        []outcome // outcomes of turns that came before the id was known
	outcome              *outcome
	lastError            serverError // the last error that Codex did not retry
	blockingQuestions    []string    // only a person can answer them; the agent waits
	abortReason          error       // reason why the turn must not continue; nil if it may
	nonBlockingQuestions []string    // asked by the agent, which continued without an answer
	acted                bool        // the agent ran a command or did something else
	said                 string      // the latest message of the agent, of a review

	steers map[string]chan struct{} // texts of Steer by their names, closed and nil once taken

	ended   chan struct{} // closed with outcome
	blocked chan struct{} // closed with the first blocking question or with abortReason
}

// turns runs turns on the session's thread, and reviews beside them.
type turns struct {
	*core
	spending *spending
	sandbox  *sandbox
}

// Turn starts a turn with an input and follows it to its end (SPEC §10.3). It
// returns no error if the turn completed. Otherwise the error is a [TurnError],
// [InputRequired] (with the cause of ctx if that ended the turn before the question
// came), [ErrTurnTimeout], [ErrPortExit], [ErrResponse], [ErrResponseTimeout],
// [ErrPosture], [ErrToolLimit], or [ErrTurnCancelled] with the cause of ctx. Turn
// interrupts a turn that has started before it gives up. Only one turn runs at a
// time.
func (s *turns) Turn(ctx context.Context, input Input) (Turn, error) {
	t := newTurn(s.o, s.posture)
	s.mu.Lock()
	t.thread = s.thread
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
	return Turn{ID: t.id, Questions: t.nonBlockingQuestions, Acted: t.acted}, err
}

func newTurn(o Options, p posture) *turn {
	return &turn{o: o, posture: p, ended: make(chan struct{}), blocked: make(chan struct{})}
}

// runTurn starts the turn, waits for its end within codex.turn_timeout_ms and returns
// its error.
func (s *turns) runTurn(ctx context.Context, t *turn, input Input) error {
	limit := t.o.Config.TurnTimeout
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
	if !t.isReview() { // which may run at the same time
		s.spending.readLimits(ctx)
	}
	select {
	case <-t.ended:
	case <-t.blocked:
	case <-ctx.Done():
	case <-s.conn.done:
	}
	s.mu.Lock()
	outcome, questions, abortReason, limits := t.outcome, t.blockingQuestions, t.abortReason, s.spending.limits
	s.mu.Unlock()
	switch {
	case abortReason != nil, questions != nil:
		if outcome == nil {
			s.interrupt(ctx, t)
		}
		if abortReason != nil {
			return fmt.Errorf("turn: %w", abortReason)
		}
		return &InputRequired{Questions: questions}
	case outcome != nil:
		return outcome.err(limits)
	case ctx.Err() != nil:
		s.interrupt(ctx, t)
		return s.interruptedError(ctx, t)
	default:
		return fmt.Errorf("turn: %w", s.conn.failure())
	}
}

func (s *turns) startTurn(ctx context.Context, t *turn, input Input) error {
	wait := s.o.Config.ReadTimeout
	if s.posture.sandbox == nil {
		wait = max(wait, turnStartTimeout)
	}
	params := t.posture.turn(t.o, t.thread, input)
	return s.checkAge(s.conn.call(ctx, wait, "turn/start", params, func(result json.RawMessage) error {
		return s.turnStarted(t, result)
	}))
}

// interruptedError returns the error of a turn that ctx ended. It includes questions
// that came while the turn was being interrupted, because they still need an answer.
func (s *turns) interruptedError(ctx context.Context, t *turn) error {
	cause := context.Cause(ctx)
	s.mu.Lock()
	questions := t.blockingQuestions
	s.mu.Unlock()
	if questions != nil {
		return fmt.Errorf("%w: %w", &InputRequired{Questions: questions}, cause)
	}
	if errors.Is(cause, ErrTurnTimeout) {
		return fmt.Errorf("turn: %w", cause)
	}
	return fmt.Errorf("turn: %w: %w", ErrTurnCancelled, cause)
}

// turnStarted records the turn's id from the answer to turn/start. It runs on the
// read loop, before the next line of the server is handled.
func (s *turns) turnStarted(t *turn, result json.RawMessage) error {
	id, err := resultID("turn", members(result))
	if err != nil {
		return err
	}
	s.mu.Lock()
	t.id = id
	s.mu.Unlock()
	if !t.isReview() {
		s.emit(Event{Kind: SessionStarted, Summary: "a turn has started", Progress: true})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range t.earlyOutcomes {
		t.endLocked(o)
	}
	return nil
}

// isOn reports whether a message that names a thread, or "", can be about the turn.
func (t *turn) isOn(thread string) bool { return t != nil && (thread == "" || thread == t.thread) }

// endLocked records the outcome of a turn on its thread, if it is the turn t. Codex may run
// turns of its own there, before ours and after it. core.mu must be held.
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

// blockLocked records questions that only a person can answer, with which the turn
// will fail. core.mu must be held.
func (t *turn) blockLocked(questions []string) {
	if t.blockingQuestions == nil && t.abortReason == nil {
		close(t.blocked)
	}
	t.blockingQuestions = append(t.blockingQuestions, questions...)
}

// abortLocked records why the turn must not continue. core.mu must be held.
func (t *turn) abortLocked(err error) {
	if t.blockingQuestions == nil && t.abortReason == nil {
		close(t.blocked)
	}
	t.abortReason = err
}

// interrupt asks the server to end the turn and waits for at most interruptWait.
// Codex leaves the turn's commands running; they end with its process.
func (s *turns) interrupt(ctx context.Context, t *turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptWait)
	defer cancel()
	_, _ = s.conn.ask(ctx, "turn/interrupt", map[string]string{"threadId": t.thread, "turnId": t.id}, t.ended)
}

func turnEvent(err error) Event {
	if asked, ok := errors.AsType[*InputRequired](err); ok {
		return Event{Kind: TurnInputRequired, Summary: asked.summary()}
	}
	switch {
	case err == nil:
		return Event{Kind: TurnCompleted, Summary: "the turn is complete", Progress: true}
	case errors.Is(err, ErrTurnFailed):
		return Event{Kind: TurnFailed, Summary: err.Error()}
	case errors.Is(err, ErrTurnCancelled):
		return Event{Kind: TurnCancelled, Summary: err.Error()}
	default:
		return Event{Kind: TurnEndedWithError, Summary: err.Error()}
	}
}
