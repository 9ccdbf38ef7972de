package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Machine is the host on which a session runs, as its own process sees it.
type Machine struct {
	Environ []string // its environment, as NAME=value
	Lookup  func(name string) (value string, ok bool)
	Temp    string // folder for temporary files
	Program string // path of this program
}

// Serve answers the calls of the other side of a connection until it or ctx ends. Then it stops the session,
// and waits until nothing runs any more that a call has started. panics gets the stack of a call that
// panics.
func (m Machine) Serve(ctx context.Context, conn io.ReadWriteCloser, panics io.Writer) error {
	l, err := newLink(conn, false)
	if err != nil {
		return err
	}
	s := &serving{Machine: m, link: l}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	f := functions{
		"run":    streaming(s.run),
		"stop":   function(s.stopRun),
		"steer":  function(s.steer),
		"issues": function(s.issues),
		"remove": function(s.remove),
		"forget": function(s.forget),
		"test":   function(s.test),
	}
	l.serve(f, log.New(panics, "", 0))
	select {
	case <-l.lost():
	case <-ctx.Done():
	}
	s.stop(schedule.ErrInterrupted) // nobody can take the work, so there is no time for it
	l.finish()
	l.close()
	return nil
}

// serving is a connection in use.
type serving struct {
	Machine
	ctx  context.Context // ends when the session is to stop; calls have contexts of their own
	stop context.CancelCauseFunc
	link *link

	mu       sync.Mutex
	steering *attempt.Steering // of the session; nil before it began
}

// host holds the folders of a place.
type host struct {
	Place
	data       string // folder of this program for the place
	workspaces *workspace.Root
}

// open opens the folders of a place.
func (m Machine) open(p Place, log *slog.Logger) (*host, error) {
	root, err := workflow.RootOnHost(p.Workspaces.Root, m.surroundings())
	if err != nil {
		return nil, err
	}
	p.Workspaces.Root = root
	sum := sha256.Sum256([]byte(root + "\x00" + p.Workspaces.Project))
	h := &host{Place: p, data: filepath.Join(m.state(), hex.EncodeToString(sum[:8]))}
	if err := os.MkdirAll(h.data, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of this program: %w", err)
	}
	h.workspaces, err = workspace.Open(p.Workspaces, workspace.Env{Parent: m.Environ, Deny: p.Secrets}, log)
	return h, err
}

// state returns the folder of this program for the places of all projects.
func (m Machine) state() string {
	state, ok := m.Lookup("XDG_STATE_HOME")
	if !ok || !filepath.IsAbs(state) {
		home, _ := m.Lookup("HOME")
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "symphony")
}

// surroundings returns the part of this machine to which paths of WORKFLOW.md can refer.
func (m Machine) surroundings() workflow.Env {
	home, _ := m.Lookup("HOME")
	return workflow.Env{Lookup: m.Lookup, Home: home, TempDir: m.Temp}
}

func (h *host) sessions() string { return filepath.Join(h.data, "codex") }

func (h *host) close() { h.workspaces.Close() }

// run runs the session of an order, and writes its messages.
func (s *serving) run(_ context.Context, o order, _ io.Reader, w http.ResponseWriter) error {
	var sending sync.Mutex
	send := func(m message) {
		sending.Lock()
		defer sending.Unlock()
		_, _ = w.Write(lineOf(m)) // a connection that is lost ends the session
	}
	logger := slog.New(relayHandler{send: send})
	refuse := func(err error) error {
		send(message{Failure: failureOf(err)})
		return nil
	}
	h, err := s.open(o.Place, logger)
	if err != nil {
		return refuse(err)
	}
	defer h.close()
	job, done, err := s.job(o, h, logger, send)
	if err != nil {
		return refuse(err)
	}
	defer done()
	ready := func(ready bool) { send(message{Ready: &ready}) }
	s.mu.Lock()
	s.steering = &attempt.Steering{Watch: ready}
	job.Steering = s.steering
	s.mu.Unlock()
	outcome := attempt.Run(s.ctx, job, func(u attempt.Update) { send(message{Update: &u}) })
	send(message{Outcome: &outcome})
	return nil
}

// job returns the job of an order on this machine, and a function to call when it is done.
func (s *serving) job(o order, h *host, log *slog.Logger, send func(message)) (job attempt.Job, done func(), err error) {
	l := s.link
	redactor := redact.New()
	if job, err = s.machineJob(o, h, redactor); err != nil {
		return job, nil, err
	}
	job.Log = log
	if o.TimeLeft > 0 {
		job.StopAt = time.Now().Add(o.TimeLeft)
	}
	job.Tracker = tracker.Adapter{Reader: remoteIssue{link: l}, Tools: tools(l, o.Tools)}
	if o.Attachments {
		job.Tracker.Pictures = remotePictures{link: l}
	}
	if o.OnPull {
		job.PullPictures = remotePictures{l, true}
	}
	if o.Replies {
		job.Reply = func(ctx context.Context, id, text string, resolve bool) error {
			return l.call(ctx, "reply", replyArguments{id, text, resolve}, nil)
		}
	}
	if o.Session != nil {
		o.Session.Began = time.Now()
		job.EventLog = attempt.RelayEventLog(attempt.LogOptions{Session: *o.Session, Whole: o.Whole, Redact: redactor.String, Log: log},
			func(line string) { send(message{Line: line}) })
	}
	job.Preflight = attempt.NewPreflightOnce()
	job.Test = func(ctx context.Context, cause schedule.Cause) error { return s.testCause(ctx, o, h, cause) }
	if job.Repository == nil {
		return job, func() {}, nil
	}
	kept, err := openPacks(filepath.Join(h.data, "packs"), time.Now())
	if err != nil {
		return job, nil, fmt.Errorf("open the packs of earlier sessions: %w", err)
	}
	from := &source{l, kept}
	r := job.Repository
	r.Source = from
	if o.Delivers {
		r.Deliver = from.deliver
	}
	if o.Settles {
		r.Settle = from.settle
	}
	r.Host, err = s.git(s.ctx, h, log)
	if err == nil && r.Review != nil && o.Rules != nil {
		r.Review.Rules = filepath.Join(h.data, "review-"+workspace.Key(job.Issue.Identifier)+".md")
		err = os.WriteFile(r.Review.Rules, []byte(*o.Rules), 0o600)
	}
	if err != nil {
		return job, nil, errors.Join(err, kept.Close())
	}
	return job, func() {
		_ = kept.Close()
		if o.Rules != nil {
			_ = os.Remove(r.Review.Rules) // the next session writes it again
		}
	}, nil
}

// git returns the git of this machine.
func (m Machine) git(ctx context.Context, h *host, log *slog.Logger) (*git.Host, error) {
	return git.Open(ctx, git.Config{Dir: filepath.Join(h.data, "repositories"), Workspaces: h.workspaces.Path(), Env: m.Environ, Log: log})
}

// machineJob returns the part of a job that only this machine decides.
func (m Machine) machineJob(o order, h *host, redactor *redact.Redactor) (attempt.Job, error) {
	job := o.Job
	denied := make([]string, len(job.Codex.Deny))
	for i, text := range job.Codex.Deny {
		var err error
		if denied[i], err = workflow.PathOnHost("codex.deny", text, m.surroundings()); err != nil {
			return job, err
		}
		if denied[i] == "" {
			return job, fmt.Errorf("codex.deny names %s, which is empty on the host: set it for logins without a terminal, or write the path", text)
		}
	}
	job.Codex.Deny = denied
	job.Workspaces, job.SessionDir, job.Program, job.Lookup, job.Redact = h.workspaces, h.sessions(), m.Program, m.Lookup, redactor.String
	job.Account = attempt.Account{Key: o.Key, BaseURL: o.BaseURL}
	job.Denied = room.DenyCredentials(m.Lookup)
	job.Denied.Paths = append(job.Denied.Paths, h.data, m.state())
	secrets := []string{o.Key}
	if r := job.Repository; r != nil && r.Setup != nil {
		r.Setup.Preparations = attempt.NewPreparations(filepath.Join(h.data, "setup"))
		secrets = append(secrets, r.Setup.Secrets(m.Lookup)...)
	}
	for _, secret := range secrets {
		_ = redactor.Add(secret) // one that is too short is no secret
	}
	return job, nil
}

func tools(l *link, list []tool) (tools []tracker.Tool) {
	for _, t := range list {
		tools = append(tools, tracker.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Timeout: t.Timeout,
			Call: func(ctx context.Context, _ tracker.Issue, arguments json.RawMessage) (result tracker.ToolResult) {
				if err := l.call(ctx, "issue/tool", toolArguments{t.Name, arguments}, &result); err != nil {
					return tracker.ToolResult{Text: err.Error()}
				}
				result.Wrote = false // the other side has read the issue again
				return result
			}})
	}
	return tools
}

// remoteIssue reads the issue of the session.
type remoteIssue struct {
	tracker.Reader // nil: a session reads nothing else
	*link
}

func (r remoteIssue) IssuesByID(ctx context.Context, _ []tracker.ID) ([]tracker.Issue, error) {
	var issue *tracker.Issue
	if err := r.call(ctx, "issue/read", none{}, &issue); err != nil || issue == nil {
		return nil, err
	}
	return []tracker.Issue{*issue}, nil
}

// remotePictures reads the pictures of the issue, or of its pull request.
type remotePictures struct {
	*link
	onPull bool
}

func (p remotePictures) Attached(ctx context.Context, _ tracker.Issue) (list []tracker.Picture, err error) {
	err = p.call(ctx, "pictures/attached", picturesArguments{OnPull: p.onPull}, &list)
	return list, err
}

func (p remotePictures) Read(ctx context.Context, _ tracker.Issue, list []tracker.Picture, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines, err := p.stream(ctx, "pictures/read", picturesArguments{OnPull: p.onPull, Pictures: list, Limit: limit}, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer lines.Close()
		in := json.NewDecoder(lines)
		for range list {
			var line readPicture
			if err = in.Decode(&line); err != nil {
				yield(nil, p.broken(ctx, "pictures/read", err))
				return
			}
			if line.Failure != nil {
				err = line.Failure
			}
			if !yield(line.Content, err) {
				return
			}
		}
	}
}

func (s *serving) stopRun(_ context.Context, a stopArguments) (none, error) {
	s.stop(schedule.StopError(a.Reason))
	return none{}, nil
}

// steer gives the session what people said since it began.
func (s *serving) steer(_ context.Context, items []prompt.Feedback) (answer none, err error) {
	s.mu.Lock()
	steering := s.steering
	s.mu.Unlock()
	if steering == nil {
		return none{}, errors.New("the session has not begun")
	}
	steering.Give(items, func(given error) { err = given })
	return none{}, err
}
