package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Names below the folder of a store.
const (
	lockName       = "lock"       // held while the store is open; never removed
	repositoryName = "repository" // the bare repository
	incomingName   = "incoming"   // quarantines
)

// trackingPrefix is the place of the branches of the remote in its store.
const trackingPrefix = "refs/remotes/origin/"

// Store is the host's bare repository of one remote. Its methods may be used
// concurrently. At most one process has a store open.
type Store struct {
	*bareRepository
	*fetcher
	*lfsStore
	*moduleStores
	lock *os.File
}

// bareRepository is a bare repository of the host, with the operations of git in it and on its
// remote.
type bareRepository struct {
	host   *engine
	remote Remote
	dir    string       // folder that the repository is in
	packs  sync.RWMutex // held for writing while packs disappear
}

func newStore(h *engine, remote Remote, dir string) *Store {
	b := &bareRepository{host: h, remote: remote, dir: dir}
	return &Store{
		bareRepository: b, fetcher: &fetcher{bareRepository: b}, moduleStores: &moduleStores{bareRepository: b, byURL: map[string]*Store{}},
		lfsStore: &lfsStore{bareRepository: b, busy: make(chan struct{}, 1), trees: map[lfsTree][]pointerAt{}},
	}
}

// Store opens the store of a remote and makes it if it is missing. Leftovers of a killed run
// are removed, and a store that is damaged is made again: it holds nothing that the remote does
// not have. The caller has to close it. The error is [ErrStore].
func (h *Host) Store(ctx context.Context, remote Remote) (*Store, error) {
	sum := sha256.Sum256([]byte(remote.url))
	s := newStore(h.engine, remote, filepath.Join(h.dir, hex.EncodeToString(sum[:16])))
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("open the store of %s in %s: %w", remote, s.dir, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := makeFolder(s.dir); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	var err error
	s.lock, err = os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	if err := s.takeLock(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(s.dir, incomingName)); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	if err := s.removeDrafts(); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	err = s.repair()
	if err == nil {
		err = s.check(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return s.remake(ctx, err)
}

// takeLock takes the lock of the store. It waits for a moment: when a run is killed, a
// child that it was just starting keeps the lock until it dies as well.
func (s *Store) takeLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.host.limits.lock)
	defer cancel()
	for {
		err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: another process has it open (%w); wait for its end, or use another folder", ErrStore, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close releases the store and the stores of its submodules.
func (s *Store) Close() error {
	modules := s.moduleStores.close()
	if s.lock == nil {
		return modules
	}
	// A child that is just being started has a copy of the file until it executes its
	// program; to close ours is not enough.
	err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN)
	return errors.Join(modules, err, s.lock.Close())
}

func (b *bareRepository) repository() string { return filepath.Join(b.dir, repositoryName) }

func (b *bareRepository) command(args ...string) command {
	return command{dir: b.dir, repository: b.repository(), args: args}
}

// confined returns a command that runs in the repository, within the limits for content that
// agents can have written.
func (b *bareRepository) confined(args ...string) command {
	c := b.command(args...)
	c.confined = true
	return c
}

func (b *bareRepository) packFolder() string { return filepath.Join(b.repository(), "objects", "pack") }

// remake deletes the repository, because of reason, and makes an empty one.
func (b *bareRepository) remake(ctx context.Context, reason error) error {
	b.packs.Lock()
	defer b.packs.Unlock()
	b.host.log.WarnContext(ctx, "store damaged and made again: everything is fetched", "store", b.dir, "reason", reason)
	err := os.RemoveAll(b.repository())
	if err == nil {
		err = b.repair()
	}
	if err == nil {
		err = b.check(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: it is damaged (%w) and cannot be made again: %w; delete the folder", ErrStore, reason, err)
	}
	return nil
}

// repair makes the folders of every bare repository and removes the leftovers of a killed git:
// locks, unfinished packs and packs without their other half.
func (b *bareRepository) repair() error {
	dir := b.repository()
	if err := makeRepository(dir); err != nil {
		return err
	}
	top, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.lock"))
	if err != nil {
		return err
	}
	for _, file := range top {
		if err := os.RemoveAll(file); err != nil {
			return err
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			if err = os.RemoveAll(path); err == nil && entry.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return repairPacks(b.packFolder())
}

// makeRepository makes the folders and files of a bare repository without branches, or
// writes them again. HEAD names a branch that never exists.
func makeRepository(dir string) error {
	for _, folder := range []string{"", "objects", "objects/info", "objects/pack", "refs"} {
		if err := makeFolder(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/none\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	} {
		file := filepath.Join(dir, name)
		if old, err := os.ReadFile(file); err == nil && string(old) == text {
			continue
		}
		if err := os.RemoveAll(file); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder of mode 0700. Something else in its place is deleted.
func makeFolder(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// repairPacks removes what does not belong to a complete pack, which also means packs that a
// killed git was making of others, and the marks by which a killed fetch kept a pack from
// being joined with others. The error says that a pack does not fit its index.
func repairPacks(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, entry := range entries {
		names[entry.Name()] = entry.Type().IsRegular()
	}
	for name := range names {
		base, isPack := strings.CutSuffix(name, ".pack")
		if index := strings.TrimSuffix(name, filepath.Ext(name)); !strings.HasPrefix(name, "pack-") || !names[index+".pack"] || !names[index+".idx"] || filepath.Ext(name) == ".keep" {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
			continue
		}
		if isPack {
			if err := comparePack(filepath.Join(dir, base)); err != nil {
				return err
			}
		}
	}
	return nil
}

// comparePack returns an error unless the checksum at the end of a pack is the one in its
// index. In a pack that was cut off they differ.
func comparePack(base string) error {
	pack, err1 := readEnd(base+".pack", 20)
	index, err2 := readEnd(base+".idx", 40)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(pack, index[:20]) {
		return fmt.Errorf("%s.pack is not the pack of its index", base)
	}
	return nil
}

func readEnd(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(-n, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("%s is too short: %w", path, err)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(f, b)
	return b, err
}

// check returns an error if the store is damaged: a reference that git calls broken or
// that leads to no commit, or a line that is not an id in the list of shallow commits.
func (b *bareRepository) check(ctx context.Context) error {
	if _, err := b.refs(ctx); err != nil {
		return err
	}
	shallow, err := readShallow(b.repository())
	if err != nil {
		return err
	}
	for line := range strings.Lines(shallow) {
		if _, err := ParseObjectID(strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("list of shallow commits: %w", err)
		}
	}
	return nil
}

// refs returns the references of the store by their full names.
func (b *bareRepository) refs(ctx context.Context) (map[string]ObjectID, error) {
	p, out, err := b.host.output(ctx, b.command("for-each-ref", "--format=%(objectname) %(objecttype) %(refname)"))
	if err != nil {
		return nil, err
	}
	if text := p.errorText(); text != "" {
		return nil, fmt.Errorf("git %s: %s", p.verb, sanitize(text))
	}
	refs := map[string]ObjectID{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "commit" {
			return nil, fmt.Errorf("reference %q: it is not a commit", sanitize(line))
		}
		id, err := ParseObjectID(fields[0])
		if err != nil {
			return nil, err
		}
		refs[fields[2]] = id
	}
	return refs, nil
}

// readShallow returns the list of the commits whose parents a repository does not have.
func readShallow(repository string) (string, error) {
	text, err := os.ReadFile(filepath.Join(repository, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// escapeGlob returns a pattern that matches only the path itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func formatPackedRefs(refs map[string]ObjectID) string {
	var text strings.Builder
	text.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "%s %s\n", refs[name], name)
	}
	return text.String()
}
