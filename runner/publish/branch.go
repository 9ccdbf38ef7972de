package publish

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/workspace/git"
)

// maxNames bounds how many names are tried for one delivery: symphony/GH-7,
// symphony/GH-7+2 and so on.
const maxNames = 10

// Locate returns the branch on which the work on an issue continues, and its commit on the
// remote, zero if the remote does not have it. The branch is the issue's own, or the one with a
// number to which an earlier delivery went because its own was in use. own may also be the
// result of an earlier call.
func Locate(own git.Branch, last Record, fetched git.Fetched) (branch git.Branch, there git.ObjectID) {
	id, exists := fetched.Branches[last.Branch]
	delivered := !last.Head.IsZero() || id == last.Pushing
	if exists && delivered && IsOwn(own, last.Branch) {
		return last.Branch, id
	}
	return own, fetched.Branches[own]
}

// IsOwn reports whether a branch is an issue's own, or one with a number that was taken
// because its own was in use. The zero branch belongs to no issue.
func IsOwn(own, branch git.Branch) bool {
	name, _ := splitNumber(own.String())
	of, _ := splitNumber(branch.String())
	return of != "" && of == name
}

// splitNumber returns a name and the number that [numbered] has put behind it, or 1.
func splitNumber(name string) (string, int) {
	i := strings.LastIndexByte(name, '+')
	if n, err := strconv.Atoi(name[i+1:]); i > 0 && err == nil && n > 1 {
		return name[:i], n
	}
	return name, 1
}

// numbered returns the nth name. No key of an issue has a plus sign, so a number never
// makes one issue's name into another's.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, n)
}

// deliverLocal makes a commit a branch of the user's repository on this machine. A
// branch that is checked out, moved by the user or in the way is left alone: the
// delivery takes the next name.
func (p *Publisher) deliverLocal(ctx context.Context, w Work, r Record, commit git.ObjectID, now time.Time) (Record, error) {
	own, number := splitNumber(w.Branch.String())
	var first error
	for n := number; n < number+maxNames; n++ {
		if n > number {
			branch, err := git.ParseBranch(numbered(own, n))
			if err != nil {
				return r, fmt.Errorf("publish %s: %w", w.Issue, err)
			}
			w.Branch, w.RemoteHead = branch, git.ObjectID{}
		}
		record, err := p.move(ctx, w, r, commit, now, func() error {
			return w.Incoming.DeliverLocal(ctx, w.Incoming.Remote().Folder(), w.Branch, commit, w.RemoteHead)
		})
		if !errors.Is(err, git.ErrMoved) && !errors.Is(err, git.ErrRejected) {
			return record, err
		}
		if first == nil {
			first = err
		}
	}
	return r, fmt.Errorf("%w; the %d names after it cannot be used either", first, maxNames-1)
}
