package attempt

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httputil"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// While a workspace holds work that is not published, a note beside it says where that
// work began. A session that is killed, fails or is refused leaves the note; one whose
// work was taken says so there. The next one takes the work out of the old .git, inside
// the sandbox as always, and saves it beside the workspace until it is in the new one.
// The note is the host's: what the old .git says of its history could make a person's
// commits look like the agent's. It also says which files the work tree has, because what
// is missing is not always deleted.
//
// If somebody else has moved the branch, the session begins with that, and the work stands
// beside it on a branch of its own, [git.AsideBranch]. It stays saved until a session has
// published it, or ended well without it.

// nothingLeft is the note of a workspace whose work was taken.
const nothingLeft = "taken\n"

// from returns the commit where the work of the session begins.
func (a *attempt) from() git.From {
	c := a.Repository.Checkout
	return git.From{Start: cmp.Or(a.work.start, c.Head), Base: c.Base}
}

// saveStart writes the note. head is where the session has left the branch of the
// remote; zero if it has not moved it. files says what the work tree has.
func (a *attempt) saveStart(head git.ObjectID, files string) error {
	s := start{from: a.from(), head: head, files: files}
	if head.IsZero() {
		s.head = s.from.Start
	}
	return a.Workspaces.SaveNote(a.work.ws, s.String())
}

// These stand in a note for a work tree that has not the files of its commit.
const (
	replacing = "saved" // the .git is of the last session or of this one; the work of the last one is saved
	filling   = "-"     // there is what an earlier session left, or a part of the files: only what is committed is work
)

// filesOf returns the word for a work tree in a note: all or the hash of its paths,
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

// start is what a note, or the first line of saved work, says about the work.
type start struct {
	from  git.From
	head  git.ObjectID
	files string
}

// String returns the line that parseStart reads.
func (s start) String() string {
	return fmt.Sprintf("%s %s %s %s\n", s.from.Start, s.head, s.from.Base, s.files)
}

// parseStart returns false if text does not say where work began.
func parseStart(text string) (s start, ok bool) {
	fields := strings.Fields(text)
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

// leftWork is work of an earlier session that is not published.
type leftWork struct {
	start
	*git.Incoming
	number int // of the saved work
}

// leftover returns the work that earlier sessions have left beside a kept workspace or in
// it, and that is not published. Work that cannot be taken is given up with a warning: an
// agent must not be able to block its issue. The caller closes the work.
func (a *attempt) leftover(ctx context.Context, ws workspace.Workspace) ([]leftWork, error) {
	note := a.Workspaces.Note(ws)
	a.work.kept = !ws.CreatedNow && note != ""
	if ws.CreatedNow {
		return nil, nil
	}
	if start, ok := parseStart(note); ok && start.files != replacing {
		if err := a.saveLeft(ctx, ws, start); err != nil {
			return nil, err
		}
	}
	return a.savedLeft(ctx, ws)
}

// savedLeft returns the work that is saved beside a workspace, the latest first, except
// work that later work or the branch of the remote contains.
func (a *attempt) savedLeft(ctx context.Context, ws workspace.Workspace) (works []leftWork, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(works))
		}
	}()
	numbers, err := a.Workspaces.SavedWork(ws)
	if err != nil {
		return nil, err
	}
	for _, number := range slices.Backward(numbers) {
		work, err := a.readLeft(ctx, ws, number)
		if err != nil {
			return works, err
		}
		if work.Incoming == nil {
			continue
		}
		known, err := a.isKnown(ctx, work, works)
		if err == nil && known {
			err = errors.Join(work.Close(), a.Workspaces.DropWork(ws, number))
		} else {
			works = append(works, work)
		}
		if err != nil {
			return works, err
		}
	}
	return works, nil
}

// saveLeft saves the work in a kept workspace, if there is some. If its files are not
// those that this session would check out, only commits are taken: files that are missing
// would look deleted, and those of another commit changed.
func (a *attempt) saveLeft(ctx context.Context, ws workspace.Workspace, s start) error {
	host := a.Repository.Host
	_, left, _ := strings.Cut(s.files, ",")
	tree := git.WorkTree{Paths: a.Repository.Checkout.Paths, LeftOut: git.LeftOut(strings.Split(left, ",")), LFS: a.Repository.LFS != nil}
	command := host.Harvest(s.from.Start, a.temp, tree)
	if s.files != filesOf(tree) {
		if s.files != filling {
			a.warn("changes that the last session did not commit were not taken along", errors.New("repository.paths or repository.lfs has changed"))
		}
		command = host.HarvestCommits(s.from.Start, a.temp)
	}
	if _, err := a.Workspaces.Seal(ws); err != nil { // a sandbox puts an empty file in the place of one that it protects
		return a.giveUp(ctx, err)
	}
	_, err := a.Workspaces.SaveWork(ws, func(w io.Writer) error { return a.writeLeft(ctx, w, s, command) })
	if none, isNone := errors.AsType[*git.NothingNewError](err); isNone {
		a.work.lost = none.Untaken.String()
		return nil
	}
	if _, isFile := errors.AsType[*fs.PathError](err); isFile { // the host's own
		return err
	}
	return a.giveUp(ctx, err)
}

// writeLeft takes the work in a kept workspace by a command, and writes it for readLeft:
// where it began, what the command prints, and the objects of Git LFS that it needs.
func (a *attempt) writeLeft(ctx context.Context, w io.Writer, s start, command git.Command) error {
	if _, err := io.WriteString(w, s.String()); err != nil {
		return err
	}
	harvest := httputil.NewChunkedWriter(w) // which says where it ends
	in, err := a.harvestBy(ctx, s.from, command, harvest)
	if err != nil {
		return err
	}
	if err = harvest.Close(); err == nil {
		err = in.SaveObjects(w)
	}
	return errors.Join(err, in.Close())
}

// readLeft reads saved work. If the work is not new, or cannot be taken, it deletes the
// saved work and returns none.
func (a *attempt) readLeft(ctx context.Context, ws workspace.Workspace, number int) (leftWork, error) {
	f, err := a.Workspaces.OpenWork(ws, number)
	if err != nil {
		return leftWork{}, err
	}
	defer f.Close()
	work, err := a.parseLeft(ctx, bufio.NewReader(f))
	work.number = number
	if err == nil {
		return work, nil
	}
	if !errors.Is(err, git.ErrNothingNew) {
		if err := a.giveUp(ctx, err); err != nil {
			return leftWork{}, err
		}
	}
	return leftWork{}, a.Workspaces.DropWork(ws, number)
}

// parseLeft takes what writeLeft has written into a quarantine of the store.
func (a *attempt) parseLeft(ctx context.Context, r *bufio.Reader) (work leftWork, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return work, err
	}
	var ok bool
	if work.start, ok = parseStart(line); !ok {
		return work, errors.New("its first line does not say where it began")
	}
	if work.Incoming, err = a.Repository.Store.Receive(ctx, httputil.NewChunkedReader(r), work.from); err != nil {
		return work, err
	}
	wanted, _, err := a.wantedObjects(ctx, work.Incoming)
	if err == nil {
		err = work.TakeSaved(r, wanted)
	}
	if err != nil {
		return leftWork{}, errors.Join(err, work.Close())
	}
	return work, nil
}

// giveUp returns the error of work that could not be taken, if it may be taken later.
// Otherwise it is given up with a warning.
func (a *attempt) giveUp(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if class, _ := classify(err); ctx.Err() != nil || class == schedule.Systemic {
		return err
	}
	a.work.kept = false
	a.warn("the work that the last session left was not taken along", err)
	return nil
}

// isKnown reports whether later work, or the branch of the remote, contains all of this
// work: a session that merged or pushed it was killed before it could note that.
func (a *attempt) isKnown(ctx context.Context, work leftWork, later []leftWork) (bool, error) {
	tree, _, err := work.TreeAndParents(ctx, work.Tip)
	if err != nil {
		return false, err
	}
	for _, l := range later {
		if slices.Contains(l.Commits, work.Tip) {
			return true, nil
		}
		if same, _, err := l.TreeAndParents(ctx, l.Tip); err != nil || same == tree {
			return true, err
		}
	}
	if a.continues(work) {
		return false, nil
	}
	pushed, _, err := work.TreeAndParents(ctx, a.Repository.Checkout.Pushed)
	return pushed == tree, err
}

// continues reports whether the session can go on where work ends: nobody else has moved
// the branch.
func (a *attempt) continues(work leftWork) bool {
	pushed := a.Repository.Checkout.Pushed
	return pushed.IsZero() || pushed == work.from.Start || pushed == work.head
}

// endAside is called at the end of a session that had work of earlier sessions on
// branches of their own. If the session ended well, that work is dropped, because its
// agent could have merged it. Otherwise the work is kept for the next session.
func (a *attempt) endAside(well bool) {
	var err error
	switch {
	case len(a.work.aside) == 0:
	case well:
		for _, aside := range a.work.aside {
			err = errors.Join(err, a.Workspaces.DropWork(a.work.ws, aside.number))
		}
		if err != nil {
			a.warn("the next session has work again that this one did not need", err)
		}
	default:
		a.warn("work of an earlier session was not merged", errors.New("it stays beside the workspace, for the next session"))
	}
}

// dropAside deletes the saved work that stands aside and ends in one of these
// commits.
func (a *attempt) dropAside(commits []git.ObjectID) error {
	var numbers []int
	a.work.aside = slices.DeleteFunc(a.work.aside, func(aside savedWork) bool {
		merged := slices.Contains(commits, aside.tip)
		if merged {
			numbers = append(numbers, aside.number)
		}
		return merged
	})
	return a.Workspaces.DropWork(a.work.ws, numbers...)
}

func closeAll(works []leftWork) (err error) {
	for _, work := range works {
		err = errors.Join(err, work.Close())
	}
	return err
}
