package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/workspace/git"
)

const (
	harvestTime = 2 * time.Minute
	// maxHarvest is more than [git.Store.Receive] takes, so that the refusal is its own.
	maxHarvest = 65 << 20
)

// errReceived is the error of a write after Receive has stopped reading the harvest.
var errReceived = errors.New("the rest of the work is not read")

// harvester takes the agent's work out of the workspace.
type harvester struct {
	*core
	began time.Time // date of the commits of uncommitted work
}

// harvest takes the agent's work, which began at a commit, by a command of the host in the
// sandbox, and streams it into a quarantine of the store. It writes the output of the command
// to printed too. It fails with the errors of [git.Store.Receive] and of [codex.Session.Exec];
// a workspace that git cannot read is a [*git.Refusal].
func (h *harvester) harvest(ctx context.Context, from git.From, command git.Command, printed io.Writer) (Work, error) {
	// With these, files that are not committed make the same commit each time.
	date := fmt.Sprintf("%d +0000", h.began.Unix())
	command.Env = append(slices.Clone(command.Env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)

	var incoming Work
	err := h.stream(ctx, command, maxHarvest, func(r io.Reader) (err error) {
		incoming, err = h.repository.Source.Receive(ctx, io.TeeReader(r, printed), from)
		return err
	})
	if err == nil {
		err = h.takeObjects(ctx, incoming)
	}
	if err == nil {
		return incoming, nil
	}
	if incoming != nil { // it had all it wanted before the program failed
		err = errors.Join(err, incoming.Close())
	}
	return nil, err
}

// LFS says that files in Git LFS have their contents in the workspace, and bounds the objects
// that are taken from it.
type LFS struct {
	MaxBytes int64 // bytes of all new objects; none of them is taken if they have more
	History  bool  // the objects of all commits are taken, not of the latest alone
}

// takeObjects takes the new objects of Git LFS of the work from the workspace, as the
// work itself was taken. The policy refuses work with missing objects.
func (h *harvester) takeObjects(ctx context.Context, in Work) error {
	wanted, total, err := h.wantedObjects(ctx, in)
	if err != nil || len(wanted) == 0 {
		return err
	}
	return h.stream(ctx, h.repository.Host.ObjectsCommand(wanted), int(total)+len(wanted), func(r io.Reader) error {
		return in.TakeObjects(r, wanted)
	})
}

// wantedObjects returns the objects of Git LFS to take with the work, and how many bytes
// they have: none of work that has more than the limit.
func (h *harvester) wantedObjects(ctx context.Context, in Work) (wanted []git.NewObject, total int64, err error) {
	lfs := h.repository.LFS
	if lfs == nil {
		return nil, 0, nil
	}
	if wanted, err = in.NewObjects(ctx, lfs.History); err != nil {
		return nil, 0, err
	}
	for _, o := range wanted {
		total += o.Size
		if o.Size > lfs.MaxBytes || total > lfs.MaxBytes {
			return nil, 0, nil
		}
	}
	return wanted, total, nil
}
