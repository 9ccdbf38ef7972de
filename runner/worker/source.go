package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/workspace/git"
)

// source is the store of the repository, on the other side.
type source struct {
	*link
	packs packs
}

type populateArguments struct {
	Checkout git.Checkout
	Have     []string // names of the packs that the host has
}

type readOnlyArguments struct {
	Left    int // number of a work; 0 for none
	Commits []git.ObjectID
}

type filesArguments struct {
	Work   int // number of a work; 0 for the store
	Commit git.ObjectID
}

// oneFile is an answer's line about a file.
type oneFile struct{ Path, Object string }

// takenWork is work that the other side has taken.
type takenWork struct {
	Number int
	Facts  git.Facts
}

type treeArguments struct {
	Work   int
	Commit git.ObjectID
}

type treeAnswer struct {
	Tree    git.ObjectID
	Parents []git.ObjectID
}

func (s *source) Populate(ctx context.Context, into *os.Root, c git.Checkout) error {
	return s.folder(ctx, "source/populate", populateArguments{c, s.packs.names()}, into)
}

// folder has a function of the other side make files in a folder.
func (s *source) folder(ctx context.Context, name string, arguments any, into *os.Root) error {
	files, err := s.stream(ctx, name, arguments, nil)
	if err != nil {
		return err
	}
	defer files.Close()
	return readFolder(files, into, s.packs)
}

func (s *source) ReadOnly(ctx context.Context, left attempt.Work, commits ...git.ObjectID) (found bool, err error) {
	arguments := readOnlyArguments{Commits: commits}
	if left != nil {
		arguments.Left = left.(*work).number // all work here is of this source
	}
	err = s.call(ctx, "source/readonly", arguments, &found)
	return found, err
}

// errSubmodules and errLFS are the errors of settings that validation refuses for worker hosts.
var (
	errSubmodules = errors.New("repository.submodules does not work on worker hosts")
	errLFS        = errors.New("repository.lfs does not work on worker hosts")
)

func (s *source) Submodules(context.Context, git.ObjectID, git.ObjectID, []string) ([]git.Submodule, []error, error) {
	return nil, nil, errSubmodules
}

func (s *source) Objects(context.Context, []string, ...git.ObjectID) (*git.Objects, error) {
	return nil, errLFS
}

func (s *source) Files(ctx context.Context, commit git.ObjectID, match func(string) bool) (map[string]string, error) {
	return s.files(ctx, filesArguments{Commit: commit}, match)
}

func (s *source) files(ctx context.Context, arguments filesArguments, match func(string) bool) (map[string]string, error) {
	answer, err := s.stream(ctx, "source/files", arguments, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	files := map[string]string{}
	lines := json.NewDecoder(bufio.NewReader(answer))
	for {
		var file oneFile
		switch err := lines.Decode(&file); {
		case err == io.EOF:
			return files, nil
		case err != nil:
			return nil, s.broken(ctx, "source/files", err)
		case match(file.Path):
			files[file.Path] = file.Object
		}
	}
}

func (s *source) Receive(ctx context.Context, r io.Reader, from git.From) (attempt.Work, error) {
	answer, err := s.stream(ctx, "source/receive", from, r)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var taken takenWork
	if err := json.NewDecoder(answer).Decode(&taken); err != nil {
		return nil, s.broken(ctx, "source/receive", err)
	}
	return &work{source: s, number: taken.Number, facts: taken.Facts}, nil
}

// work is work in the store of the other side.
type work struct {
	*source
	number int
	facts  git.Facts
}

func (w *work) About() git.Facts { return w.facts }

func (w *work) Files(ctx context.Context, commit git.ObjectID, match func(string) bool) (map[string]string, error) {
	return w.files(ctx, filesArguments{w.number, commit}, match)
}

func (w *work) TreeAndParents(ctx context.Context, commit git.ObjectID) (git.ObjectID, []git.ObjectID, error) {
	var answer treeAnswer
	err := w.call(ctx, "work/tree", treeArguments{w.number, commit}, &answer)
	return answer.Tree, answer.Parents, err
}

func (w *work) CopyPacks(ctx context.Context, into *os.Root) error {
	return w.folder(ctx, "work/packs", w.number, into)
}

func (w *work) NewObjects(context.Context, bool) ([]git.NewObject, error) { return nil, errLFS }

func (w *work) TakeObjects(io.Reader, []git.NewObject) error { return errLFS }

// SaveObjects writes nothing: there are no objects of Git LFS.
func (w *work) SaveObjects(io.Writer) error { return nil }

// TakeSaved takes nothing, for the same reason.
func (w *work) TakeSaved(io.Reader, []git.NewObject) error { return nil }

func (w *work) Close() error {
	return w.call(context.Background(), "work/close", w.number, nil)
}

type deliverArguments struct {
	attempt.Delivery
	Number int // of the work
}

type deliverAnswer struct {
	Delivered attempt.Delivered
	Facts     git.Facts
	Failure   *failure // beside an answer; nil for none
}

// deliver has the other side publish work.
func (s *source) deliver(ctx context.Context, d attempt.Delivery) (attempt.Delivered, error) {
	of := d.Work.(*work)
	var answer deliverAnswer
	if err := s.call(ctx, "deliver", deliverArguments{d, of.number}, &answer); err != nil {
		return attempt.Delivered{}, err
	}
	of.facts = answer.Facts
	return answer.Delivered, answer.err()
}

func (s *source) settle(ctx context.Context, told receipt.Receipt) (attempt.Delivered, error) {
	var answer deliverAnswer
	if err := s.call(ctx, "settle", told, &answer); err != nil {
		return attempt.Delivered{}, err
	}
	return answer.Delivered, answer.err()
}

func (a deliverAnswer) err() error {
	if a.Failure == nil {
		return nil
	}
	return a.Failure
}
