package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Source describes the part of a remote that a Fetch reads.
type Source struct {
	// Base is the branch that the work is for. The zero Branch is the default branch of
	// the remote. A person who looks at a branch with the prefix, or at no branch, in a
	// repository on this machine does not change it.
	Base   Branch
	Prefix string // prefix of further branches to read, such as "symphony/"; empty for none

	// Seed is the absolute path of a clone of the remote on this machine, such as the job's
	// checkout, or empty. An empty store takes its objects from there, so that less comes over
	// the network. No agent may have been able to write to it.
	Seed string

	// Submodules says that the submodules of the base are fetched too, each into a store of its
	// own; see [Store.Submodules]. With Paths, only the submodules in these folders are.
	Submodules bool
	Paths      []string

	// LFS says that the objects of Git LFS that the base needs in Paths are fetched too; see
	// [Store.Objects].
	LFS bool
}

// fetcher brings the branches of a remote, or single commits of it, into a store.
type fetcher struct {
	*bareRepository
	fetching sync.Mutex // one Fetch at a time
	fetched  bool       // a Fetch of this process has succeeded; needs fetching
}

// Fetched describes the content of a store after a fetch.
type Fetched struct {
	Base     Branch
	Head     ObjectID            // commit of the base
	Branches map[Branch]ObjectID // branches with the prefix
}

// Fetch reads the base and our branches from the remote. Branches that the remote no
// longer has disappear from the store. If nothing is new, no more than the list of
// branches is read. It fails with the errors of the remote, [ErrNoBase], [ErrEmpty],
// [ErrUnsupported], [ErrTooBig] and [ErrStore], and with LFS [ErrLFS].
func (s *Store) Fetch(ctx context.Context, from Source) (Fetched, error) {
	if from.Prefix != "" {
		if _, err := ParseBranch(from.Prefix + "x"); err != nil {
			return Fetched{}, fmt.Errorf("prefix of the branches %.100q: %w", from.Prefix, err)
		}
	}
	s.fetching.Lock()
	defer s.fetching.Unlock()
	var fetched Fetched
	err := s.orRemade(ctx, func() (err error) {
		fetched, err = s.fetch(ctx, from)
		return err
	})
	if err != nil {
		return Fetched{}, err
	}
	if from.Submodules {
		if _, _, err := s.Submodules(ctx, fetched.Head, fetched.Head, from.Paths); err != nil {
			return Fetched{}, fmt.Errorf("fetch the submodules of %s: %w", s.remote, err)
		}
	}
	if from.LFS {
		if _, err := s.Objects(ctx, from.Paths, fetched.Head); err != nil {
			return Fetched{}, err
		}
	}
	return fetched, nil
}

// orRemade calls fetch. If that fails and the store may be the cause, it makes the store again and
// calls fetch once more, unless somebody may use the store. f.fetching must be held.
func (f *fetcher) orRemade(ctx context.Context, fetch func() error) error {
	err := fetch()
	if err != nil && !f.fetched && ctx.Err() == nil && isDamage(err) {
		if err := f.remake(ctx, err); err != nil {
			return err
		}
		err = fetch()
	}
	f.fetched = f.fetched || err == nil
	return err
}

// isDamage reports whether the store, not the remote, may be the cause of an error.
func isDamage(err error) bool {
	for _, other := range []error{ErrUnauthorized, ErrForbidden, ErrNotFound, ErrRenamed, ErrUnavailable, ErrEmpty, ErrNoBase, ErrTooBig, ErrUnsupported, ErrTimeout, ErrFolder, ErrRemote} {
		if errors.Is(err, other) {
			return false
		}
	}
	return true
}

// fetch does the work of Fetch; f.fetching must be held.
func (f *fetcher) fetch(ctx context.Context, from Source) (Fetched, error) {
	there, err := f.Look(ctx, from)
	if err != nil {
		return Fetched{}, err
	}
	here, err := f.refs(ctx)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	wanted := map[string]ObjectID{there.Base.tracking(): there.Head}
	for b, id := range there.Branches {
		wanted[b.tracking()] = id
	}
	shallow, err := readShallow(f.repository())
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	deepen := shallow != "" && !f.fetched
	if maps.Equal(here, wanted) && !deepen {
		return there, nil
	}
	stale := slices.DeleteFunc(slices.Collect(maps.Keys(here)), func(ref string) bool { return !wanted[ref].IsZero() || ref == seedRef })
	if err := f.deleteRefs(ctx, stale...); err != nil {
		return Fetched{}, err
	}
	if len(here) == 0 && from.Seed != "" {
		f.seed(ctx, from.Seed)
		if shallow, err = readShallow(f.repository()); err != nil {
			return Fetched{}, fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
		}
		deepen = shallow != ""
	}
	args := fetchArgs("--update-shallow")
	if deepen {
		args = append(args, "--unshallow")
	}
	args = append(args, "--", f.remote.url, "+"+there.Base.ref()+":"+there.Base.tracking())
	if from.Prefix != "" {
		args = append(args, "+"+branchPrefix+from.Prefix+"*:"+trackingPrefix+from.Prefix+"*")
	}
	if err := f.fetchFrom(ctx, f.remote, f.command(args...)); err != nil {
		return Fetched{}, err
	}
	if err := f.deleteRefs(ctx, seedRef); err != nil {
		return Fetched{}, err
	}
	here, err = f.refs(ctx)
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch %s: %w: %w", f.remote, ErrStore, err)
	}
	f.joinPacks(ctx)
	fetched := newFetched(here, trackingPrefix, there.Base, from.Prefix)
	if fetched.Head.IsZero() {
		return Fetched{}, fmt.Errorf("fetch %s: %w: git did not take the branch %s, and does not say why", f.remote, ErrStore, there.Base)
	}
	return fetched, nil
}

// newFetched returns the branches that references name, all of which begin with place.
func newFetched(refs map[string]ObjectID, place string, base Branch, prefix string) Fetched {
	found := Fetched{Base: base, Head: refs[place+base.name], Branches: map[Branch]ObjectID{}}
	for ref, id := range refs {
		name, ok := strings.CutPrefix(ref, place+prefix)
		if !ok || prefix == "" {
			continue
		}
		if b, err := ParseBranch(prefix + name); err == nil && b != base {
			found.Branches[b] = id
		}
	}
	return found
}

// fetchArgs returns the arguments of every fetch into a repository of the host, and further ones.
func fetchArgs(further ...string) []string {
	return append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no"}, further...)
}

// fetchFrom runs a fetch into the store. Nothing is left of one that fails, which may have
// written gigabytes.
func (b *bareRepository) fetchFrom(ctx context.Context, remote Remote, c command) error {
	c.remote, c.timeout, c.fileSize = &remote, b.host.limits.history, b.host.limits.storeFile
	_, err := b.host.run(ctx, c)
	if err == nil {
		return nil
	}
	b.packs.Lock()
	defer b.packs.Unlock()
	if left := repairPacks(b.packFolder()); left != nil {
		b.host.log.WarnContext(ctx, "what a fetch left is not deleted, or the store is damaged", "store", b.dir, "error", left)
	}
	return remote.explain(c.args[0], err)
}

// deleteRefs deletes references of the store. A missing one is not an error.
func (b *bareRepository) deleteRefs(ctx context.Context, refs ...string) error {
	if len(refs) == 0 {
		return nil
	}
	var input strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&input, "delete %s\n", ref)
	}
	c := b.command("update-ref", "--stdin")
	c.stdin = strings.NewReader(input.String())
	if _, err := b.host.run(ctx, c); err != nil {
		return fmt.Errorf("fetch %s: %w: %w", b.remote, ErrStore, err)
	}
	return nil
}

// seedRef holds the commits of a seed until the remote has been read.
const seedRef = "refs/symphony/seed"

// seed fetches the newest commit of a clone on this machine, with its history if the
// clone has that. It only saves time, so a failure is not an error.
func (f *fetcher) seed(ctx context.Context, folder string) {
	remote := fileRemote(folder)
	fetch := func(depth ...string) error {
		c := f.command(append(fetchArgs(depth...), "--", remote.url, "+HEAD:"+seedRef)...)
		c.bare = []string{folder}
		return f.fetchFrom(ctx, remote, c)
	}
	err := f.host.checkFolder(folder)
	if err == nil {
		if !isWhole(folder) || fetch() != nil {
			err = fetch("--depth=1")
		}
	}
	if err != nil {
		f.host.log.DebugContext(ctx, "store not seeded from the clone: everything comes over the network", "clone", folder, "error", err)
	}
}

// isWhole reports whether a clone seems to have its whole history. git takes nothing from
// one that does not, unless the depth is given.
func isWhole(folder string) bool {
	entry, err := os.Stat(filepath.Join(folder, ".git"))
	_, shallow := os.Stat(filepath.Join(folder, ".git", "shallow"))
	return err == nil && entry.IsDir() && errors.Is(shallow, fs.ErrNotExist)
}

// joinPacks joins the packs of the store if there are many. Objects that no branch
// leads to any more are kept: work that started from them may be under way.
func (b *bareRepository) joinPacks(ctx context.Context) {
	packs, err := filepath.Glob(filepath.Join(escapeGlob(b.packFolder()), "pack-*.pack"))
	if err != nil || len(packs) <= b.host.limits.packFiles {
		return
	}
	b.packs.Lock()
	defer b.packs.Unlock()
	c := b.command("repack", "-a", "-d", "-k", "-q", "-n")
	c.timeout = b.host.limits.network
	if _, err := b.host.run(ctx, c); err != nil {
		b.host.log.WarnContext(ctx, "packs of the store not joined", "store", b.dir, "error", err)
	}
}

func (b *bareRepository) packFiles() ([]string, error) {
	entries, err := os.ReadDir(b.packFolder())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		switch filepath.Ext(entry.Name()) {
		case ".pack", ".idx", ".rev":
			if strings.HasPrefix(entry.Name(), "pack-") {
				names = append(names, entry.Name())
			}
		}
	}
	return names, nil
}
