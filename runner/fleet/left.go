package fleet

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// Left reads the results of fleets that ended without collecting them: from the artifacts of
// their workflow runs, or from references of the repository if there are none.
type Left struct {
	Artifacts *client.Client                               // nil if no artifacts can be read
	Refs      func(context.Context) (*git.FileRefs, error) // opens the references; nil if there are none
}

// Read returns the results of the fleet of an owner, which it brings into an exchange folder. The
// error joins all that could not be read: one shard costs no other its result.
func (l Left) Read(ctx context.Context, exchange string, owner schedule.Owner) ([]Result, error) {
	there, failed := l.take(ctx, exchange, owner)
	if !there {
		return nil, failed
	}
	plan, err := ReadPlan(exchange)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	results, refused := ReadResults(exchange, plan)
	for _, f := range refused {
		failed = errors.Join(failed, f.Err)
	}
	return results, failed
}

// take brings the plan and the results of the fleet of an owner into an exchange folder.
// It reports false if there can be none: another engine carries the folder itself. The error
// joins all that could not be brought.
func (l Left) take(ctx context.Context, exchange string, owner schedule.Owner) (there bool, failed error) {
	id, err := strconv.ParseInt(owner.Run, 10, 64)
	hasArtifacts := l.Artifacts != nil && err == nil // another engine may give its runs other names
	if hasArtifacts {
		failed = Download(ctx, l.Artifacts, id, owner.Attempt, exchange)
	}
	if _, err := ReadPlan(exchange); !errors.Is(err, fs.ErrNotExist) {
		return true, failed
	}
	taken, refused, err := l.pull(ctx, exchange, owner)
	if taken { // a server without artifacts cannot list them
		return true, errors.Join(refused...)
	}
	return hasArtifacts, errors.Join(failed, err)
}

// pull fetches the plan and the results of the fleet of an owner from references. It
// reports false if there are none.
func (l Left) pull(ctx context.Context, exchange string, owner schedule.Owner) (taken bool, refused []error, err error) {
	if l.Refs == nil {
		return false, nil, nil
	}
	refs, err := l.Refs(ctx)
	if err != nil {
		return false, nil, err
	}
	defer refs.Close()
	n, refused, err := Pull(ctx, refs, exchange, Name{Run: owner.Run, Attempt: owner.Attempt, Plan: PlanName{Started: owner.Started}}, true)
	return n > 0 && err == nil, refused, err
}
