package transcript

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// write makes a log of n bytes, as it is left by a session, and returns its name.
func write(t *testing.T, folder, key string, began time.Time, n int) string {
	t.Helper()
	name := Name(key, began, 1)
	f, err := Create(folder, name)
	if err == nil {
		_, err = f.Write(make([]byte, n))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return name
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	files, err := List(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, f := range files {
		all = append(all, f.Path)
	}
	return all
}

func TestALogIsItsUsersAlone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), ".symphony", "sessions")
	name := write(t, folder, "GH-7", noon, 1)
	for path, want := range map[string]os.FileMode{"..": 0o700, ".": 0o700, "GH-7": 0o700, name: 0o600, ".gitignore": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v (%v)", path, info, err)
		}
	}
	if f, err := Create(folder, name); err == nil {
		f.Close()
		t.Error("a log was written a second time")
	}
}

// A full disk leaves an empty file, and a program that is killed can. A folder of somebody's
// own is left as it is.
func TestAnEmptyIgnoreFileBesideTheLogsIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": ignoreAll, "*.html\n": "*.html\n"} {
		folder := t.TempDir()
		path := filepath.Join(folder, ".gitignore")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		write(t, folder, "GH-7", noon, 1)
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("%q became %q (%v), want %q", text, got, err, want)
		}
	}
	folder := t.TempDir()
	write(t, folder, "GH-7", noon, 1)
	if _, err := os.Lstat(filepath.Join(folder, ".gitignore")); err == nil {
		t.Error("a folder that was there before got a .gitignore")
	}
}

func TestOnlyLogsAreListed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	second := write(t, folder, "GH-7", noon.Add(time.Hour), 5)
	first := write(t, folder, "GH-9", noon, 7)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, Name("GH-7", noon, 9))
	for _, err := range []error{
		os.Symlink(outside, link), os.Symlink(t.TempDir(), filepath.Join(folder, "GH-8")),
		syscall.Mkfifo(filepath.Join(folder, Name("GH-7", noon, 8)), 0o600),
		os.WriteFile(filepath.Join(folder, "GH-7", "20260301T120000.000Z-1.html"), nil, 0o600),
		os.WriteFile(filepath.Join(folder, "GH-7", "20260301T120000.000Z-01.jsonl"), nil, 0o600),
		os.WriteFile(filepath.Join(folder, "20260301T120000.000Z-1.jsonl"), nil, 0o600),
		os.MkdirAll(filepath.Join(folder, "refused", "GH-7", "x"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []File{{Path: first, Key: "GH-9", Began: noon, Number: 1, Size: 7}, {Path: second, Key: "GH-7", Began: noon.Add(time.Hour), Number: 1, Size: 5}}
	got, err := List(os.DirFS(folder))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, name := range []string{Name("GH-7", noon, 9), Name("GH-7", noon, 8), "../" + filepath.Base(filepath.Dir(outside)) + "/outside"} {
		if f, err := Open(folder, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if got, err := List(os.DirFS(filepath.Join(folder, "none"))); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
	if got, err := List(fstest.MapFS{first: {Data: []byte("x")}}); err != nil || len(got) != 1 || got[0].Path != first {
		t.Errorf("%v %v", got, err)
	}
}

func TestTheOldestLogsArePruned(t *testing.T) {
	t.Parallel()
	lax := Limits{Sessions: 100, Bytes: 1 << 30, Age: 1000 * time.Hour}
	for name, test := range map[string]struct {
		limits func(*Limits)
		want   []int // the hours of those that are left
	}{
		"nothing is over":    {func(*Limits) {}, []int{0, 1, 2, 3, 4, 5}},
		"sessions per issue": {func(l *Limits) { l.Sessions = 2 }, []int{2, 3, 4, 5}}, // GH-0 has 0 2 4, GH-1 has 1 3 5
		"bytes":              {func(l *Limits) { l.Bytes = 25 }, []int{4, 5}},
		"age":                {func(l *Limits) { l.Age = 3 * time.Hour }, []int{2, 3, 4, 5}},
		"all":                {func(l *Limits) { l.Bytes = 0 }, nil},
	} {
		folder := t.TempDir()
		var all []string
		for hour := range 6 {
			all = append(all, write(t, folder, []string{"GH-0", "GH-1"}[hour%2], noon.Add(time.Duration(hour)*time.Hour), 10))
		}
		limits := lax
		test.limits(&limits)
		if err := Prune(folder, limits, noon.Add(5*time.Hour)); err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, hour := range test.want {
			want = append(want, all[hour])
		}
		if diff := cmp.Diff(want, names(t, folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, err := os.Stat(filepath.Join(folder, "GH-0")); len(want) == 0 && err == nil {
			t.Errorf("%s: an empty folder is left", name)
		}
	}
}

// Pages are written beside the logs of this folder by hand, with "symphony log --pages".
func TestThePageOfALogIsPrunedWithIt(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), ".symphony", "sessions")
	old, kept := write(t, folder, "GH-7", noon, 1), write(t, folder, "GH-8", noon.Add(time.Hour), 1)
	for _, name := range []string{old, kept} {
		if wrote, err := WritePageOf(folder, name, nil); !wrote || err != nil {
			t.Fatalf("%s: %t, %v", name, wrote, err)
		}
	}
	if err := Prune(folder, Limits{Sessions: 1, Bytes: 1 << 20, Age: time.Hour}, noon.Add(90*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "GH-7")); !os.IsNotExist(err) {
		t.Errorf("the page of a log that was pruned is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, PageName(kept))); err != nil {
		t.Error(err)
	}
}

func TestThePagesOfLogsCountTowardsTheBytesThatAreKept(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), ".symphony", "sessions")
	old, kept := write(t, folder, "GH-7", noon, 10), write(t, folder, "GH-8", noon.Add(time.Hour), 10)
	if err := os.WriteFile(filepath.Join(folder, PageName(kept)), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Prune(folder, Limits{Sessions: 9, Bytes: 115, Age: 9 * time.Hour}, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{kept}, names(t, folder)); diff != "" {
		t.Errorf("120 bytes were kept, %s among them (-want +got):\n%s", old, diff)
	}
}

func TestALogThatIsBeingWrittenIsNotPruned(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := Name("GH-7", noon, 1)
	writer, err := Create(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	other := write(t, folder, "GH-7", noon.Add(time.Hour), 1)
	if err := Prune(folder, Limits{}, noon.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{name}, names(t, folder)); diff != "" {
		t.Errorf("%s is left, %s is not:\n%s", name, other, diff)
	}
	reader, err := Open(folder, name)
	if err != nil || !IsBeingWritten(reader) {
		t.Errorf("the session does not seem to run (%v)", err)
	}
	writer.Close()
	if IsBeingWritten(reader) {
		t.Error("the session seems to run")
	}
	reader.Close()
	if err := Prune(folder, Limits{}, noon); err != nil || len(names(t, folder)) > 0 {
		t.Errorf("%v (%v)", names(t, folder), err)
	}
	if err := Prune(filepath.Join(folder, "none"), Limits{}, noon); err != nil {
		t.Error(err)
	}
}

func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "GH-7")); err != nil {
		t.Fatal(err)
	}
	kept := write(t, outside, "x", noon, 1)
	if f, err := Create(folder, Name("GH-7", noon, 1)); err == nil {
		f.Close()
		t.Error("a log was written through a link")
	}
	if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(folder, "GH-8")); err != nil {
		t.Fatal(err)
	}
	if err := Prune(folder, Limits{}, noon.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{kept}, names(t, outside)); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderNameThatIsNoKeyHasNoLogs(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"GH-7._a/20260301T120000.000Z-1.jsonl": {Data: []byte("{}")}}
	for _, key := range []string{"\x1b[2Jcleared", "two\nlines", "\u202eback", "\u009bc1", "a b", "é"} {
		files[key+"/20260301T120000.000Z-1.jsonl"] = &fstest.MapFile{Data: []byte("{}")}
	}
	got, err := List(files)
	if err != nil || len(got) != 1 || got[0].Key != "GH-7._a" {
		t.Errorf("%+v (%v)", got, err)
	}
}

// pruned is a folder whose directories are removed after they were listed.
type pruned struct{ fstest.MapFS }

func (p pruned) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return p.MapFS.ReadDir(name)
}

func TestAnIssueWhoseLogsArePrunedMeanwhileHasNone(t *testing.T) {
	t.Parallel()
	got, err := List(pruned{fstest.MapFS{"GH-7/20260301T120000.000Z-1.jsonl": {Data: []byte("{}")}}})
	if err != nil || len(got) != 0 {
		t.Errorf("%+v (%v)", got, err)
	}
}

// locked refuses to read one folder, as one of another user does.
type locked struct{ fs.FS }

func (l locked) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "GH-7" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return fs.ReadDir(l.FS, name)
}

func TestAFolderThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	log := &fstest.MapFile{Data: []byte("{}")}
	got, err := List(locked{fstest.MapFS{"GH-6/20260301T120000.000Z-1.jsonl": log, "GH-7/20260301T120000.000Z-1.jsonl": log, "GH-8/20260301T110000.000Z-1.jsonl": log}})
	if len(got) != 2 || got[0].Key != "GH-8" || got[1].Key != "GH-6" {
		t.Errorf("it lists %+v", got)
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "GH-7") {
		t.Errorf("the error: %v", err)
	}
}

// Somebody who looks at a log while it is made, and prunes its folder, keeps no session from
// having a log that is locked.
func TestALogIsMadeAndLockedWhateverOthersDoMeanwhile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	done := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(done)
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			files, _ := List(os.DirFS(folder))
			for _, f := range files {
				if log, err := Open(folder, f.Path); err == nil {
					IsBeingWritten(log)
					log.Close()
				}
			}
			os.Remove(filepath.Join(folder, "GH-7"))
		}
	})
	for n := range 500 {
		name := Name("GH-7", noon, n)
		f, err := Create(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		log, err := Open(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		if !IsBeingWritten(log) {
			t.Fatalf("log %d is not locked", n)
		}
		if err := errors.Join(log.Close(), f.Close(), os.Remove(filepath.Join(folder, name))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogsAreNotLookedForBehindALink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	old := write(t, filepath.Join(outside, "sessions"), "GH-7", noon, 1)
	link := filepath.Join(t.TempDir(), ".symphony")
	below := filepath.Join(t.TempDir(), ".symphony", "sessions")
	for _, err := range []error{os.Symlink(outside, link), os.Mkdir(filepath.Dir(below), 0o700), os.Symlink(filepath.Join(outside, "sessions"), below)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{filepath.Join(link, "sessions"), below} {
		if err := CheckFolder(folder); err == nil {
			t.Errorf("%s: a link is no error", folder)
		}
		if err := Prune(folder, Limits{}, noon.Add(time.Hour)); err == nil {
			t.Errorf("%s: pruned", folder)
		}
	}
	if got := names(t, filepath.Join(outside, "sessions")); len(got) != 1 || got[0] != old {
		t.Errorf("left: %v", got)
	}
	for _, folder := range []string{filepath.Join(outside, "sessions"), filepath.Join(t.TempDir(), ".symphony", "sessions")} {
		if err := CheckFolder(folder); err != nil {
			t.Error(err)
		}
	}
}

func TestAPageIsWrittenOnceAndWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := write(t, folder, "GH-7", noon, 0)
	path := filepath.Join(folder, PageName(name))
	if err := os.WriteFile(path+".tmp", []byte("<!doctype html> of a process that was killed, and longer than what comes in its place"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		wrote, err := WritePageOf(folder, name, func(text string) string { return text })
		if page, readErr := os.ReadFile(path); wrote != want || err != nil || readErr != nil || !strings.HasSuffix(string(page), "</html>\n") {
			t.Errorf("%t: %v, %v\n%s", wrote, err, readErr, page)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 2 {
		t.Errorf("beside the log and its page there is more: %v (%v)", entries, err)
	}
	running, err := Create(folder, Name("GH-8", noon, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if wrote, err := WritePageOf(folder, Name("GH-8", noon, 1), func(text string) string { return text }); wrote || err != nil {
		t.Errorf("a session that runs has a page: %t, %v", wrote, err)
	}
}
