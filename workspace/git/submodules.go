package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The base branch decides which submodules are fetched, and from where. A branch that an agent
// may have pushed decides nothing but their commits. Each submodule has a store of its own,
// which belongs to the store of the repository that it is in, and has the commits that were
// asked for, without their history.

// Bounds of the submodules of one commit.
const (
	maxSubmodules     = 50
	maxSubmoduleDepth = 3 // submodules of submodules of submodules
)

// Submodule is a repository inside the repository of a workspace.
type Submodule struct {
	Path   string // path from the top of the workspace
	Commit ObjectID

	name   string // name in .gitmodules
	dir    string // folder of the repository, below .git
	parent string // dir of the repository that contains it; empty for the workspace's own
	store  *Store
	base   ObjectID // its commit in the base branch, which the agent may check out; zero if the base has none
}

// moduleStores are the open stores of submodules.
type moduleStores struct {
	*bareRepository
	mu    sync.Mutex
	byURL map[string]*Store
}

func (m *moduleStores) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, store := range m.byURL {
		errs = append(errs, store.Close())
	}
	clear(m.byURL)
	return errors.Join(errs...)
}

// Submodules returns the submodules of a commit that has been fetched, as base, a commit
// of the base branch, names them: those with a place in the tree of head, each before
// those inside it. With paths, only those in these folders. Commits that their stores do
// not have are fetched.
//
// An error that only head can cause is left out and returned in skipped: a commit that is
// nowhere, or a submodule in a submodule with an address that base does not have. With base as
// its cause it is an error. Submodules fails with the errors of Fetch.
func (s *Store) Submodules(ctx context.Context, base, head ObjectID, paths []string) (list []Submodule, skipped []error, err error) {
	ofBase := submoduleWalk{store: s, paths: paths}
	err = ofBase.walk(ctx, s, base, base, Submodule{}, 1)
	if err != nil || head == base {
		return ofBase.list, nil, err
	}
	w := submoduleWalk{store: s, paths: paths, known: map[string]bool{}}
	for _, m := range ofBase.list {
		w.known[m.store.remote.url] = true
	}
	err = w.walk(ctx, s, base, head, Submodule{}, 1)
	for i := range w.list {
		m := &w.list[i]
		if j := slices.IndexFunc(ofBase.list, func(b Submodule) bool { return b.Path == m.Path && b.store == m.store }); j >= 0 {
			m.base = ofBase.list[j].Commit
		}
	}
	return w.list, w.skipped, err
}

// submoduleWalk collects the submodules of a commit.
type submoduleWalk struct {
	store   *Store
	paths   []string
	known   map[string]bool // addresses that may be fetched; nil for all
	list    []Submodule
	skipped []error
}

// walk adds the submodules of a commit of a store. Named is the commit whose .gitmodules
// counts, and in the submodule that the store is of, or the zero one.
func (w *submoduleWalk) walk(ctx context.Context, store *Store, named, commit ObjectID, in Submodule, depth int) error {
	found, err := store.findModules(ctx, named, commit)
	if err != nil {
		if in.Path != "" {
			err = fmt.Errorf("submodule %s: %w", in.Path, err)
		}
		return w.skip(err)
	}
	for _, e := range found {
		m := Submodule{Path: path.Join(in.Path, e.path), Commit: e.commit, name: e.name, dir: path.Join(in.dir, "modules", e.name), parent: in.dir}
		if !isInCone(m.Path, w.paths) {
			continue
		}
		if err := w.add(ctx, store, m, e.address, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *submoduleWalk) add(ctx context.Context, parent *Store, m Submodule, address string, depth int) error {
	fail := func(err error) error { return w.skip(fmt.Errorf("submodule %s: %w", m.Path, err)) }
	remote, err := w.store.remote.submodule(parent.remote, address)
	switch {
	case err != nil:
		return fail(err)
	case w.known != nil && !w.known[remote.url]:
		return fail(fmt.Errorf("%w: the base branch has no submodule from %s", ErrUnsupported, remote))
	case len(w.list) >= maxSubmodules:
		return fail(fmt.Errorf("%w: there are more than %d submodules; name the folders that are needed in repository.paths", ErrTooBig, maxSubmodules))
	}
	if m.store, err = w.store.moduleStore(ctx, remote); err == nil {
		err = m.store.fetchCommit(ctx, m.Commit)
	}
	if err != nil {
		return fail(err)
	}
	w.list = append(w.list, m)
	if depth == maxSubmoduleDepth {
		return nil
	}
	return w.walk(ctx, m.store, m.Commit, m.Commit, m, depth+1)
}

// skip returns an error, or keeps it as a reason why something is left out: a submodule that an
// agent's branch names must not stop its own session or the sessions of others.
func (w *submoduleWalk) skip(err error) error {
	ofBranch := errors.Is(err, errNoCommit) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrRemote) || errors.Is(err, ErrTooBig)
	if w.known == nil || !ofBranch {
		return err
	}
	w.skipped = append(w.skipped, err)
	return nil
}

// foundModule is a submodule that .gitmodules names, with its commit in the tree.
type foundModule struct {
	moduleEntry
	commit ObjectID
}

// findModules returns the submodules that the .gitmodules of one commit names and
// another one has.
func (m *moduleStores) findModules(ctx context.Context, named, commit ObjectID) ([]foundModule, error) {
	blob, err := m.findModulesFile(ctx, named)
	if err != nil || blob.IsZero() {
		return nil, m.explainModules(named, err)
	}
	entries, err := m.readModules(ctx, blob)
	if err != nil {
		return nil, m.explainModules(named, err)
	}
	var found []foundModule
	err = m.readTrees(ctx, func(w *treeWalk) error {
		top, err := w.read(commit.String() + "^{tree}")
		trees := map[string][]treeEntry{".": top}
		for _, e := range entries {
			if err != nil {
				return err
			}
			var folder []treeEntry
			folder, err = w.folder(trees, path.Dir(e.path))
			i := slices.IndexFunc(folder, func(t treeEntry) bool { return t.name == path.Base(e.path) && t.mode == ModeSubmodule })
			if i >= 0 {
				found = append(found, foundModule{e, folder[i].id})
			}
		}
		return err
	})
	return found, err
}

func (m *moduleStores) explainModules(commit ObjectID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of the commit %s of %s: %w; correct it, or remove repository.submodules", modulesFile, commit, m.remote, err)
}

// findModulesFile returns the blob of the .gitmodules of a commit, or zero if the commit
// has none.
func (m *moduleStores) findModulesFile(ctx context.Context, commit ObjectID) (blob ObjectID, err error) {
	err = m.readTrees(ctx, func(w *treeWalk) error {
		top, err := w.read(commit.String() + "^{tree}")
		i := slices.IndexFunc(top, func(e treeEntry) bool { return e.name == modulesFile })
		if err != nil || i < 0 {
			return err
		}
		if mode := top[i].mode; mode != ModeFile && mode != ModeExecutable {
			return fmt.Errorf("%w: it is not a file", ErrUnsupported)
		}
		object, err := w.objects.ask(top[i].id.String())
		switch {
		case err != nil:
			return err
		case object.Size > maxModulesFile:
			return fmt.Errorf("%w: it has %d bytes, and the limit is %d", ErrTooBig, object.Size, maxModulesFile)
		}
		blob = object.ID
		_, err = w.objects.contents(object, maxModulesFile)
		return err
	})
	return blob, err
}

func (b *bareRepository) readTrees(ctx context.Context, read func(*treeWalk) error) error {
	return b.host.readTrees(ctx, b.confined(), read)
}

// moduleStore returns the store of a submodule, open until its own is closed. A workspace that
// comes from the same remote has another store.
func (m *moduleStores) moduleStore(ctx context.Context, remote Remote) (*Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if store := m.byURL[remote.url]; store != nil {
		return store, nil
	}
	sum := sha256.Sum256([]byte("submodule " + remote.url))
	store := newStore(m.host, remote, filepath.Join(m.host.dir, hex.EncodeToString(sum[:16])))
	if err := store.open(ctx); err != nil {
		store.Close()
		return nil, fmt.Errorf("open the store of %s in %s: %w", remote, store.dir, err)
	}
	m.byURL[remote.url] = store
	return store, nil
}

// errNoCommit: the repository of a submodule does not have a commit.
var errNoCommit = errors.New("commit_not_found")

// commitRef returns the reference that keeps a commit of a submodule.
func commitRef(commit ObjectID) string { return "refs/symphony/commits/" + commit.String() }

// fetchCommit fetches one commit into the store of a submodule, if it is not there.
func (f *fetcher) fetchCommit(ctx context.Context, commit ObjectID) error {
	f.fetching.Lock()
	defer f.fetching.Unlock()
	refs, err := f.refs(ctx)
	if err != nil {
		return fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	if refs[commitRef(commit)] == commit {
		f.fetched = true
		return nil
	}
	err = f.orRemade(ctx, func() error { return f.fetchMissing(ctx, commit) })
	if err == nil {
		f.joinPacks(ctx)
	}
	return err
}

// fetchMissing does the work of fetchCommit. Only a commit gets a reference, for the rest
// of the store relies on that: the branch of an agent may name any object.
func (f *fetcher) fetchMissing(ctx context.Context, commit ObjectID) error {
	c := f.command(fetchArgs("--depth=1", "--", f.remote.url, commit.String())...)
	if folder := f.remote.Folder(); folder != "" {
		c.bare = []string{folder}
	}
	err := f.fetchFrom(ctx, f.remote, c)
	var exit *exitError
	if errors.As(err, &exit) && (strings.Contains(exit.stderr, "not our ref") || strings.Contains(exit.stderr, "unadvertised object")) {
		return fmt.Errorf("fetch %s: %w: %w: it does not have the commit %s, or does not give commits by their id; push it there", f.remote, ErrNotFound, errNoCommit, commit)
	}
	if err != nil {
		return err
	}
	out, err := f.host.run(ctx, f.confined("cat-file", "-t", commit.String()))
	if kind := strings.TrimSpace(string(out)); err == nil && kind != "commit" {
		return fmt.Errorf("fetch %s: %w: %w: the object %s is a %s, not a commit", f.remote, ErrNotFound, errNoCommit, commit, sanitize(kind))
	}
	if err == nil {
		_, err = f.host.run(ctx, f.command("update-ref", commitRef(commit), commit.String()))
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	return nil
}

// isInCone reports whether a path is in any of the folders of a sparse checkout.
func isInCone(path string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
}
