package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/secondlook"
	"github.com/symphony-runner/symphony/workspace"
)

// Hosts runs sessions on worker hosts, and cleans up there. Its errors name the host.
type Hosts struct {
	// Dial starts this program on a host, which there calls [Machine.Serve] on the connection.
	Dial func(ctx context.Context, host string) (Conn, error)
	Place
	Log  *slog.Logger
	Temp string // folder for temporary files of this machine
	// Trial is the job of a session without an issue, for Test.
	Trial attempt.Job
}

// Conn is a connection to this program on a host.
type Conn interface {
	io.ReadWriteCloser
	// Done returns a channel that is closed when the connection has ended.
	Done() <-chan struct{}
	// Err waits for the end of the connection, and returns the reason with the name of the host; nil for
	// none.
	Err() error
}

// endTime is the time that the end of a lost connection has to show its reason.
const endTime = 2 * time.Second

// Run runs one attempt on the host of the job, as [attempt.Run] does here. If the host cannot run it or is
// lost, the outcome has the class [schedule.HostLost].
func (h *Hosts) Run(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
	s := &remoteSession{job: job, report: report, desk: newDesk(job, h.Temp)}
	defer s.desk.close()
	err := s.run(ctx, h)
	if s.outcome == nil {
		return s.lost(ctx, err)
	}
	return s.end(ctx)
}

// remoteSession is a session on a host, as this side sees it.
type remoteSession struct {
	job    attempt.Job
	report func(attempt.Update)
	desk   *desk

	last    attempt.Update // the merged updates so far
	began   bool           // the host may have begun the session
	outcome *schedule.Outcome
	failure *failure // reason why the session has not begun
	unsteer func()   // ends the steering of the turn in progress; nil for none
	logged  int      // bytes of the host's log
}

// run runs the session until its outcome, or an error of the connection.
func (s *remoteSession) run(ctx context.Context, h *Hosts) error {
	return h.with(ctx, s.job.Host, s.desk.functions(), func(l *link) error { return s.over(ctx, l, h.order(s.job)) })
}

// with connects to a host, where the functions can be called, and calls use. The error names the host. If the
// connection has ended by itself, it is the reason.
func (h *Hosts) with(ctx context.Context, host string, f functions, use func(*link) error) error {
	named := func(err error) error { return fmt.Errorf("worker host %s: %w", host, err) }
	conn, err := h.Dial(ctx, host)
	switch {
	case err != nil && ctx.Err() != nil:
		return named(err)
	case err != nil:
		return err
	}
	l, err := newLink(conn, true)
	if err != nil {
		return named(errors.Join(err, conn.Close()))
	}
	l.serve(f, slog.NewLogLogger(h.Log.Handler(), slog.LevelError))
	err = use(l)
	var ended error
	if errors.Is(err, errLost) {
		select {
		case <-conn.Done():
			ended = conn.Err()
		case <-time.After(endTime):
		}
	}
	l.close()
	_ = conn.Close() // all that was to come has come
	switch {
	case ended != nil:
		return ended
	case err != nil:
		return named(err)
	}
	return nil
}

// over runs the session over a connection.
func (s *remoteSession) over(ctx context.Context, l *link, o order) error {
	s.began = true
	rest, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = l.call(rest, "stop", stopArguments{reasonOf(ctx)}, nil) // a lost connection stops it too
		time.AfterFunc(attempt.StopTime, cancel)
	})()
	answer, err := l.stream(rest, "run", o, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	defer s.endSteering()
	err = readMessages(answer, func(m message) { s.take(rest, l, m) })
	switch {
	case s.failure != nil:
		return s.failure
	case err == nil && s.outcome != nil:
		return nil
	}
	return l.broken(rest, "run", cmp.Or(err, io.ErrUnexpectedEOF))
}

// take takes a message of the session.
func (s *remoteSession) take(ctx context.Context, l *link, m message) {
	switch {
	case m.Update != nil:
		u := s.screenUpdate(*m.Update)
		s.last = u.Merge(s.last)
		s.last.Warnings = nil // they were reported
		s.report(u)
	case m.Line != "":
		s.job.EventLog.Relayed(m.Line)
	case m.Log != nil:
		s.log(m.Log)
	case m.Ready != nil && *m.Ready && s.job.Steering != nil:
		s.endSteering()
		s.unsteer = s.job.Steering.Serve(ctx, func(_ context.Context, items []prompt.Feedback) error {
			return l.call(ctx, "steer", s.hidden(items), nil) // the host ends it with the turn
		})
	case m.Ready != nil:
		s.endSteering()
	case m.Outcome != nil:
		s.outcome = m.Outcome
	case m.Failure != nil:
		s.failure = m.Failure
	}
}

func (s *remoteSession) endSteering() {
	if s.unsteer != nil {
		s.unsteer()
		s.unsteer = nil
	}
}

func (s *remoteSession) redact(text string) string {
	if s.job.Redact == nil {
		return text
	}
	return s.job.Redact(text)
}

// hidden returns feedback without the secrets of this machine.
func (s *remoteSession) hidden(items []prompt.Feedback) []prompt.Feedback {
	hidden := make([]prompt.Feedback, len(items))
	for i, f := range items {
		f.Text, f.Code = s.redact(f.Text), s.redact(f.Code)
		hidden[i] = f
	}
	return hidden
}

// end returns the outcome of a session that the host has ended.
func (s *remoteSession) end(ctx context.Context) schedule.Outcome {
	o := s.screenOutcome(*s.outcome)
	if ctx.Err() == nil && o.Class == schedule.Stopped { // somebody there has stopped the program
		o.Class, o.Why = schedule.HostLost, fmt.Sprintf("worker host %s: the session was interrupted there", s.job.Host)
	}
	return o
}

// lost returns the outcome of a session whose host failed.
func (s *remoteSession) lost(ctx context.Context, err error) schedule.Outcome {
	u := s.last
	o := schedule.Outcome{
		Class: schedule.HostLost, Status: schedule.StatusFailed, Why: s.line(err.Error()),
		Thread: u.Thread, Turns: u.Turns, Usage: u.Usage, CutOff: s.began && s.failure == nil,
	}
	if ctx.Err() != nil && !s.began {
		o.Class, o.Status, o.Why = schedule.Stopped, reasonOf(ctx).Status(), context.Cause(ctx).Error()
	}
	return o
}

// maxListed bounds the workspaces that a host may name, since each issue is read.
const maxListed = 5000

// Issues returns the issues that have a workspace on a host, and the keys of workspaces whose issue is
// not known.
func (h *Hosts) Issues(ctx context.Context, host string) (known []workspace.Issue, unknown []string, err error) {
	var answer issuesAnswer
	err = h.ask(ctx, host, "issues", h.Place, &answer)
	return answer.Known[:min(len(answer.Known), maxListed)], answer.Unknown[:min(len(answer.Unknown), maxListed)], err
}

// The times that a removal, besides its hook, and a test may take. A host that hangs would hold up its issue, and
// the end of a pause.
const (
	removeTime = 10 * time.Minute
	trialTime  = 5 * time.Minute
)

// Remove removes the workspace of an issue from a host, and the files of its sessions. It returns the
// failure of before_remove too, which does not stop it.
func (h *Hosts) Remove(ctx context.Context, host string, issue workspace.Issue) (hook, err error) {
	var answer removeAnswer
	err = h.askFor(ctx, h.Workspaces.Hooks.Timeout+removeTime, host, "remove", removeArguments{h.Place, issue}, &answer)
	if answer.Hook != "" {
		hook = fmt.Errorf("worker host %s: %s", host, text.OneLine(answer.Hook, maxLine))
	}
	return hook, err
}

// ForgetUnused removes the files of sessions on issues whose keys are not used from a host, unless they have
// changed since a time.
func (h *Hosts) ForgetUnused(ctx context.Context, host string, used []string, since time.Time) error {
	return h.ask(ctx, host, "forget", forgetArguments{h.Place, used, time.Since(since)}, nil)
}

// Test tests whether sessions can work on a host, and returns the version of Codex there; empty if only a
// session can try it.
func (h *Hosts) Test(ctx context.Context, host string) (version string, err error) {
	trial := h.Trial
	trial.Host = host
	var answer testAnswer
	err = h.askFor(ctx, trialTime, host, "test", h.order(trial), &answer)
	return text.OneLine(answer.Codex, maxLine), err
}

// ask calls a function on a host.
func (h *Hosts) ask(ctx context.Context, host, name string, arguments, answer any) error {
	return h.with(ctx, host, functions{}, func(l *link) error { return l.call(ctx, name, arguments, answer) })
}

// askFor calls a function on a host for at most a time.
func (h *Hosts) askFor(ctx context.Context, limit time.Duration, host, name string, arguments, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v: look at the load and the disk of the host", limit))
	defer cancel()
	return h.ask(ctx, host, name, arguments, answer)
}

// order returns the order of a job.
func (h *Hosts) order(job attempt.Job) order {
	s := remoteSession{job: job}
	o := order{Place: h.Place, Job: job, Key: job.Account.Key, BaseURL: job.Account.BaseURL, Replies: job.Reply != nil, Attachments: job.Tracker.Pictures != nil, OnPull: job.PullPictures != nil}
	o.Job.Feedback = s.hidden(job.Feedback)
	o.Job.Refused, o.Job.LeftOut, o.Job.Blocked = s.redact(job.Refused), s.redact(job.LeftOut), s.redact(job.Blocked)
	for _, t := range job.Tracker.Tools {
		o.Tools = append(o.Tools, tool{t.Name, t.Description, t.InputSchema, t.Timeout})
	}
	if !job.StopAt.IsZero() {
		o.TimeLeft = max(time.Until(job.StopAt), time.Nanosecond)
	}
	if log := job.EventLog; log != nil {
		o.Session, o.Whole = &log.Session, log.Whole
	}
	r := job.Repository
	if r == nil {
		return o
	}
	o.Delivers, o.Settles = r.Deliver != nil, r.Settle != nil
	if r.Review != nil && r.Review.Rules != "" {
		if rules, err := secondlook.ReadRules(r.Review.Rules); err == nil { // otherwise the look fails there as here
			o.Rules = &rules
		}
	}
	return o
}
