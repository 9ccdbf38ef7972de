package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packed fetches a repository into a store and returns the base name of its pack.
func packed(t *testing.T, s *Store) string {
	t.Helper()
	if _, err := s.host.run(t.Context(), command{
		dir: s.dir, repository: s.repository(), remote: &s.remote,
		args: []string{"fetch", "-q", "--no-write-fetch-head", s.remote.url, "+refs/heads/main:" + trackingPrefix + "main"},
	}); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(s.repository(), "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	return strings.TrimSuffix(packs[0], ".pack")
}

func TestAStoreIsARepositoryThatOnlyItsUserReads(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.store(t, remoteAt(t, m.origin(t)))
	packed(t, s)
	err := filepath.WalkDir(m.path("stores"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if info, err := entry.Info(); err != nil || path == m.path("stores") && info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := git(t, s.repository(), "fsck", "--strict"); strings.Contains(out, "error") {
		t.Error(out)
	}
}

func TestOneProcessHasAStoreOpen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.host.limits.lock = 20 * time.Millisecond
	remote := remoteAt(t, m.origin(t))
	s := m.store(t, remote)
	if _, err := m.host.Store(t.Context(), remote); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.store(t, remote)
}

// A run may be killed at any instant, and the machine may lose power.
func TestADamagedStoreIsRepairedOrMadeAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	remote := remoteAt(t, m.origin(t))
	for name, damage := range map[string]struct {
		do   func(t *testing.T, dir, pack string)
		kept bool // whether the repair keeps what was fetched
	}{
		"nothing is damaged": {func(*testing.T, string, string) {}, true},
		"locks are left": {func(t *testing.T, dir, pack string) {
			for _, file := range []string{"HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "refs/remotes/origin/main.lock"} {
				write(t, filepath.Join(dir, file), "")
			}
		}, true},
		"half a pack is left": {func(t *testing.T, dir, pack string) {
			write(t, filepath.Join(dir, "objects/pack/tmp_pack_123"), "PACK")
			write(t, filepath.Join(dir, "objects/pack/tmp_idx_123"), "")
			write(t, filepath.Join(dir, "objects/pack/pack-0000000000000000000000000000000000000000.pack"), "PACK")
			write(t, filepath.Join(dir, "objects/pack/pack-1111111111111111111111111111111111111111.idx"), "")
			write(t, filepath.Join(dir, "objects/pack/pack-1111111111111111111111111111111111111111.keep"), "")
			write(t, pack+".keep", "fetch-pack 123 on here")
			for _, ext := range []string{".pack", ".idx"} { // of a git that was joining packs
				write(t, filepath.Join(dir, "objects/pack/.tmp-123-pack-2222222222222222222222222222222222222222"+ext), read(t, pack+ext))
			}
		}, true},
		"HEAD is gone":               {func(t *testing.T, dir, pack string) { remove(t, filepath.Join(dir, "HEAD")) }, true},
		"HEAD is empty":              {func(t *testing.T, dir, pack string) { write(t, filepath.Join(dir, "HEAD"), "") }, true},
		"the configuration is empty": {func(t *testing.T, dir, pack string) { write(t, filepath.Join(dir, "config"), "") }, true},
		"the configuration is of somebody else": {func(t *testing.T, dir, pack string) {
			write(t, filepath.Join(dir, "config"), "[core]\n\tsshCommand = evil\n")
		}, true},
		"folders are gone":    {func(t *testing.T, dir, pack string) { remove(t, filepath.Join(dir, "refs")) }, false},
		"a reference is cut":  {func(t *testing.T, dir, pack string) { write(t, filepath.Join(dir, "refs/remotes/origin/main"), "0123") }, false},
		"a reference is zero": {func(t *testing.T, dir, pack string) { write(t, filepath.Join(dir, "refs/remotes/origin/main"), "") }, false},
		"the pack is gone":    {func(t *testing.T, dir, pack string) { remove(t, pack+".pack") }, false},
		"the pack is cut":     {func(t *testing.T, dir, pack string) { truncate(t, pack+".pack", 60) }, false},
		"the index is cut":    {func(t *testing.T, dir, pack string) { truncate(t, pack+".idx", 100) }, false},
		"the index is empty":  {func(t *testing.T, dir, pack string) { truncate(t, pack+".idx", 0) }, false},
		"shallow is garbage":  {func(t *testing.T, dir, pack string) { write(t, filepath.Join(dir, "shallow"), "garbage\n") }, false},
		"the objects are a file": {func(t *testing.T, dir, pack string) {
			remove(t, filepath.Join(dir, "objects"))
			write(t, filepath.Join(dir, "objects"), "")
		}, false},
		"the store is a file": {func(t *testing.T, dir, pack string) {
			remove(t, dir)
			write(t, dir, "")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := m.store(t, remote)
			pack := packed(t, s)
			write(t, filepath.Join(s.dir, incomingName, "x", "objects", "secret"), "")
			s.Close()
			damage.do(t, s.repository(), pack)
			s = m.store(t, remote)
			refs, err := s.refs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if kept := len(refs) == 1; kept != damage.kept {
				t.Errorf("references after it: %v; log: %s", refs, m.log)
			}
			if damage.kept {
				for _, name := range packFolderOf(t, s) {
					if !strings.HasPrefix(name, filepath.Base(pack)+".") || strings.HasSuffix(name, ".keep") {
						t.Errorf("%s is left", name)
					}
				}
			}
			if exists(filepath.Join(s.dir, incomingName)) {
				t.Error("the quarantine of a killed run is still there")
			}
			packed(t, s)
			if out := git(t, s.repository(), "fsck", "--strict"); strings.Contains(out, "error") || strings.Contains(out, "missing") {
				t.Error(out)
			}
		})
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}
