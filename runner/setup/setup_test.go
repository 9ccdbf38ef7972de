package setup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/redact"
)

// item is an entry of a tar with its content.
type item struct {
	tar.Header
	text string
}

// stream returns a tar of entries.
func stream(t *testing.T, entries ...item) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, entry := range entries {
		h, text := entry.Header, entry.text
		h.Size = int64(len(text))
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// file returns the entry of a file.
func file(name, text string) item { return item{tar.Header{Typeflag: tar.TypeReg, Name: name}, text} }

// other returns an entry without a content.
func other(kind byte, name, link string, mode int64) item {
	return item{tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: mode}, ""}
}

// list returns a line for each entry of a tar.
func list(t *testing.T, b *bytes.Buffer) (lines []string) {
	t.Helper()
	for r := tar.NewReader(b); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%c %s %o %s%s", h.Typeflag, h.Name, h.Mode, h.Linkname, text))
	}
}

var (
	made   = Places{Work: "/w/.scratch-GH-1", Home: "/w/.scratch-GH-1/.git/symphony-tmp/home"}
	there  = Places{Work: "/w/GH-2", Home: "/s/tmp/GH-2/home"}
	recipe = Recipe{Script: "npm ci", Inputs: map[string]string{"package-lock.json": "1"}}
)

func TestAPackComesOutInAnotherPlace(t *testing.T) {
	t.Parallel()
	folder := Folder{filepath.Join(t.TempDir(), "setup")}
	binary := "\x7fELF\x00" + made.Work
	content, err := folder.Save(recipe.Key(), Made{
		Places: made,
		WorkTar: stream(t,
			other(tar.TypeDir, "./.venv/", "", 0o555),
			file(".venv/bin/pytest", "#!"+made.Work+"/.venv/bin/python\n"), file("lib.so", binary),
			other(tar.TypeSymlink, ".venv/lib64", "lib", 0),
			other(tar.TypeSymlink, "abs", made.Work+"/.venv", 0),
			other(tar.TypeLink, "again", "lib.so", 0),
			other(tar.TypeFifo, "pipe", "", 0), other(tar.TypeChar, "device", "", 0)),
		HomeTar: stream(t, file(".npmrc", "cache="+made.Home+"/.npm\n")),
	})
	if err != nil || content.Files != 7 {
		t.Fatalf("%+v %v", content, err)
	}
	pack, err := folder.Find(recipe.Key())
	if err != nil {
		t.Fatal(err)
	}
	var work, home bytes.Buffer
	if err := pack.Extract(there, &work, &home); err != nil {
		t.Fatal(err)
	}
	got := append(list(t, &work), list(t, &home)...)
	want := []string{
		"5 .venv/ 755 ", "0 .venv/bin/pytest 644 #!/w/GH-2/.venv/bin/python\n", "0 lib.so 644 " + binary,
		"2 .venv/lib64 644 lib", "2 abs 644 /w/GH-2/.venv", "1 again 644 lib.so", "0 .npmrc 644 cache=/s/tmp/GH-2/home/.npm\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	home.Reset()
	if err := pack.Extract(there, nil, &home); err != nil || len(list(t, &home)) != 1 {
		t.Errorf("one stream alone: %v", err)
	}
}

func TestWhatNoPreparationMakesIsRefused(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]item{
		"out of the folder":  file("../x", ""),
		"an absolute path":   file("/etc/x", ""),
		"through the folder": file("a/../../x", ""),
		"git's own folder":   file(".git/hooks/post-checkout", ""),
		"the same, folded":   file("./.GIT/config", ""),
		"a mark in a name":   file("a\x1ab", ""),
		"a mark in a link":   other(tar.TypeSymlink, "a", homeMark, 0),
		"a link out":         other(tar.TypeLink, "a", "../../etc/passwd", 0),
		"a secret":           file("a/.npmrc", "//registry/:_authToken=npm_0123456789abcdef"),
		"a secret in hex":    file("a/log", "6e706d5f30313233343536373839616263646566"),
	} {
		folder := Folder{filepath.Join(t.TempDir(), "setup")}
		_, err := folder.Save(recipe.Key(), Made{Places: made, WorkTar: stream(t, entry), HomeTar: stream(t), Secrets: []string{"npm_0123456789abcdef"}})
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := folder.Find(recipe.Key()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a pack: %v", name, err)
		}
		if left, _ := os.ReadDir(folder.Path); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// TestOneByteOfAPackThatChangedIsFound changes, cuts and swaps packs.
func TestOneByteOfAPackThatChangedIsFound(t *testing.T) {
	t.Parallel()
	folder := Folder{t.TempDir()}
	if _, err := folder.Save(recipe.Key(), Made{Places: made, WorkTar: stream(t, file("a", strings.Repeat("x", 1000))), HomeTar: stream(t)}); err != nil {
		t.Fatal(err)
	}
	path := folder.file(recipe.Key())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Clone(whole)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "cut") {
			text = text[:at]
		} else {
			text[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Find(recipe.Key()); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%v", err)
		}
	})
	another := recipe
	another.Script = "npm install"
	if err := os.WriteFile(folder.file(another.Key()), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Find(another.Key()); !errors.Is(err, ErrDamaged) {
		t.Errorf("the pack of another recipe: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(folder.file(another.Key()), path)); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Find(recipe.Key()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a link: %v", err)
	}
	if _, err := folder.Find("../x"); !errors.Is(err, ErrDamaged) {
		t.Errorf("no key: %v", err)
	}
}

func TestEachPartOfARecipeCounts(t *testing.T) {
	t.Parallel()
	full := Recipe{Script: "s", Hosts: []string{"h"}, Env: []string{"e"}, Keep: []string{"k"}, Inputs: map[string]string{"i": "1"}, Tools: []string{"t"}, Private: true, Full: true}
	keys := []Key{full.Key(), Recipe{}.Key()}
	for _, change := range []func(*Recipe){
		func(r *Recipe) { r.Script = "" }, func(r *Recipe) { r.Hosts = nil }, func(r *Recipe) { r.Env = nil }, func(r *Recipe) { r.Keep = nil },
		func(r *Recipe) { r.Inputs = map[string]string{"i": "2"} }, func(r *Recipe) { r.Tools = nil }, func(r *Recipe) { r.Private = false }, func(r *Recipe) { r.Full = false },
	} {
		r := full
		change(&r)
		if slices.Contains(keys, r.Key()) {
			t.Errorf("%+v has the key of another recipe", r)
		}
		keys = append(keys, r.Key())
	}
	if again := full; again.Key() != full.Key() || !full.Key().isSound() {
		t.Error("a key changes by itself")
	}
}

func TestOldPacksGo(t *testing.T) {
	t.Parallel()
	folder, now := Folder{t.TempDir()}, time.Now()
	var keys []Key
	for i := range maxPacks + 2 {
		key := Recipe{Script: fmt.Sprint(i)}.Key()
		keys = append(keys, key)
		if _, err := folder.Save(key, Made{Places: made, WorkTar: stream(t), HomeTar: stream(t)}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(folder.file(key), now, now.Add(time.Duration(i-10)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	draft := filepath.Join(folder.Path, ".draft-1")
	if err := errors.Join(os.WriteFile(draft, nil, 0o600), os.Chtimes(draft, now, now.Add(-2*draftTime))); err != nil {
		t.Fatal(err)
	}
	if err := folder.Prune(now); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(folder.Path)
	if _, err := folder.Find(keys[len(keys)-1]); err != nil || len(left) != maxPacks {
		t.Errorf("%v %v", left, err)
	}
	if err := (Folder{filepath.Join(folder.Path, "none")}).Prune(now); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

func TestAToolchainThatChangesIsSeen(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	lookup := func(name string) (string, bool) {
		return map[string]string{"PATH": "relative:" + bin, "JAVA_HOME": "/opt/java"}[name], name == "PATH" || name == "JAVA_HOME"
	}
	node := filepath.Join(bin, "node")
	if err := os.WriteFile(node, []byte("1"), 0o755); err != nil {
		t.Fatal(err)
	}
	first := Tools(lookup)
	if err := os.WriteFile(node, []byte("22"), 0o755); err != nil {
		t.Fatal(err)
	}
	second := Tools(lookup)
	if len(first) != 2 || len(second) != 2 || first[0] == second[0] || first[1] != "JAVA_HOME /opt/java" {
		t.Errorf("%q\n%q", first, second)
	}
	if Tools(nil) != nil {
		t.Error("a program without an environment has toolchains")
	}
}

// TestTheBoundsOfAPackHold begins just below them, as a stream of that size takes minutes.
func TestTheBoundsOfAPackHold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before Content
		last   tar.Header
		want   string
	}{
		"files":      {Content{Files: MaxFiles}, tar.Header{Typeflag: tar.TypeReg, Name: "a"}, "it made more than 500000 files: keep fewer (setup.keep)"},
		"folders":    {Content{Files: MaxFiles}, tar.Header{Typeflag: tar.TypeDir, Name: "a"}, "it made more than 500000 files"},
		"bytes":      {Content{Bytes: MaxBytes}, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1}, "it made more than 4294967296 bytes: keep less (setup.keep)"},
		"a big file": {Content{}, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 5 << 30}, "it made more than 4294967296 bytes"},
	} {
		s := saver{made: Made{Places: made}, Content: test.before, out: tar.NewWriter(io.Discard), secrets: redact.NewSearch()}
		err := s.entry(workPrefix, &test.last, strings.NewReader("x"))
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := saver{made: Made{Places: made}, Content: Content{Files: MaxFiles - 1, Bytes: MaxBytes - 1}, out: tar.NewWriter(io.Discard), secrets: redact.NewSearch()}
	if err := s.entry(workPrefix, &tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1}, strings.NewReader("x")); err != nil {
		t.Errorf("the last file that fits: %v", err)
	}
}

// TestAPackThatIsRemovedWhileItIsUsedComesOutWhole removes it as another run does.
func TestAPackThatIsRemovedWhileItIsUsedComesOutWhole(t *testing.T) {
	t.Parallel()
	folder := Folder{t.TempDir()}
	if _, err := folder.Save(recipe.Key(), Made{Places: made, WorkTar: stream(t, file("a", "one")), HomeTar: stream(t)}); err != nil {
		t.Fatal(err)
	}
	pack, err := folder.Find(recipe.Key())
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	if err := errors.Join(folder.Remove(recipe.Key()), folder.Remove(recipe.Key())); err != nil {
		t.Errorf("a pack that is not there cannot be removed: %v", err)
	}
	for range 2 {
		var work bytes.Buffer
		if err := pack.Extract(there, &work, nil); err != nil || len(list(t, &work)) != 1 {
			t.Errorf("it does not come out: %v", err)
		}
	}
	if _, err := folder.Find(recipe.Key()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestRunsThatKeepTheSameAtOnceDoNotDisturbEachOther saves, finds and prunes at once, as two programs do.
func TestRunsThatKeepTheSameAtOnceDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	folder := Folder{t.TempDir()}
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			for i := range 2 * maxPacks {
				key := Recipe{Script: fmt.Sprint(i)}.Key()
				_, err := folder.Save(key, Made{Places: made, WorkTar: stream(t, file("a", "one")), HomeTar: stream(t)})
				if err = errors.Join(err, folder.Prune(time.Now())); err != nil {
					t.Error(err)
				}
				pack, err := folder.Find(key)
				if err == nil {
					err = errors.Join(pack.Extract(there, io.Discard, nil), pack.Close())
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	runs.Wait()
}

// TestADraftOfAProgramThatWasKilledIsNoPack leaves what a program leaves that is killed while it saves.
func TestADraftOfAProgramThatWasKilledIsNoPack(t *testing.T) {
	t.Parallel()
	folder := Folder{t.TempDir()}
	if err := os.WriteFile(filepath.Join(folder.Path, ".draft-1"), []byte(headOf(recipe.Key(), sha256.New())+"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Find(recipe.Key()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestALongNameIsKept has a name that fits a file system, and a path that does not fit old formats of tar.
func TestALongNameIsKept(t *testing.T) {
	t.Parallel()
	folder, name := Folder{t.TempDir()}, strings.Repeat(strings.Repeat("ä", 127)+"/", 12)+"\xff\n"
	_, err := folder.Save(recipe.Key(), Made{Places: made, WorkTar: stream(t, file(name, "one")), HomeTar: stream(t)})
	if err != nil {
		t.Fatal(err)
	}
	pack, err := folder.Find(recipe.Key())
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	var work bytes.Buffer
	if err := pack.Extract(there, &work, nil); err != nil {
		t.Fatal(err)
	}
	if got := list(t, &work); len(got) != 1 || !strings.Contains(got[0], name) {
		t.Errorf("%q", got)
	}
}

// TestAFolderThatCannotBeUsedIsNamed has a file in the place of the folder, and one above it.
func TestAFolderThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []Folder{{path}, {filepath.Join(path, "setup")}} {
		_, err := folder.Find(recipe.Key())
		_, saving := folder.Save(recipe.Key(), Made{Places: made, WorkTar: stream(t), HomeTar: stream(t)})
		for _, err := range []error{err, saving, folder.Remove(recipe.Key())} {
			if !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", folder.Path, err)
			}
		}
	}
	cut := io.LimitReader(stream(t, file("a", strings.Repeat("x", 2000))), 1000)
	if _, err := (Folder{t.TempDir()}).Save(recipe.Key(), Made{Places: made, WorkTar: cut, HomeTar: stream(t)}); !errors.Is(err, ErrRefused) {
		t.Errorf("a tar that is cut off: %v", err)
	}
}
