package workspace

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenRefusesARootThatIsNotAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "file"), "")
	for from, to := range map[string]string{"to-home": home, "to-top": "/", "dangling": filepath.Join(dir, "file", "x")} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []string{"", "relative", "/", "//", home, home + "/.", dir + "/to-home", dir + "/to-top", dir + "/dangling", dir + "/file", dir + "/file/x"} {
		_, err := Open(Config{Root: root}, Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}}, slog.New(slog.DiscardHandler))
		if !errors.Is(err, ErrRoot) {
			t.Errorf("%q: %v", root, err)
		}
		if err := Check(Config{Root: root}, Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}}); !errors.Is(err, ErrRoot) {
			t.Errorf("%q: checked: %v", root, err)
		}
	}
}

func TestACheckOfARootMakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	for _, root := range []string{dir + "/a", dir + "/a/b/c"} {
		if err := Check(Config{Root: root}, env); err != nil {
			t.Errorf("%q: %v", root, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it made %v, %v", left, err)
	}
}

func TestACheckRefusesARootThatCannotBeMade(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	env := Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(dir)}}
	for _, root := range []string{dir, dir + "/a", dir + "/a/b"} {
		if err := Check(Config{Root: root}, env); !errors.Is(err, ErrRoot) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%q: %v", root, err)
		}
	}
}

func TestOpenMakesTheRootAndFollowsItsLinkOnce(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := openWith(t, Config{Root: filepath.Join(dir, "link", "a", "b")}, nil, slog.New(slog.DiscardHandler))
	ws := prepare(t, r)
	if diff := cmp.Diff(filepath.Join(real, "a", "b", "ABC-1"), ws.Path); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(real, "a")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made as %v, %v", info.Mode(), err)
	}
}

func TestOpenReportsThatBashIsMissing(t *testing.T) {
	t.Parallel()
	_, err := Open(Config{Root: t.TempDir()}, Env{Parent: []string{"PATH=" + t.TempDir()}}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "install bash") {
		t.Error(err)
	}
}

func TestOnlyARealFolderIsAWorkspace(t *testing.T) {
	t.Parallel()
	link := func(to string) func(testing.TB, string) {
		return func(t testing.TB, place string) {
			if err := os.Symlink(to, place); err != nil {
				t.Fatal(err)
			}
		}
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "kept"), "")
	for name, put := range map[string]func(testing.TB, string){
		"link to the outside":    link(outside),
		"link to another one":    link("OTHER-1"),
		"link to the root":       link("."),
		"link to what is absent": link("nowhere"),
		"link to itself":         link("ABC-1"),
		"file":                   func(t testing.TB, place string) { write(t, place, "") },
		"named pipe": func(t testing.TB, place string) {
			if err := syscall.Mkfifo(place, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"socket": func(t testing.TB, place string) {
			l, err := net.Listen("unix", place)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "ws") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			r := openWith(t, Config{Root: dir}, nil, slog.New(slog.DiscardHandler))
			if _, err := r.Prepare(t.Context(), Issue{Identifier: "OTHER-1"}); err != nil {
				t.Fatal(err)
			}
			ws := prepare(t, r)
			if err := os.Remove(ws.Path); err != nil {
				t.Fatal(err)
			}
			put(t, ws.Path)

			_, err = r.Prepare(t.Context(), issue)
			if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), ws.Path) {
				t.Errorf("Prepare: %v", err)
			}
			if _, err := r.Remove(t.Context(), issue); !errors.Is(err, ErrUnsafe) {
				t.Errorf("Remove: %v", err)
			}
			if !exists(ws.Path) {
				t.Error("Remove deleted what is not a workspace")
			}
			if _, err := r.Start(t.Context(), ws, "true", nil); !errors.Is(err, ErrInvalidCwd) {
				t.Errorf("Start in what was a workspace: %v", err)
			}
			if _, err := r.Fingerprint(t.Context(), ws); !errors.Is(err, ErrInvalidCwd) {
				t.Errorf("Fingerprint: %v", err)
			}
			if keys, err := r.Keys(); err != nil || !cmp.Equal([]string{"OTHER-1"}, keys) {
				t.Errorf("Keys: %q, %v", keys, err)
			}
		})
	}
	if !exists(filepath.Join(outside, "kept")) {
		t.Error("the outside was touched")
	}
}

func TestStartRefusesAForgedOrMissingWorkspace(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	good := prepare(t, r)
	for _, bad := range []Workspace{
		{},
		{Issue: issue, Key: "..", Path: filepath.Dir(r.path)},
		{Issue: issue, Key: ".", Path: r.path},
		{Issue: issue, Key: good.Key, Path: "/"},
		{Issue: issue, Key: good.Key, Path: r.path},
		{Issue: Issue{Identifier: "ABSENT-1"}, Key: "ABSENT-1", Path: filepath.Join(r.path, "ABSENT-1")},
	} {
		if _, err := r.Start(t.Context(), bad, "true", nil); !errors.Is(err, ErrInvalidCwd) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestStartRefusesARootThatWasReplaced(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	ws := prepare(t, r)
	if err := os.Rename(r.path, r.path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(ws.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), ws, "true", nil); !errors.Is(err, ErrInvalidCwd) {
		t.Error(err)
	}
}

func TestIssuesNeverShareAFolder(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	made := map[string]string{}
	for _, id := range []string{"A-1", "a-1", "A/1", "A\\1", "A_1", ".", "..", "", ".symphony"} {
		ws, err := r.Prepare(t.Context(), Issue{Identifier: id})
		if errors.Is(err, ErrUnsafe) {
			continue // on a file system that ignores case
		}
		if err != nil || !ws.CreatedNow {
			t.Errorf("%q: %+v, %v", id, ws, err)
		}
		made[ws.Key] = id
	}
	if keys, err := r.Keys(); err != nil || len(keys) != len(made) {
		t.Errorf("%d folders for %d issues, %v", len(keys), len(made), err)
	}
}

func TestAnIdentifierThatIsAFileNameIsItsOwnKey(t *testing.T) {
	for _, id := range []string{"ABC-123", "GH-7", "add-login", "v1.2_x", "a..b", "-x", strings.Repeat("x", 100)} {
		if diff := cmp.Diff(id, Key(id)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnIdentifierThatIsNotAFileNameGetsItsHash(t *testing.T) {
	hashed := Key("A/1")
	for id, want := range map[string]string{
		"A/1":                    "A_1-",
		"../../etc":              "_._.._etc-",
		"":                       "-",
		".":                      "_-",
		"..":                     "_.-",
		".symphony":              "_symphony-",
		"é\xff":                  "__-",
		"a\nb\x00":               "a_b_-",
		strings.Repeat("x", 101): strings.Repeat("x", 60) + "-",
		hashed:                   hashed + "-",
		strings.ToUpper(hashed):  strings.ToUpper(hashed) + "-",
	} {
		hash := regexp.MustCompile(`[0-9a-f]{32}$`)
		if diff := cmp.Diff(want, hash.ReplaceAllString(Key(id), "")); diff != "" {
			t.Errorf("%q: %s", id, diff)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, id := range []string{"ABC-1", "abc 1", "", ".", "..", "../x", ".symphony", "\xff", Key("a b"), strings.Repeat("é", 300)} {
		f.Add(id, Key(id))
		f.Add(id, strings.ToLower(id))
	}
	safe := regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		key := Key(a)
		if !safe.MatchString(key) || len(key) > maxPlain || !filepath.IsLocal(key) || filepath.Base(key) != key {
			t.Fatalf("unsafe key %q", key)
		}
		if a != b && key == Key(b) {
			t.Fatalf("%q and %q share %q", a, b, key)
		}
		if key != a && Key(key) == key {
			t.Fatalf("%q, the key of %q, is also its own", key, a)
		}
	})
}
