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
	"github.com/symphony-runner/symphony/workspace/git"
)

// While a workspace holds work that is not published, a note beside it has the commit where
// that work began. A session that is killed, fails or is refused leaves the note; one whose
// work was taken replaces it by noteTaken. The next session takes the work out of the old
// .git, inside the sandbox as always, and saves it beside the workspace until it is in the new
// one. The note is the host's: the history in the old .git could make a person's commits look
// like the agent's. It also identifies the files that were checked out, because a missing file
// is not always deleted.
//
// If somebody else has moved the branch, the session begins with the moved branch, and the work
// stands beside it on a branch of its own, [git.AsideBranch]. It stays saved until a session
// has published it, or ended well without it.

// noteTaken is the note of a workspace whose work was taken.
const noteTaken = "taken\n"

// leftovers is the work of earlier sessions on the issue that is not published.
type leftovers struct {
	*harvester

	kept  bool         // the workspace has the work of the last session
	head  savedWork    // saved work with which the branch begins; zero for none
	aside []savedWork  // each on a branch of its own
	start git.ObjectID // commit where the work began that the session continues; zero for Checkout.Head
	lost  string       // files that could not be taken along with the work of the last session; empty for none
}

// savedWork is work that is saved beside the workspace.
type savedWork struct {
	number int
	tip    git.ObjectID
}

// from returns the commit where the work of the session begins.
func (l *leftovers) from() git.From {
	c := l.repository.Checkout
	return git.From{Start: cmp.Or(l.start, c.Head), Base: c.Base}
}

// saveStart writes the note. head is the commit to which the session has moved the branch of
// the remote; zero if it has not moved it. files describes the work tree.
func (l *leftovers) saveStart(head git.ObjectID, files string) error {
	s := start{from: l.from(), head: head, files: files}
	if head.IsZero() {
		s.head = s.from.Start
	}
	return l.workspaces.SaveNote(l.here.Workspace, s.String())
}

// The values of start.files for a work tree that is not fully checked out.
const (
	replacing = "saved" // .git is being replaced, and the work of the previous session is saved
	filling   = "-"     // the checkout is not complete, so only commits count as work
)

// filesOf returns the word for a work tree in a note: all or the hash of its paths, whether
// files in Git LFS have their contents, and behind commas the folders that are left out.
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

// start is the content of a note, or of the first line of saved work.
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
	if len(fields) == 3 { // an older version wrote it
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
	Work
	number int // number of the saved work
}

// find returns the work that earlier sessions have left beside a kept workspace or in
// it, and that is not published. Work that cannot be taken is given up with a warning: an
// agent must not be able to block its issue. The caller closes the work.
func (l *leftovers) find(ctx context.Context) ([]leftWork, error) {
	ws := l.here.Workspace
	note := l.workspaces.Note(ws)
	l.kept = !ws.CreatedNow && note != ""
	if ws.CreatedNow {
		return nil, nil
	}
	if start, ok := parseStart(note); ok && start.files != replacing {
		if err := l.save(ctx, start); err != nil {
			return nil, err
		}
	}
	return l.saved(ctx)
}

// saved returns the work that is saved beside a workspace, the latest first, except
// work that later work or the branch of the remote contains.
func (l *leftovers) saved(ctx context.Context) (works []leftWork, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(works))
		}
	}()
	numbers, err := l.workspaces.SavedWork(l.here.Workspace)
	if err != nil {
		return nil, err
	}
	for _, number := range slices.Backward(numbers) {
		work, err := l.read(ctx, number)
		if err != nil {
			return works, err
		}
		if work.Work == nil {
			continue
		}
		known, err := l.isKnown(ctx, work, works)
		if err == nil && known {
			err = errors.Join(work.Close(), l.workspaces.DropWork(l.here.Workspace, number))
		} else {
			works = append(works, work)
		}
		if err != nil {
			return works, err
		}
	}
	return works, nil
}

// save saves the work in a kept workspace, if there is some. If its files are not the files
// that this session would check out, only commits are taken: missing files would look deleted,
// and files of another commit changed.
func (l *leftovers) save(ctx context.Context, s start) error {
	host := l.repository.Host
	_, left, _ := strings.Cut(s.files, ",")
	tree := git.WorkTree{Paths: l.repository.Checkout.Paths, LeftOut: git.LeftOut(strings.Split(left, ",")), LFS: l.repository.LFS != nil}
	command := host.Harvest(s.from.Start, l.here.room, tree)
	if s.files != filesOf(tree) {
		if s.files != filling {
			l.warn("changes that the last session did not commit were not taken along", errors.New("repository.paths or repository.lfs has changed"))
		}
		command = host.HarvestCommits(s.from.Start, l.here.room)
	}
	if _, err := l.workspaces.Seal(l.here.Workspace); err != nil { // a sandbox puts an empty file in the place of one that it protects
		return l.giveUp(ctx, err)
	}
	_, err := l.workspaces.SaveWork(l.here.Workspace, func(w io.Writer) error { return l.write(ctx, w, s, command) })
	if none, isNone := errors.AsType[*git.NothingNewError](err); isNone {
		l.lost = none.Untaken.String()
		return nil
	}
	if _, isFile := errors.AsType[*fs.PathError](err); isFile { // the host's own
		return err
	}
	return l.giveUp(ctx, err)
}

// write takes the work in a kept workspace by a command, and writes it for read: the start of
// the work, the output of the command, and the objects of Git LFS that it needs.
func (l *leftovers) write(ctx context.Context, w io.Writer, s start, command git.Command) error {
	if _, err := io.WriteString(w, s.String()); err != nil {
		return err
	}
	harvest := httputil.NewChunkedWriter(w) // chunks mark the end of the output
	in, err := l.harvest(ctx, s.from, command, harvest)
	if err != nil {
		return err
	}
	if err = harvest.Close(); err == nil {
		err = in.SaveObjects(w)
	}
	return errors.Join(err, in.Close())
}

// read reads saved work. If the work is not new, or cannot be taken, it deletes the
// saved work and returns none.
func (l *leftovers) read(ctx context.Context, number int) (leftWork, error) {
	f, err := l.workspaces.OpenWork(l.here.Workspace, number)
	if err != nil {
		return leftWork{}, err
	}
	defer f.Close()
	work, err := l.parse(ctx, bufio.NewReader(f))
	work.number = number
	if err == nil {
		return work, nil
	}
	if !errors.Is(err, git.ErrNothingNew) {
		if err := l.giveUp(ctx, err); err != nil {
			return leftWork{}, err
		}
	}
	return leftWork{}, l.workspaces.DropWork(l.here.Workspace, number)
}

// parse takes the stream of write into a quarantine of the store.
func (l *leftovers) parse(ctx context.Context, r *bufio.Reader) (work leftWork, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return work, err
	}
	var ok bool
	if work.start, ok = parseStart(line); !ok {
		return work, errors.New("its first line does not say where it began")
	}
	if work.Work, err = l.repository.Source.Receive(ctx, httputil.NewChunkedReader(r), work.from); err != nil {
		return work, err
	}
	wanted, _, err := l.wantedObjects(ctx, work.Work)
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
func (l *leftovers) giveUp(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if class, _ := classify(err); ctx.Err() != nil || class == schedule.Systemic {
		return err
	}
	l.kept = false
	l.warn("the work that the last session left was not taken along", err)
	return nil
}

// isKnown reports whether later work, or the branch of the remote, contains all of this
// work: a session that merged or pushed it was killed before it could note that.
func (l *leftovers) isKnown(ctx context.Context, work leftWork, later []leftWork) (bool, error) {
	tip := work.About().Tip
	tree, _, err := work.TreeAndParents(ctx, tip)
	if err != nil {
		return false, err
	}
	for _, newer := range later {
		if slices.Contains(newer.About().Commits, tip) {
			return true, nil
		}
		if same, _, err := newer.TreeAndParents(ctx, newer.About().Tip); err != nil || same == tree {
			return true, err
		}
	}
	if l.continues(work) {
		return false, nil
	}
	pushed, _, err := work.TreeAndParents(ctx, l.repository.Checkout.Pushed)
	return pushed == tree, err
}

// continues reports whether the session can go on where work ends: nobody else has moved
// the branch.
func (l *leftovers) continues(work leftWork) bool {
	pushed := l.repository.Checkout.Pushed
	return pushed.IsZero() || pushed == work.from.Start || pushed == work.head
}

// endAside is called at the end of a session that had work of earlier sessions on
// branches of their own. If the session ended well, that work is dropped, because its
// agent could have merged it. Otherwise the work is kept for the next session.
func (l *leftovers) endAside(well bool) {
	var err error
	switch {
	case len(l.aside) == 0:
	case well:
		for _, aside := range l.aside {
			err = errors.Join(err, l.workspaces.DropWork(l.here.Workspace, aside.number))
		}
		if err != nil {
			l.warn("the next session has work again that this one did not need", err)
		}
	default:
		l.warn("work of an earlier session was not merged", errors.New("it stays beside the workspace, for the next session"))
	}
}

// dropAside deletes the saved work that stands aside and ends in any of these commits.
func (l *leftovers) dropAside(commits []git.ObjectID) error {
	var numbers []int
	l.aside = slices.DeleteFunc(l.aside, func(aside savedWork) bool {
		merged := slices.Contains(commits, aside.tip)
		if merged {
			numbers = append(numbers, aside.number)
		}
		return merged
	})
	return l.workspaces.DropWork(l.here.Workspace, numbers...)
}

func closeAll(works []leftWork) (err error) {
	for _, work := range works {
		err = errors.Join(err, work.Close())
	}
	return err
}
