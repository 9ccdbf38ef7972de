package git

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/workspace/git/lfstest"
)

// lfsDelivery is a delivery whose origin is on a server, with one of Git LFS.
type lfsDelivery struct {
	*delivery
	git     *server
	lfs     *lfstest.Server
	objects *Objects
}

// lfsSource is ours, with Git LFS.
var lfsSource = Source{Prefix: ours.Prefix, LFS: true}

// newLFS returns a delivery of a repository with files in Git LFS: big.bin and its copy
// sub/same.bin, other/new.bin, the empty empty.bin; raw.bin, which never became one; and
// text.txt, which is a text like a pointer.
func newLFS(t testing.TB) *lfsDelivery {
	t.Helper()
	m := newMachine(t)
	d := &lfsDelivery{delivery: &delivery{machine: m, origin: m.path("origin.git")}, lfs: lfstest.New(t)}
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", "--template=", d.origin)
	d.add(t, map[string]string{
		".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
		"big.bin":        d.lfs.Put(big), "sub/same.bin": lfstest.Pointer(big), "other/new.bin": d.lfs.Put("other\n"),
		"empty.bin": "", "raw.bin": "raw\x00bytes\n", "text.txt": lfstest.Pointer("nobody has this"),
	})
	d.serveLFS(t)
	d.store.host.limits.slow, d.store.host.limits.pause = 20*time.Second, time.Millisecond
	return d
}

// serveLFS serves the origin and its objects.
func (d *lfsDelivery) serveLFS(t testing.TB) {
	t.Helper()
	d.git = serve(t, d.dir)
	d.git.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/origin.git/info/lfs/objects/batch" {
			return false
		}
		d.lfs.Batch(w, r)
		return true
	})
	d.store = d.machine.store(t, d.git.remote(t, "origin.git", testToken))
}

var big = strings.Repeat("\x00big\xff\r\n", 1000)

// add commits files to the branch main of the origin.
func (d *lfsDelivery) add(t testing.TB, files map[string]string) {
	t.Helper()
	var history strings.Builder
	history.WriteString("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfiles\n")
	if out, err := plain(t, d.origin, "", "rev-parse", "-q", "--verify", "main"); err == nil {
		history.WriteString("from " + out + "\n")
	}
	for name, text := range files {
		fmt.Fprintf(&history, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	if out, err := plain(t, d.origin, history.String(), "fast-import", "--quiet", "--force"); err != nil {
		t.Fatal(out)
	}
}

// fetch fetches, with the objects.
func (d *lfsDelivery) fetch(t testing.TB, paths ...string) {
	t.Helper()
	source := lfsSource
	source.Paths = paths
	f := fetch(t, d.store, source)
	d.from = From{f.Head, f.Base}
	var err error
	if d.objects, err = d.store.Objects(t.Context(), paths, f.Head); err != nil {
		t.Fatal(err)
	}
}

// workspace fills a workspace for an agent.
func (d *lfsDelivery) workspace(t testing.TB, key string, paths ...string) string {
	t.Helper()
	d.fetch(t, paths...)
	return populateFrom(t, d.machine, d.store, key, Checkout{
		Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Objects: d.objects, Paths: paths,
	})
}

// take takes the work out of a workspace, with its objects.
func (d *lfsDelivery) take(t testing.TB, folder string) *Incoming {
	t.Helper()
	in := d.receive(t, []byte(runAsAgent(t, folder, "", d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{LFS: true}))))
	objects, err := in.NewObjects(t.Context(), false)
	if err == nil && len(objects) > 0 {
		err = in.TakeObjects(strings.NewReader(runAsAgent(t, folder, "", d.host.ObjectsCommand(objects))), objects)
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestAWorkspaceHasTheContentsOfFilesInGitLFS(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	folder := d.workspace(t, "GH-1")
	for name, want := range map[string]string{
		"big.bin": big, "sub/same.bin": big, "other/new.bin": "other\n", "empty.bin": "", "raw.bin": "raw\x00bytes\n",
		"text.txt": lfstest.Pointer("nobody has this"),
	} {
		if got := read(t, filepath.Join(folder, name)); got != want {
			t.Errorf("%s is %.200q", name, got)
		}
	}
	if status := git(t, folder, "status", "--porcelain"); strings.TrimSpace(status) != "M raw.bin" && status != "" { // git-lfs shows it as changed as well
		t.Errorf("git status says %q", status)
	}
	if got, want := d.lfs.Requests(), []string{"LIST download 2", "GET", "GET"}; !slices.Equal(got, want) {
		t.Errorf("the server got %q, want %q", got, want)
	}
	// Another workspace needs nothing more, and no file of the two is one.
	other := d.workspace(t, "GH-2")
	if got := d.lfs.Requests(); len(got) > 0 {
		t.Errorf("for the second workspace the server got %q", got)
	}
	object := ".git/lfs/objects/" + Pointer{OID: lfstest.OID(big)}.file()
	seen := map[uint64]bool{}
	for _, path := range []string{
		filepath.Join(folder, object), filepath.Join(other, object), filepath.Join(d.store.lfsFolder(), Pointer{OID: lfstest.OID(big)}.file()),
	} {
		if n := inode(t, path); seen[n] || read(t, path) != big {
			t.Errorf("%s is not a copy of its own", path)
		} else {
			seen[n] = true
		}
	}
	if text := read(t, filepath.Join(folder, ".git/config")); strings.Contains(text, testToken) {
		t.Error("the workspace holds the token")
	}
}

func TestWithoutLFSFilesInItStayPointers(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	f := fetch(t, d.store, ours)
	folder := populate(t, d.machine, d.store, f, "GH-1")
	if got := read(t, filepath.Join(folder, "big.bin")); got != lfstest.Pointer(big) || exists(filepath.Join(folder, ".git/lfs")) || len(d.lfs.Requests()) > 0 {
		t.Errorf("big.bin is %.200q", got)
	}
}

func TestASparseWorkspaceNeedsTheObjectsOfItsFoldersAlone(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	d.add(t, map[string]string{"lost/gone.bin": lfstest.Pointer("nobody has this either")})
	folder := d.workspace(t, "GH-1", "other")
	if got := read(t, filepath.Join(folder, "other/new.bin")); got != "other\n" || d.objects.Len() != 2 { // and big.bin at the top
		t.Errorf("other/new.bin is %.200q, of %d objects", got, d.objects.Len())
	}
}

func TestChangedFilesInGitLFSAreDeliveredWithTheirObjects(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLFS(t)
			folder := d.workspace(t, "GH-1")
			d.lfs.Requests()
			write(t, filepath.Join(folder, "big.bin"), "changed\x00\n")
			write(t, filepath.Join(folder, "we ird/$(x) '\".bin"), "new\n")
			git(t, folder, "mv", "other/new.bin", "moved.bin")
			write(t, filepath.Join(folder, "plain.txt"), "plain\n")
			if commits {
				git(t, folder, "add", "-A", "--", ":!raw.bin")
				git(t, folder, "commit", "-q", "-m", "work")
			}
			in := d.take(t, folder)
			got := map[string]string{}
			for _, c := range changes(t, in) {
				if c.NewMode != 0 {
					got[c.Path] = git(t, in.dir, "cat-file", "blob", c.New.String()) + "\n"
				}
			}
			want := map[string]string{
				"big.bin": lfstest.Pointer("changed\x00\n"), "we ird/$(x) '\".bin": lfstest.Pointer("new\n"),
				"moved.bin": lfstest.Pointer("other\n"), "plain.txt": "plain\n",
			}
			if !maps.Equal(got, want) {
				t.Errorf("delivered: %q", got)
			}
			if err := in.UploadObjects(t.Context(), target); err != nil {
				t.Fatal(err)
			}
			for _, content := range []string{"changed\x00\n", "new\n"} {
				if !d.lfs.Has(content) {
					t.Errorf("the server does not have %q", content)
				}
			}
			if requests := d.lfs.Requests(); slices.Contains(requests, "GET") || !strings.HasPrefix(requests[0], "LIST upload") {
				t.Errorf("the server got %q", requests)
			}
			if err := in.UploadObjects(t.Context(), target); err != nil || len(d.lfs.Requests()) != 1 {
				t.Errorf("what is there is sent again: %v", err)
			}
			in.Close()
			d.nothingLeft(t)
		})
	}
}

// A second session has what the first one left, whether it was taken or not.
func TestWorkThatWasLeftKeepsItsObjects(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "big.bin"), "changed\n")
	in := d.take(t, folder)
	defer in.Close()
	remove(t, filepath.Join(folder, ".git"))
	if err := os.Mkdir(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	into, err := os.OpenRoot(filepath.Join(folder, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	err = d.store.Populate(t.Context(), into, Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: in.Tip, User: person, Objects: d.objects})
	if err := errors.Join(err, in.CopyPacks(t.Context(), into)); err != nil {
		t.Fatal(err)
	}
	for _, command := range d.host.CheckoutCommands(Checkout{}) {
		runAsAgent(t, folder, "", command)
	}
	if got := read(t, filepath.Join(folder, "big.bin")); got != "changed\n" {
		t.Errorf("big.bin is %.200q", got)
	}
}

func TestADamagedObjectOfTheStoreIsFetchedAgain(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	d.fetch(t)
	object := filepath.Join(d.store.lfsFolder(), Pointer{OID: lfstest.OID(big)}.file())
	write(t, object, strings.Repeat("x", len(big)))
	into, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close()
	err = d.store.Populate(t.Context(), into, Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Objects: d.objects})
	if !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "is damaged; it is fetched again") {
		t.Errorf("%v", err)
	}
	if folder := d.workspace(t, "GH-1"); read(t, filepath.Join(folder, "big.bin")) != big {
		t.Error("it is damaged still")
	}
}

// Each of these servers is refused in one sentence, and gets no token that is not its own.
func TestAServerOfGitLFSThatCannotBeUsedIsOneSentenceAndACategory(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	object := func(f func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodGet {
				f(w, r)
			}
			return r.Method == http.MethodGet
		}
	}
	for name, test := range map[string]struct {
		disturb func(http.ResponseWriter, *http.Request) bool
		change  func(lfstest.Object) lfstest.Object
		kind    error
		says    string
	}{
		"no server":       {status(404, ""), nil, ErrNotFound, "it has no server of Git LFS, or the token does not see it; remove repository.lfs"},
		"a page":          {func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "<html>"); return true }, nil, ErrNotFound, "is no server of Git LFS"},
		"no token":        {status(401, ""), nil, ErrUnauthorized, "correct repository.token"},
		"no permission":   {status(403, `{"message": "over its data quota"}`), nil, ErrForbidden, "(over its data quota); give the token the permission to read contents, or see whether the quota"},
		"bandwidth":       {status(509, ""), nil, ErrForbidden, "quota"},
		"too many":        {status(429, ""), nil, ErrUnavailable, "tried again"},
		"a failure":       {status(500, ""), nil, ErrUnavailable, "it has a failure of its own"},
		"not implemented": {status(501, ""), nil, ErrUnsupported, "remove repository.lfs"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
			return true
		}, nil, ErrRenamed, "set repository.url"},
		"no objects":        {status(200, `{"objects": []}`), nil, ErrUnsupported, "answers for 0 of 2 objects"},
		"another transfer":  {status(200, `{"transfer": "tus", "objects": []}`), nil, ErrUnsupported, `wants the transfer "tus"`},
		"an endless answer": {func(w http.ResponseWriter, r *http.Request) bool { w.Write(make([]byte, maxBatch+1)); return true }, nil, ErrUnsupported, "more than"},
		"a missing object": {nil, func(o lfstest.Object) lfstest.Object {
			o.Actions, o.Error = nil, &lfstest.Error{Code: 410, Message: "gone"}
			return o
		}, ErrLFS, ".bin: 410 (gone); push it with git lfs"},
		"an object without address": {nil, func(o lfstest.Object) lfstest.Object { o.Actions = nil; return o }, ErrLFS, "gives no address for the object of"},
		"another object":            {nil, func(o lfstest.Object) lfstest.Object { o.OID = strings.Repeat("0", 64); return o }, ErrUnsupported, "was not asked for"},
		"another size":              {nil, func(o lfstest.Object) lfstest.Object { o.Size++; return o }, ErrLFS, "by its pointer"},
		"an object that is not there": {object(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }), nil, ErrLFS,
			"404 Not Found; it is not there"},
		"an address that has expired": {object(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }), nil, ErrForbidden, "the permission for it is missing"},
		"a short object":              {object(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "short") }), nil, ErrLFS, "5 bytes come, and its pointer says"},
		"an object without length": {object(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "short")
		}), nil, ErrLFS, "the object has 5 bytes, and its pointer says"},
		"an endless object": {object(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}), nil, ErrLFS, "the object has more than the"},
		"wrong bytes": {object(func(w http.ResponseWriter, r *http.Request) {
			content := strings.Repeat("x", len(big))
			if strings.HasSuffix(r.URL.Path, lfstest.OID("other\n")) {
				content = "OTHER\n"
			}
			fmt.Fprint(w, content)
		}), nil, ErrLFS, "the object has the SHA-256"},
		"a cut object": {object(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "ot")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}), nil, ErrUnavailable, "the object is cut after 2 of"},
		"silence":                       {object(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil, ErrUnavailable, "nothing was sent for"},
		"an object that takes too long": {object(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), nil, ErrUnavailable, "not done within 500ms"},
		"an address in the clear": {nil, func(o lfstest.Object) lfstest.Object {
			o.Actions = map[string]lfstest.Action{"download": {Href: "http://objects.example.com/x"}}
			return o
		}, ErrUnsupported, "that is not https"},
		"an address with a password": {nil, func(o lfstest.Object) lfstest.Object {
			o.Actions = map[string]lfstest.Action{"download": {Href: "https://a:b@objects.example.com/x"}}
			return o
		}, ErrUnsupported, "only that is used"},
		"an address of a file": {nil, func(o lfstest.Object) lfstest.Object {
			o.Actions = map[string]lfstest.Action{"download": {Href: "file:///etc/passwd"}}
			return o
		}, ErrUnsupported, "that is not https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLFS(t)
			d.store.host.limits.slow = 200 * time.Millisecond
			if strings.Contains(test.says, "not done within") {
				d.store.host.limits.slow, d.store.host.limits.network = time.Hour, 500*time.Millisecond
			}
			d.lfs.Disturb(test.disturb)
			d.lfs.Change(test.change)
			_, err := d.store.Fetch(t.Context(), lfsSource)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), testToken) {
				t.Fatalf("got %v\nwant %v with %q", err, test.kind, test.says)
			}
			if left, _ := filepath.Glob(filepath.Join(d.store.lfsFolder(), draftPrefix+"*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			// When the server works again, so does the store.
			d.lfs.Disturb(nil)
			d.lfs.Change(nil)
			d.store.host.limits.network, d.store.host.limits.slow = defaultLimits.network, defaultLimits.slow
			d.fetch(t)
		})
	}
}

// Where no command of the host can run in the sandbox, the files come from a folder of the
// host, which has no filter.
func TestACheckoutOfTheHostHasTheContentsOfFilesInGitLFS(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	d.fetch(t)
	c := Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Objects: d.objects}
	made, err := d.store.CheckOut(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if err := made.AddObjects(t.Context(), d.objects); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(d.workspaces, "GH-1")
	if err := os.MkdirAll(filepath.Join(folder, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(*os.Root) error{
		"": func(into *os.Root) error { return made.CopyTo(t.Context(), into) },
		".git": func(into *os.Root) error {
			return errors.Join(d.store.Populate(t.Context(), into, c), made.CopyIndex(t.Context(), into))
		},
	} {
		into, err := os.OpenRoot(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		if err := fill(into); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"big.bin": big, "sub/same.bin": big, "text.txt": lfstest.Pointer("nobody has this")} {
		if got := read(t, filepath.Join(folder, name)); got != want {
			t.Errorf("%s is %.200q", name, got)
		}
	}
	if status := git(t, folder, "status", "--porcelain"); strings.TrimSpace(status) != "M raw.bin" && status != "" {
		t.Errorf("git status says %q", status)
	}
}

// What git-lfs keeps and what this program keeps is the same, whichever of the two the
// agent's git runs.
func TestTheProgramOfGitLFSWorksInAWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git-lfs"); err != nil {
		t.Skip("there is no git-lfs here")
	}
	d := newLFS(t)
	folder := d.workspace(t, "GH-1")
	installed := Command{Env: []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=filter.lfs.process", "GIT_CONFIG_VALUE_0=git-lfs filter-process", "GIT_CONFIG_KEY_1=lfs.url", "GIT_CONFIG_VALUE_1=http://127.0.0.1:1",
	}}
	shell := func(script string) string {
		installed.Args = []string{"sh", "-ec", script}
		return runAsAgent(t, folder, "", installed)
	}
	if files := shell("rm big.bin; git checkout -q big.bin; git lfs ls-files --name-only"); !strings.HasPrefix(files, "big.bin\nother/new.bin\nsub/same.bin\n") || read(t, filepath.Join(folder, "big.bin")) != big {
		t.Errorf("git-lfs knows %q", files)
	}
	shell("printf new > new.bin; git add new.bin; git commit -qm new")
	in := d.take(t, folder)
	defer in.Close()
	if p := (Pointer{lfstest.OID("new"), 3}); !in.Has(p) {
		t.Error("the object that git-lfs has made was not taken")
	}
}
