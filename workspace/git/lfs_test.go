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

	"github.com/symphony-runner/symphony/internal/lfstest"
)

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
	if got := read(t, filepath.Join(folder, "other/new.bin")); got != "other\n" || len(d.objects.pointers) != 2 { // and big.bin at the top
		t.Errorf("other/new.bin is %.200q, of %d objects", got, len(d.objects.pointers))
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
	d, folder, in := newLFSChange(t)
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
	d := newLFS(t)
	for name, test := range map[string]struct {
		disturb func(http.ResponseWriter, *http.Request) bool
		change  func(lfstest.Object) lfstest.Object
		kind    error
		says    string
	}{
		"no server":       {status(404, ""), nil, ErrNotFound, "it has no server of Git LFS, or the token does not see it; remove repository.lfs"},
		"a page":          {func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "<html>"); return true }, nil, ErrNotFound, "is not a server of Git LFS"},
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
			switch name {
			case "silence":
				d.store.host.limits.slow = 200 * time.Millisecond
			case "an object that takes too long":
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
			remove(t, d.store.lfsFolder())
			clear(d.store.trees)
		})
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
