package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// fixture holds everything around a runner: a board of issues, a store that any
// number of runs share, workspaces on disk, and sessions that a test scripts.
type fixture struct {
	t        *testing.T
	board    *board
	store    *memory
	flow     *flow
	root     *workspace.Root
	dir      string // of the root
	log      *strings.Builder
	web      http.RoundTripper // of notices; nil for the network
	sessions func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome
}

func newFixture(t *testing.T, issues ...tracker.Issue) *fixture {
	t.Helper()
	f := &fixture{t: t, board: &board{issues: issues}, store: &memory{}, log: &strings.Builder{}, dir: filepath.Join(t.TempDir(), "root")}
	root, err := workspace.Open(workspace.Config{Root: f.dir}, workspace.Env{Parent: os.Environ()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	f.root = root
	f.flow = &flow{now: workflow.Workflow{Path: "WORKFLOW.md", Settings: workflow.Settings{
		Tracker: workflow.Tracker{Kind: "file"}, Poll: 30 * time.Second, MaxTurns: 3,
		Policy: schedule.Policy{
			ActiveStates: []string{"Todo", "In Progress"}, TerminalStates: []string{"Done"},
			MaxConcurrent: 10, MaxPerTick: 100, MaxBackoff: 5 * time.Minute, Stall: 5 * time.Minute,
			Budget: schedule.Budget{Attempts: 10, IdleSessions: 3},
		},
	}}}
	f.sessions = f.handOver
	return f
}

// run returns a runner over the fixture, to be changed before it runs.
func (f *fixture) run() *runner.Runner {
	return &runner.Runner{
		Workflows: f.flow,
		Connect: func(context.Context, workflow.Workflow) (runner.Connection, error) {
			return runner.Connection{Tracker: tracker.Adapter{Reader: f.board}, Workspaces: f.root}, nil
		},
		Store: f.store,
		RunSession: func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
			return f.sessions(ctx, job, report)
		},
		OwnerStatuses: eachOwner(func(context.Context, schedule.Owner) schedule.OwnerStatus { return schedule.Unknown }),
		Self:          schedule.Owner{Host: "here", PID: 1},
		Web:           f.web,
		Once:          true,
		Log:           slog.New(slog.NewTextHandler(f.log, nil)),
	}
}

// eachOwner returns what a runner asks for the status of owners with, from a function
// that knows that of one.
func eachOwner(status func(context.Context, schedule.Owner) schedule.OwnerStatus) func(context.Context, []schedule.Owner) map[schedule.Owner]runner.OwnerAnswer {
	return func(ctx context.Context, owners []schedule.Owner) map[schedule.Owner]runner.OwnerAnswer {
		answers := map[schedule.Owner]runner.OwnerAnswer{}
		for _, o := range owners {
			answers[o] = runner.OwnerAnswer{Status: status(ctx, o)}
			if o.Shard > 0 {
				answers[o] = runner.OwnerAnswer{Status: status(ctx, o), Job: strconv.Itoa(9000 + o.Shard)}
			}
		}
		return answers
	}
}

// tick runs one tick that must succeed.
func (f *fixture) tick(ctx context.Context) report.Tick {
	f.t.Helper()
	tick, err := f.run().Run(ctx)
	if err != nil {
		f.t.Fatalf("tick: %v\n%s", err, f.log)
	}
	return tick
}

// handOver runs a session that takes a second and moves its issue to Review.
func (f *fixture) handOver(ctx context.Context, job attempt.Job, _ func(attempt.Update)) schedule.Outcome {
	if !passes(ctx, time.Second) {
		return stopped(ctx)
	}
	issue := f.board.move(job.Issue.ID, "Review")
	return schedule.Outcome{Class: schedule.Done, Issue: &issue, Thread: "thread", Turns: 1, Usage: schedule.Usage{Input: 100, Output: 20}}
}

// noteWork lets every session hand over, and returns the list of the issues they worked
// on. Each session calls the functions when it starts, and takes another five seconds
// for each.
func (f *fixture) noteWork(during ...func()) *[]tracker.ID {
	var worked []tracker.ID
	var mu sync.Mutex
	f.sessions = func(ctx context.Context, job attempt.Job, report func(attempt.Update)) schedule.Outcome {
		mu.Lock()
		worked = append(worked, job.Issue.ID)
		mu.Unlock()
		for _, call := range during {
			call()
			passes(ctx, 5*time.Second)
		}
		return f.handOver(ctx, job, report)
	}
	return &worked
}

// passes waits for d, and reports whether ctx did not end before.
func passes(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func stopped(ctx context.Context) schedule.Outcome {
	return schedule.Outcome{Class: schedule.Stopped, Why: context.Cause(ctx).Error(), Turns: 1, Thread: "thread"}
}

func issue(identifier, state string) tracker.Issue {
	return tracker.Issue{ID: tracker.ID(identifier), Identifier: identifier, Title: "Title of " + identifier, State: state, Dispatchable: true}
}

// board represents a tracker in memory. Each read takes readTime.
type board struct {
	mu     sync.Mutex
	issues []tracker.Issue
	reads  []string // "list" or "ids A B"
	listed func() error
	read   func() error
	moved  func(tracker.ID) error // before a move by the program
	spoilt map[tracker.ID]bool    // the records that are malformed
}

// spoil makes the record of an issue malformed.
func (b *board) spoil(id tracker.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spoilt == nil {
		b.spoilt = map[tracker.ID]bool{}
	}
	b.spoilt[id] = true
}

func malformed(id tracker.ID) tracker.Malformed {
	return tracker.Malformed{ID: id, Identifier: string(id), Reason: "it has no title"}
}

const readTime = 10 * time.Millisecond

func (b *board) IssuesByState(ctx context.Context, states []string) ([]tracker.Issue, error) {
	<-time.After(readTime)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = append(b.reads, "list")
	if b.listed != nil {
		if err := b.listed(); err != nil {
			return nil, err
		}
	}
	var found []tracker.Issue
	var bad []tracker.Malformed
	for _, issue := range b.issues {
		if b.spoilt[issue.ID] {
			bad = append(bad, malformed(issue.ID))
			continue
		}
		if slices.ContainsFunc(states, func(s string) bool { return strings.EqualFold(s, issue.State) }) {
			found = append(found, issue)
		}
	}
	return found, tracker.ReportDropped(ctx, "list", len(b.issues)-len(bad), bad)
}

func (b *board) IssuesByID(_ context.Context, ids []tracker.ID) ([]tracker.Issue, error) {
	<-time.After(readTime)
	b.mu.Lock()
	defer b.mu.Unlock()
	text := "ids"
	for _, id := range ids {
		text += " " + string(id)
	}
	b.reads = append(b.reads, text)
	if b.read != nil {
		if err := b.read(); err != nil {
			return nil, err
		}
	}
	var found []tracker.Issue
	var bad []tracker.Malformed
	for _, id := range ids {
		if b.spoilt[id] {
			bad = append(bad, malformed(id))
			continue
		}
		for _, issue := range b.issues {
			if issue.ID == id {
				found = append(found, issue)
			}
		}
	}
	if bad != nil {
		return nil, &tracker.MalformedError{Op: "read", Records: bad}
	}
	return found, nil
}

func (b *board) move(id tracker.ID, state string) tracker.Issue {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.issues {
		if b.issues[i].ID == id {
			b.issues[i].State = state
			return b.issues[i]
		}
	}
	panic("no issue " + string(id))
}

// memory is a store that several runs may share. It compares and swaps bytes.
type memory struct {
	mu    sync.Mutex
	data  []byte
	gen   int64
	saves int
	fail  func() error // before a save
	lose  func() error // after a save: its answer
}

func (m *memory) Load(context.Context) (*schedule.State, store.Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		return schedule.New(schedule.Owner{}), store.Revision(rune('0' + m.gen)), nil
	}
	s, _, err := store.Decode(m.data)
	return s, store.Revision(rune('0' + m.gen)), err
}

func (m *memory) Save(_ context.Context, s *schedule.State, rev store.Revision) (store.Revision, error) {
	if m.fail != nil {
		if err := m.fail(); err != nil {
			return "", err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if rev != store.Revision(rune('0'+m.gen)) {
		return "", store.ErrConflict
	}
	if same, err := store.Encode(s, m.gen); err != nil || bytes.Equal(same, m.data) {
		return rev, err // nothing changed
	}
	data, err := store.Encode(s, m.gen+1)
	if err != nil {
		return "", err
	}
	m.data = data
	m.gen++
	m.saves++
	if m.lose != nil {
		if err := m.lose(); err != nil {
			return "", err
		}
	}
	return store.Revision(rune('0' + m.gen)), nil
}

// replace puts another state in place of the stored one, as somebody does who removes the
// state or puts a backup back. Nil stands for no state.
func (m *memory) replace(data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = data
	m.gen++
}

// stored returns the state as it is stored.
func (m *memory) stored() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data
}

// claims returns the stored claims.
func (f *fixture) claims() map[tracker.ID]schedule.Claim { return f.state().Claims }

func (f *fixture) state() *schedule.State {
	s, _, err := f.store.Load(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// edit changes what is stored, as another run would.
func (f *fixture) edit(change func(*schedule.State)) {
	s, rev, err := f.store.Load(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	change(s)
	if _, err := f.store.Save(f.t.Context(), s, rev); err != nil {
		f.t.Fatal(err)
	}
}

// flow represents a WORKFLOW.md in memory.
type flow struct {
	mu  sync.Mutex
	now workflow.Workflow
	bad error

	changed bool // since Current
}

func (f *flow) Changed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *flow) Current() (workflow.Workflow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = false
	return f.now, f.bad
}

func (f *flow) change(edit func(*workflow.Settings), bad error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(&f.now.Settings)
	f.bad, f.changed = bad, true
}

var errDown = errors.New("tracker_request: the tracker is down")
