package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// While a workspace holds work that is not published, a note beside it says where that
// work began. A session that is killed, fails or is refused leaves the note; one whose
// work was taken says so there. The next one takes the work out of the old .git, inside
// the sandbox as always, and puts it into the new one. The note is the host's: what the
// old .git says of its history could make a person's commits look like the agent's. It
// also says which files the work tree has, because what is missing is not always deleted.

// nothingLeft is the note of a workspace whose work was taken.
const nothingLeft = "taken\n"

// from returns where the work of the session begins.
func (a *attempt) from() git.From {
	c := a.Repository.Checkout
	return git.From{Start: cmp.Or(a.work.start, c.Head), Base: c.Base}
}

// saveStart writes the note. head is where the session has left the branch of the
// remote; zero if it has not moved it. files says what the work tree has.
func (a *attempt) saveStart(head git.ObjectID, files string) error {
	from := a.from()
	if head.IsZero() {
		head = from.Start
	}
	return a.Workspaces.SaveNote(a.work.ws, fmt.Sprintf("%s %s %s %s\n", from.Start, head, from.Base, files))
}

// filling stands in a note for a work tree that has what an earlier session left, or a
// part of the files. Only what is committed there is work.
const filling = "-"

// filesOf returns what stands in a note for a work tree: all or the hash of its paths,
// whether files in Git LFS have their contents, and behind commas what the checkout has left out.
func filesOf(tree git.WorkTree) string {
	files := "all"
	if len(tree.Paths) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(tree.Paths, "\x00")))
		files = hex.EncodeToString(sum[:8])
	}
	if tree.LFS {
		files += "+lfs"
	}
	return strings.Join(append([]string{files}, tree.LeftOut...), ",")
}

// start is what a note says of the work in a workspace.
type start struct {
	from  git.From
	head  git.ObjectID
	files string
}

// readStart reads the note. It returns false if it does not say where work began.
func (a *attempt) readStart(ws workspace.Workspace) (s start, ok bool) {
	fields := strings.Fields(a.Workspaces.Note(ws))
	if len(fields) == 3 { // of an older version
		fields = append(fields, "all")
	}
	if len(fields) != 4 {
		return start{}, false
	}
	var err1, err2, err3 error
	s.from.Start, err1 = git.ParseObjectID(fields[0])
	s.head, err2 = git.ParseObjectID(fields[1])
	s.from.Base, err3 = git.ParseBranch(fields[2])
	s.files = fields[3]
	return s, errors.Join(err1, err2, err3) == nil
}

// harvestLeft takes the work in a kept workspace. If its files are not those that this
// session would check out, only commits are taken: files that are missing would look
// deleted, and those of another commit changed.
func (a *attempt) harvestLeft(ctx context.Context, s start) (*git.Incoming, error) {
	host := a.Repository.Host
	_, left, _ := strings.Cut(s.files, ",")
	tree := git.WorkTree{Paths: a.Repository.Checkout.Paths, LeftOut: git.LeftOut(strings.Split(left, ",")), LFS: a.Repository.LFS != nil}
	if s.files == filesOf(tree) {
		return a.harvestBy(ctx, s.from, host.Harvest(s.from.Start, a.temp, tree))
	}
	if s.files != filling {
		a.warn("changes that the last session did not commit were not taken along", errors.New("repository.paths or repository.lfs has changed"))
	}
	return a.harvestBy(ctx, s.from, host.HarvestCommits(s.from.Start, a.temp))
}

// leftover takes work that the last session left in a kept workspace; nil if there is
// none to continue with. Work that cannot be taken is given up with a warning: an agent
// must not be able to block its issue. If somebody else has moved the branch, the session
// begins with that, and the work stands beside it, on [git.AsideBranch].
func (a *attempt) leftover(ctx context.Context, ws workspace.Workspace) (*git.Incoming, error) {
	a.work.kept = !ws.CreatedNow && a.Workspaces.Note(ws) != ""
	start, ok := a.readStart(ws)
	if ws.CreatedNow || !ok {
		return nil, nil
	}
	var left *git.Incoming
	_, err := a.Workspaces.Seal(ws) // a sandbox puts an empty file in the place of one that it protects
	if err == nil {
		left, err = a.harvestLeft(ctx, start)
	}
	switch class, _ := classify(err); {
	case err == nil:
	case errors.Is(err, git.ErrNothingNew):
		return nil, nil
	case ctx.Err() != nil || class == schedule.Systemic:
		return nil, err
	default:
		a.work.kept = false
		a.warn("the work that the last session left was not taken along", err)
		return nil, nil
	}
	switch pushed := a.Repository.Checkout.Pushed; {
	case pushed.IsZero(): // the base may have moved, without the work
		a.work.start = start.from.Start
	case pushed == start.from.Start || pushed == start.head:
	case a.hasAll(ctx, left, pushed):
		return nil, left.Close()
	default:
		a.work.aside = true
	}
	return left, nil
}

// hasAll reports whether a commit of the branch has the files of work that was left, and
// no others: a session that was killed has pushed it and could not note that.
func (a *attempt) hasAll(ctx context.Context, left *git.Incoming, pushed git.ObjectID) bool {
	want, _, err := left.TreeAndParents(ctx, left.Tip)
	if err != nil {
		return false
	}
	got, _, err := left.TreeAndParents(ctx, pushed)
	return err == nil && got == want
}
