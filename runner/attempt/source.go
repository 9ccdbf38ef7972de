package attempt

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/symphony-runner/symphony/workspace/git"
)

// Source has the commits of [Repository.Checkout], and takes the work of sessions. It is a store on
// this machine ([FromStore]), or on the one that has sent the session here.
type Source interface {
	// Populate, ReadOnly, Submodules, Objects, Files and Receive do the same as the methods of
	// [git.Store], and fail with the same errors.
	Populate(ctx context.Context, into *os.Root, c git.Checkout) error
	ReadOnly(ctx context.Context, left Work, commits ...git.ObjectID) (bool, error)
	Submodules(ctx context.Context, base, head git.ObjectID, paths []string) (list []git.Submodule, skipped []error, err error)
	Objects(ctx context.Context, paths []string, commits ...git.ObjectID) (*git.Objects, error)
	Files(ctx context.Context, commit git.ObjectID, match func(path string) bool) (map[string]string, error)
	Receive(ctx context.Context, r io.Reader, from git.From) (Work, error)
}

// Work is work of an agent that a Source has taken. Its methods do the same as the ones
// of [git.Incoming].
type Work interface {
	About() git.Facts
	Files(ctx context.Context, commit git.ObjectID, match func(path string) bool) (map[string]string, error)
	TreeAndParents(ctx context.Context, commit git.ObjectID) (tree git.ObjectID, parents []git.ObjectID, err error)
	CopyPacks(ctx context.Context, into *os.Root) error
	NewObjects(ctx context.Context, history bool) ([]git.NewObject, error)
	TakeObjects(r io.Reader, wanted []git.NewObject) error
	SaveObjects(w io.Writer) error
	TakeSaved(r io.Reader, wanted []git.NewObject) error
	Close() error
}

// FromStore returns the source that is a store on this machine. Its Work is a [*git.Incoming].
func FromStore(store *git.Store) Source { return storeSource{store} }

type storeSource struct{ *git.Store }

func (s storeSource) Receive(ctx context.Context, r io.Reader, from git.From) (Work, error) {
	in, err := s.Store.Receive(ctx, r, from)
	if in == nil {
		return nil, err
	}
	return in, err
}

func (s storeSource) ReadOnly(ctx context.Context, left Work, commits ...git.ObjectID) (bool, error) {
	if left == nil {
		return s.Store.ReadOnly(ctx, nil, commits...)
	}
	in, isOwn := left.(*git.Incoming)
	if !isOwn {
		return false, errors.New("read folders: the work is not of this store")
	}
	return s.Store.ReadOnly(ctx, in, commits...)
}
