package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fileRefsOf opens the references with files of a repository behind a server, until the end
// of the test.
func (m *machine) fileRefsOf(t testing.TB, origin string) (*FileRefs, *server) {
	t.Helper()
	git(t, origin, "config", "http.receivepack", "true")
	srv := serve(t, filepath.Dir(origin))
	f, err := m.host.FileRefs(srv.remote(t, filepath.Base(origin), testToken))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, srv
}

func fileRef(t testing.TB, name string) FileRef {
	t.Helper()
	r, err := ParseFileRef(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// byteFiles returns files whose contents are given as texts.
func byteFiles(files map[string]string) map[string][]byte {
	bytes := map[string][]byte{}
	for path, text := range files {
		bytes[path] = []byte(text)
	}
	return bytes
}

// readAll reads references with files of at most 100 bytes, except for those named
// unexpected, and returns the files as texts, and the errors.
func readAll(t testing.TB, f *FileRefs, refs ...FileRef) (map[FileRef]map[string]string, map[FileRef]error) {
	t.Helper()
	got, failed := map[FileRef]map[string]string{}, map[FileRef]error{}
	limit := func(_ FileRef, path string) int64 {
		if filepath.Base(path) == "unexpected" {
			return 0
		}
		return 100
	}
	err := f.Read(t.Context(), refs, limit, func(files RefFiles) error {
		if files.Err != nil {
			failed[files.Ref] = files.Err
			return nil
		}
		got[files.Ref] = map[string]string{}
		for path, data := range files.Files {
			got[files.Ref][path] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, failed
}

func TestFilesTravelOverReferencesOfTheRemote(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, srv := m.fileRefsOf(t, origin)
	plan, shard := fileRef(t, "refs/symphony/fleet/7-1/5/plan"), fileRef(t, "refs/symphony/fleet/7-1/5/shard-2")
	one := map[string]string{"plan.json": "a plan\n"}
	two := map[string]string{"result.json": "", "threads/a": "1", "threads/b": "2"}
	for ref, files := range map[FileRef]map[string]string{plan: one, shard: two} {
		if err := f.Push(t.Context(), ref, byteFiles(files)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, origin, "update-ref", "refs/symphony/fleet/7-1/Not/Ours", "main")
	refs, err := f.List(t.Context(), fileRef(t, "refs/symphony/fleet/7-1"))
	if diff := cmp.Diff([]FileRef{plan, shard}, refs, cmp.AllowUnexported(FileRef{})); err != nil || diff != "" {
		t.Fatalf("%v\n%s", err, diff)
	}
	if none, err := f.List(t.Context(), fileRef(t, "refs/symphony/fleet/7")); err != nil || len(none) > 0 {
		t.Errorf("below another folder are %v: %v", none, err)
	}

	srv.seen()
	elsewhere, err := m.host.FileRefs(f.store.remote)
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	got, failed := readAll(t, elsewhere, refs...)
	if diff := cmp.Diff(map[FileRef]map[string]string{plan: one, shard: two}, got, cmp.AllowUnexported(FileRef{})); diff != "" || len(failed) > 0 {
		t.Errorf("%v\n%s", failed, diff)
	}
	if n := len(srv.seen()); n > 4 {
		t.Errorf("%d requests for two references", n)
	}

	git(t, origin, "update-ref", "-d", shard.String()) // somebody else was faster
	if err := f.Delete(t.Context(), plan, shard); err != nil {
		t.Error(err)
	}
	if err := f.Delete(t.Context(), plan); err != nil {
		t.Errorf("once more: %v", err)
	}
	if left := git(t, origin, "for-each-ref", "--format=%(refname)"); left != "refs/heads/main\nrefs/symphony/fleet/7-1/Not/Ours" {
		t.Errorf("left are %q", left)
	}
	for _, open := range []*FileRefs{f, elsewhere} {
		if err := open.Close(); err != nil || exists(open.store.dir) {
			t.Errorf("%s is left: %v", open.store.dir, err)
		}
	}
}

func TestAReferenceWithFilesIsCreatedOnceAndNeverMoved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, srv := m.fileRefsOf(t, origin)
	ref := fileRef(t, "refs/symphony/fleet/7-1/5/shard-1")
	files := byteFiles(map[string]string{"result.json": "first"})
	if err := f.Push(t.Context(), ref, files); err != nil {
		t.Fatal(err)
	}
	was := git(t, origin, "rev-parse", ref.String())

	again, err := m.host.FileRefs(f.store.remote) // as another process, at another time
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Push(t.Context(), ref, files); err != nil {
		t.Errorf("the same files: %v", err)
	}
	if err := again.Push(t.Context(), ref, byteFiles(map[string]string{"result.json": "second"})); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "has other files already") {
		t.Errorf("other files: %v", err)
	}
	if now := git(t, origin, "rev-parse", ref.String()); now != was {
		t.Errorf("the reference was moved from %s to %s", was, now)
	}

	// The connection ends before the server has read anything: the push is made again.
	lost := fileRef(t, "refs/symphony/fleet/7-1/5/shard-3")
	srv.answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	if err := f.Push(t.Context(), lost, files); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	srv.answer(nil)
	if err := f.Push(t.Context(), lost, files); err != nil {
		t.Error(err)
	}

	// The connection ends before the answer: whether the push has happened is found out.
	cut := fileRef(t, "refs/symphony/fleet/7-1/5/shard-2")
	srv.watch(func(r *http.Request, _ int) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "git-receive-pack") {
			panic(http.ErrAbortHandler)
		}
	})
	if err := f.Push(t.Context(), cut, files); err != nil {
		t.Errorf("without an answer: %v", err)
	}
}

func TestOneOfSeveralPushesAtOnceCreatesTheReference(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, _ := m.fileRefsOf(t, origin)
	ref := fileRef(t, "refs/symphony/fleet/7-1/5/plan")
	errs := make([]error, 3)
	var all sync.WaitGroup
	for n := range errs {
		all.Go(func() {
			own, err := m.host.FileRefs(f.store.remote)
			if err == nil {
				defer own.Close()
				err = own.Push(t.Context(), ref, byteFiles(map[string]string{"plan.json": fmt.Sprint(n)}))
			}
			errs[n] = err
		})
	}
	all.Wait()
	got, _ := readAll(t, f, ref)
	for n, err := range errs {
		if won := got[ref]["plan.json"] == fmt.Sprint(n); won != (err == nil) || !won && !errors.Is(err, ErrMoved) {
			t.Errorf("%q is there, and push %d says %v", got[ref]["plan.json"], n, err)
		}
	}
}

// plantRef sets a reference of the origin to a commit with a tree, as somebody who can push
// could.
func plantRef(t testing.TB, origin, ref, tree string) FileRef {
	t.Helper()
	git(t, origin, "update-ref", ref, git(t, origin, "commit-tree", "-m", "hostile", tree))
	return fileRef(t, ref)
}

// makeTree writes the tree that lines for git mktree describe, and returns its id.
func makeTree(t testing.TB, origin, lines string) string {
	t.Helper()
	id, err := plain(t, origin, lines, "mktree", "--missing")
	if err != nil {
		t.Fatal(id)
	}
	return id
}

// storeBlob writes a blob, and returns its id.
func storeBlob(t testing.TB, origin, text string) string {
	t.Helper()
	id, err := plain(t, origin, text, "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(id)
	}
	return id
}

func TestAReferenceWithUnexpectedFilesIsRefusedAndTheOthersAreRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, _ := m.fileRefsOf(t, origin)
	blob, huge := storeBlob(t, origin, "x"), storeBlob(t, origin, strings.Repeat("x", 101))
	inner := makeTree(t, origin, "100644 blob "+blob+"\ta\n")
	main := git(t, origin, "rev-parse", "main")
	var thousand strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&thousand, "100644 blob %s\tf%d\n", blob, n)
	}
	deep := inner
	for range 3 {
		deep = makeTree(t, origin, "040000 tree "+deep+"\td\n")
	}
	wide := inner // 10^9 paths in 9 trees
	for range 9 {
		var lines strings.Builder
		for n := range 10 {
			fmt.Fprintf(&lines, "040000 tree %s\td%d\n", wide, n)
		}
		wide = makeTree(t, origin, lines.String())
	}
	hostile := map[FileRef]string{}
	for name, tree := range map[string]struct{ lines, want string }{
		"link":       {"120000 blob " + blob + "\tplan.json\n", "not a regular file"},
		"executable": {"100755 blob " + blob + "\tplan.json\n", "not a regular file"},
		"submodule":  {"160000 commit " + main + "\tplan.json\n", "not a regular file"},
		"empty":      {"", "has no files"},
		"unexpected": {"100644 blob " + blob + "\tunexpected\n", "nobody expects"},
		"huge":       {"100644 blob " + huge + "\tplan.json\n", "has 101 bytes, the limit is 100"},
		"thousand":   {thousand.String(), "more than 300 files"},
		"deep":       {"040000 tree " + deep + "\td\n", "not a regular file"},
		"wide":       {"040000 tree " + wide + "\td\n", "not a regular file"},
		"folder":     {"040000 tree " + makeTree(t, origin, "040000 tree "+inner+"\tunexpected\n100644 blob "+blob+"\tunexpected.json\n") + "\tunexpected\n100644 blob " + huge + "\tz\n", "the limit is 100"},
	} {
		hostile[plantRef(t, origin, "refs/symphony/fleet/7-1/5/"+name, makeTree(t, origin, tree.lines))] = tree.want
	}
	for name, text := range map[string]string{"dotgit": ".git", "parent": "..", "slash": "a/b"} {
		raw := "100644 " + text + "\x00" + string(idBytes(t, blob))
		tree, err := plain(t, origin, raw, "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
		if err != nil {
			t.Fatal(tree)
		}
		hostile[plantRef(t, origin, "refs/symphony/fleet/7-1/5/"+name, tree)] = "git does not take"
	}
	git(t, origin, "update-ref", "refs/symphony/fleet/7-1/5/blob", blob)
	hostile[fileRef(t, "refs/symphony/fleet/7-1/5/blob")] = "missing"
	good := plantRef(t, origin, "refs/symphony/fleet/7-1/5/zgood", makeTree(t, origin, "100644 blob "+blob+"\tplan.json\n"))
	gone := fileRef(t, "refs/symphony/fleet/7-1/5/gone")

	got, failed := readAll(t, f, append(slices.AppendSeq([]FileRef{gone}, maps.Keys(hostile)), good)...)
	if diff := cmp.Diff(map[FileRef]map[string]string{good: {"plan.json": "x"}}, got, cmp.AllowUnexported(FileRef{})); diff != "" {
		t.Error(diff)
	}
	if err := failed[gone]; !errors.Is(err, ErrNoBase) {
		t.Errorf("a reference that is gone: %v", err)
	}
	for ref, want := range hostile {
		if err := failed[ref]; !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
}

// Everybody who can push can add hundreds of references, and reading each of them takes
// time.
func TestReferencesThatAreNotReadInTheTimeForAllAreRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, _ := m.fileRefsOf(t, origin)
	tree := makeTree(t, origin, "100644 blob "+storeBlob(t, origin, "x")+"\tplan.json\n")
	var refs []FileRef
	for _, name := range []string{"a", "b", "c"} {
		refs = append(refs, plantRef(t, origin, "refs/symphony/fleet/7-1/5/"+name, tree))
	}
	gone := fileRef(t, "refs/symphony/fleet/7-1/5/gone") // because of it each is fetched by itself
	bounded, end := context.WithCancel(t.Context())
	defer end()
	got := map[FileRef]error{}
	err := f.read(t.Context(), bounded, append(refs, gone), func(FileRef, string) int64 { return 100 }, func(files RefFiles) error {
		got[files.Ref] = files.Err
		end()
		return nil
	})
	if err != nil || len(got) != 4 || got[refs[0]] != nil {
		t.Fatalf("%v: %v", got, err)
	}
	for _, ref := range append(refs[1:], gone) {
		if !errors.Is(got[ref], ErrRefused) || !strings.Contains(got[ref].Error(), "the time for all references together is over") {
			t.Errorf("%s: %v", ref, got[ref])
		}
	}
}

func idBytes(t testing.TB, text string) []byte {
	t.Helper()
	object := id(t, text)
	return object[:]
}

func TestAPackOverTheLimitsIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	f, _ := m.fileRefsOf(t, origin)
	noise, err := os.Open("/dev/urandom")
	if err != nil {
		t.Skip(err)
	}
	defer noise.Close()
	long, err := io.ReadAll(io.LimitReader(noise, 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	ref := plantRef(t, origin, "refs/symphony/fleet/7-1/5/shard-1", makeTree(t, origin, "100644 blob "+storeBlob(t, origin, string(long))+"\tresult.json\n"))
	if err := f.fetch(t.Context(), 1<<20, ref); !errors.Is(err, ErrRefused) {
		t.Errorf("a long pack: %v", err)
	}
	left, err := os.ReadDir(f.store.packFolder())
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v: %v", left, err)
	}
}

func TestFilesOverTheLimitsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	f, srv := m.fileRefsOf(t, m.origin(t))
	ref := fileRef(t, "refs/symphony/fleet/7-1/5/plan")
	many := map[string][]byte{}
	for n := range maxRefFiles + 1 {
		many[fmt.Sprint(n)] = nil
	}
	big := make([]byte, maxRefBytes/2+1)
	for name, files := range map[string]map[string][]byte{
		"none": nil, "many": many, "large": {"a": big, "b": big}, "above": {"../a": nil}, "absolute": {"/a": nil}, "no name": {".": nil}, "deep": {"a/b/c/d": nil},
		"a file and a folder": {"a": nil, "a/b": nil},
	} {
		if err := f.Push(t.Context(), ref, files); err == nil {
			t.Errorf("%s: pushed", name)
		}
	}
	if sent := srv.seen(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	for _, name := range []string{"", "refs/heads/main", "refs/symphony/", "refs/symphony/push/x", "refs/symphony/a//b", "refs/symphony/a/", "refs/symphony/-a", "refs/symphony/A",
		"refs/symphony/a:b", "refs/symphony/a*", "refs/symphony/../heads/main", "refs/symphony/" + strings.Repeat("a", 200)} {
		if _, err := ParseFileRef(name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

func TestReadFailsIfTheRemoteCannotBeAsked(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	f, srv := m.fileRefsOf(t, m.origin(t))
	refs := []FileRef{fileRef(t, "refs/symphony/fleet/7-1/5/plan"), fileRef(t, "refs/symphony/fleet/7-1/5/shard-1")}
	read := func() error {
		return f.Read(t.Context(), refs, func(FileRef, string) int64 { return 1 }, func(RefFiles) error { t.Error("something was read"); return nil })
	}
	srv.accept("another")
	if err := read(); !errors.Is(err, ErrUnauthorized) {
		t.Error(err)
	}
	srv.accept(testToken)
	srv.answer(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
	if err := read(); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

func TestTheRepositoryOfAKilledRunIsRemovedAfterADay(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	old, young := m.path("stores", fileRefsFolder+"1"), m.path("stores", fileRefsFolder+"2")
	for _, folder := range []string{old, young} {
		write(t, filepath.Join(folder, "x"), "x")
	}
	before := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	f, err := m.host.FileRefs(remoteAt(t, m.origin(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if exists(old) || !exists(young) {
		t.Errorf("the old folder is there: %v, the young one: %v", exists(old), exists(young))
	}
}
