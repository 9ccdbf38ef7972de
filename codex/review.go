package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// A review reads work on a thread of its own, beside the session's thread and in the same server:
// its tokens are the session's, and so are its signs of life. Its commands have a permission
// profile with which they write nothing but the folder around the work, which nobody uses.
// review/start of the protocol is not used, because it reports no tokens.

const (
	reviewName = "review"        // names the permission profile and the network of reviews
	reviewEnd  = 5 * time.Second // bounds the end of the commands that a review has left running
)

// Review describes a turn that reads work.
type Review struct {
	Dir     string            // real path of the folder around the work, in which the commands run
	Set     map[string]string // variables of the commands, in place of Options.Set
	Fork    bool              // begin with a copy of the session's thread; otherwise with nothing
	Choice  Choice            // model, effort and service tier
	Timeout time.Duration     // time for the whole turn
	Prompt  string
	Schema  json.RawMessage // JSON schema of the answer
}

// Review runs the turn and returns its last message, which may break the schema. It may run while
// a turn does, and only one at a time. Options.ReviewWork must be set. The thread has no tools of
// the host, does not know the instructions in the repository (AGENTS.md), and is not kept. It fails
// as [Session.Turn] does, with [ErrNoSandbox], and with errors of a call.
func (s *turns) Review(ctx context.Context, r Review) (answer string, err error) {
	t := s.newReview(r)
	s.mu.Lock()
	busy := s.reviewing
	s.reviewing = true
	s.mu.Unlock()
	if busy {
		return "", errors.New("review: another one is in progress: wait for its end")
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reviewing = false
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout,
		fmt.Errorf("%w: not done after %v: raise delivery.review_timeout_ms, or leave the session more time", ErrTurnTimeout, r.Timeout))
	defer cancel()
	s.emit(Event{Kind: Notification, Summary: "a review of the work begins", Doing: "reading its work again", Progress: true})
	if err = s.openReview(ctx, t, r.Fork); err == nil {
		err = s.runTurn(ctx, t, Input{Text: r.Prompt, Schema: r.Schema})
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewEnd)
	defer cancel()
	s.mu.Lock()
	thread, said := t.thread, t.said
	s.mu.Unlock()
	_ = s.cleanTerminals(end, thread) // what stays ends with the server, and can write nothing
	if err != nil {
		return "", fmt.Errorf("review: %w", err)
	}
	return said, nil
}

func (s *turns) newReview(r Review) *turn {
	o := s.o
	o.Cwd, o.Name, o.Tools, o.Resume, o.Temp = r.Dir, "", nil, "", ""
	o.Config.Choice, o.Config.TurnTimeout = r.Choice, r.Timeout
	p := s.posture
	p.turns, p.tools = o.profileOf(reviewName), nil
	p.settings = maps.Clone(p.settings)
	for key := range s.posture.settings {
		if isRule(key) {
			delete(p.settings, key)
		}
	}
	for key, rule := range s.sandbox.rules {
		if strings.HasPrefix(key, profileKey(p.turns)) {
			p.settings[key] = rule
		}
	}
	for name := range o.variables("") {
		delete(p.settings, "shell_environment_policy.set."+name)
	}
	for name, value := range r.Set {
		p.settings["shell_environment_policy.set."+name] = value
	}
	p.settings["project_doc_max_bytes"] = 0
	return newTurn(o, p)
}

// reviewProbe fails if a command of a review can write the work.
const reviewProbe = `{ : >"$0/.symphony-probe"; } 2>/dev/null || exit 0
echo "a review can write the work" >&2
exit 3`

// isReview reports whether the turn is a review.
func (t *turn) isReview() bool { return t.posture.turns == t.o.profileOf(reviewName) }

// openReview opens the thread of a review, when its sandbox has been tried.
func (s *turns) openReview(ctx context.Context, t *turn, fork bool) error {
	if s.posture.sandbox != nil {
		key, _, _ := s.o.Config.sandbox()
		return fmt.Errorf("%w: %s sets a sandbox of its own for the turns, and a review needs one that writes nothing", ErrSettings, key)
	}
	probe := Exec{Argv: []string{"bash", "-c", reviewProbe, s.o.ReviewWork}, Env: []string{"BASH_ENV="}, Dir: t.o.Cwd, Network: reviewName}
	if err := s.sandbox.tryProgram(ctx, probe, noSandbox); err != nil {
		return err
	}
	method, params := "thread/start", t.posture.start(t.o)
	if fork {
		method = "thread/fork"
		t.o.Resume = s.ThreadID()
		params = t.posture.resume(t.o, s.server)
	}
	params.Ephemeral = true
	return s.checkAge(s.conn.call(ctx, max(s.o.Config.ReadTimeout, turnStartTimeout), method, params, func(result json.RawMessage) error {
		answer := members(result)
		id, err := resultID("thread", answer)
		if err != nil {
			return err
		}
		s.mu.Lock()
		t.thread = id
		if s.reviews == nil {
			s.reviews = map[string]*turn{}
		}
		s.reviews[id] = t
		s.spending.tariffs.set(id, answer)
		s.spending.meter.resumed[id] = fork
		s.mu.Unlock()
		return t.posture.verifyThread(t.o, answer)
	}))
}

// isReview reports whether a request of the server comes from a review, also one that has ended.
func (r *requests) isReview(m message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turnLocked(textMember(m.Params, "threadid", "conversationid"))
	return t != nil && t.isReview()
}
