package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

const (
	harvestTime = 2 * time.Minute
	// maxHarvest is more than [git.Store.Receive] takes, so that the refusal is its own.
	maxHarvest = 65 << 20
)

// work is the agent's work on its way to Job.Repository. The agent may publish it while
// a turn runs; see hold for what stands below publishing.
type work struct {
	session  *codex.Session
	ws       workspace.Workspace
	began    time.Time
	unfilled bool        // the workspace is of no use for another session
	kept     bool        // the workspace has what the last session left
	head     savedWork   // of an earlier session, with which the branch begins; zero for none
	aside    []savedWork // of earlier sessions, each on a branch of its own

	submodules []git.Submodule // of the workspace
	inside     []string        // paths of those that had changes when the work was taken last

	checkout git.Checkout // of the workspace
	untaken  git.Untaken  // what could not be taken along then
	lost     string       // what could not be taken along with the work that the last session left; empty for nothing

	start  git.ObjectID // where work began that the session continues; zero for Checkout.Head
	tree   git.WorkTree // the files that the checkout made
	hooked bool         // after_run has been started since the latest turn

	done       atomic.Bool   // the agent has said in the latest turn, by the tool, that it needs no more of them
	publishing chan struct{} // has room for one
	words      words         // by the agent, from its latest call of deliver
	published  publishedWork // in this session
	delivered  bool          // what there is of the work is published, by this session or an earlier one
	refused    string        // why it is not, if it was refused
	latest     Delivered     // the answer to it
	unsettled  bool          // the session ended well and the branch has all of its work, with an error
	changed    bool          // what is published was changed by this session
	warnings   []string      // failures that do not change the outcome
}

// words are the title and the text that the agent gives to its work; empty for none.
type words struct{ title, text string }

// publishedWork is the work that was published last; zero for none.
type publishedWork struct {
	tip   git.ObjectID
	words words
}

// savedWork is work that is saved beside the workspace.
type savedWork struct {
	number int
	tip    git.ObjectID
}

// hold waits until nothing is being published, and calls use.
func (w *work) hold(ctx context.Context, use func() error) error {
	select {
	case w.publishing <- struct{}{}:
		defer func() { <-w.publishing }()
		return use()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// record keeps how a publication ended. w must be held.
func (w *work) record(delivered bool, err error) {
	w.delivered, w.refused = delivered, ""
	if refused, isRefused := errors.AsType[*RefusedError](err); isRefused {
		w.refused = refused.Reasons
	}
}

// noteUntaken keeps what could not be taken along with the work that a harvest has brought,
// or with the error of one that has brought none. w must be held.
func (w *work) noteUntaken(in *git.Incoming, err error) {
	if in != nil {
		w.untaken = in.Untaken
	} else if none, ok := errors.AsType[*git.NothingNewError](err); ok {
		w.untaken = none.Untaken
	}
}

// leftOut returns the sentence about what could not be taken along, with a space before it;
// empty if everything was.
func (w *work) leftOut() string {
	list := w.untaken.String()
	if list == "" {
		return ""
	}
	return " Git cannot take these along, so they are left out: " + text.OneLine(list, maxWhy-100) + "."
}

// errReceived is the error of a write after Receive has stopped reading the harvest.
var errReceived = errors.New("the rest of the work is not read")

// harvest packs the agent's work in the sandbox and streams it into a quarantine of the
// store. It fails with the errors of [git.Store.Receive] and of [codex.Session.Exec]; a
// workspace that git cannot read is a [*git.Refusal].
func (a *attempt) harvest(ctx context.Context) (*git.Incoming, error) {
	from := a.from()
	return a.harvestBy(ctx, from, a.Repository.Host.Harvest(from.Start, a.temp, a.work.tree), io.Discard)
}

// harvestBy does the work of harvest, by a command of the host. It writes what the command
// prints to printed too.
func (a *attempt) harvestBy(ctx context.Context, from git.From, command git.Command, printed io.Writer) (*git.Incoming, error) {
	// With these, files that are not committed make the same commit each time.
	date := fmt.Sprintf("%d +0000", a.work.began.Unix())
	command.Env = append(slices.Clone(command.Env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)

	var incoming *git.Incoming
	err := a.stream(ctx, command, maxHarvest, func(r io.Reader) (err error) {
		incoming, err = a.Repository.Store.Receive(ctx, io.TeeReader(r, printed), from)
		return err
	})
	if err == nil {
		err = a.takeObjects(ctx, incoming)
	}
	if err == nil {
		return incoming, nil
	}
	if incoming != nil { // it had all it wanted before the program failed
		err = errors.Join(err, incoming.Close())
	}
	return nil, err
}

// errOutputLost is the error for output without its end: two seconds after a program ended,
// Codex drops what is not read yet, and says nothing.
var errOutputLost = errors.New("codex dropped the end of the output, because this machine was too busy to read it: it is tried again; run fewer sessions at once (agent.max_concurrent_agents) if it stays so")

// stream runs a command in the sandbox and calls read with its output. The error is that of
// read, unless the command itself failed. If read misses the end of the output, the error is
// [errOutputLost]: the command has written it.
func (a *attempt) stream(ctx context.Context, command git.Command, maxOutput int, read func(io.Reader) error) error {
	reader, writer := io.Pipe()
	var refused error
	var receiving sync.WaitGroup
	receiving.Go(func() {
		refused = read(reader)
		reader.CloseWithError(errReceived)
	})
	result, err := a.work.session.Exec(ctx, codex.Exec{Argv: command.Args, Doing: "packing the work", Env: command.Env, Timeout: harvestTime, MaxOutput: maxOutput, Stdout: writer})
	if err == nil && result.ExitCode != 0 {
		err = &git.Refusal{Reason: fmt.Sprintf("git cannot read the repository of the workspace (exit status %d): %s",
			result.ExitCode, text.Output(a.Redact(result.Stderr), maxHookOutput))}
	}
	writer.CloseWithError(err) // nil means the end
	receiving.Wait()
	switch {
	case err == nil && errors.Is(refused, io.ErrUnexpectedEOF):
		return fmt.Errorf("take the agent's work: %w", errOutputLost)
	case err == nil || errors.Is(err, errReceived):
		return refused
	case errors.Is(err, codex.ErrExecTimeout):
		return &git.Refusal{Reason: fmt.Sprintf("it cannot be packed within %v: commit fewer files, and keep the history of the base", harvestTime), Err: err}
	}
	return err
}
