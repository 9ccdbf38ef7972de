package git

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/internal/lfstest"
)

// Bounds are looked at before anything is downloaded.
func TestMoreInGitLFSThanTheLimitsIsOneSentence(t *testing.T) {
	t.Parallel()
	pointer := func(n int, size string) string {
		return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%064x\nsize %s\n", n, size)
	}
	many := map[string]string{}
	for i := range 5_001 {
		many[fmt.Sprintf("d%d/%d.bin", i%100, i)] = pointer(i, "1")
	}
	for name, test := range map[string]struct {
		files map[string]string
		kind  error
		says  string
	}{
		"20 TB":                 {map[string]string{"huge.bin": pointer(1, "20000000000000")}, ErrTooBig, "huge.bin has 20000000000000 bytes in Git LFS, the limit is"},
		"5,001 pointers":        {many, ErrTooBig, "5004 files are in Git LFS, the limit is 5000; list the folders that agents need in repository.paths"},
		"5 times 1 GB":          {map[string]string{"1.bin": pointer(1, "1000000000"), "2.bin": pointer(2, "1000000000"), "3.bin": pointer(3, "1000000000"), "4.bin": pointer(4, "1000000000"), "5.bin": pointer(5, "1000000000")}, ErrTooBig, "the files in Git LFS have more than"},
		"one object, two sizes": {map[string]string{"1.bin": pointer(1, "1"), "2.bin": pointer(1, "2")}, ErrLFS, "name one object and two sizes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newLFS(t)
			d.add(t, test.files)
			_, err := d.store.Fetch(t.Context(), lfsSource)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
			if asked := d.lfs.Requests(); len(asked) > 0 {
				t.Errorf("the server got %q", asked)
			}
		})
	}
	// What .gitattributes does not name is a text, however long its list is.
	d := newLFS(t)
	d.add(t, map[string]string{"huge.txt": pointer(1, "20000000000000"), "overflow.bin": pointer(1, "9999999999999999999"), "path.bin": strings.Replace(pointer(1, "1"), "00000", "../..", 1)})
	d.fetch(t)
}

// asked remembers what came to a server, with the values of Authorization.
type asked struct {
	sync.Mutex
	seen []string
}

func (q *asked) add(r *http.Request) {
	q.Lock()
	defer q.Unlock()
	q.seen = append(q.seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Permission"))
}

// The token goes to the host of the remote alone: not to the addresses of objects on other
// hosts, and not along a redirect. What the server gives for an address goes nowhere else.
func TestTheTokenReachesNoOtherHostOfGitLFS(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	var elsewhere, third asked
	last := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		third.add(r)
		fmt.Fprint(w, "other\n")
	}))
	defer last.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.add(r)
		if strings.HasSuffix(r.URL.Path, lfstest.OID("other\n")) {
			http.Redirect(w, r, last.URL+"/third", http.StatusFound)
			return
		}
		fmt.Fprint(w, big)
	}))
	defer other.Close()
	var own asked
	d.git.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/objects/") {
			own.add(r)
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}
		if r.URL.Path == "/origin.git/info/lfs/objects/batch" {
			d.lfs.Batch(w, r)
			return true
		}
		return false
	})
	d.lfs.Change(func(o lfstest.Object) lfstest.Object {
		header := map[string]string{"X-Permission": "yes"}
		if o.OID == lfstest.OID(big) {
			header = nil // an address on the remote's own host, without a permission
		}
		o.Actions = map[string]lfstest.Action{"download": {Href: d.git.URL + "/objects/" + o.OID, Header: header}}
		return o
	})
	d.fetch(t)
	basic := d.store.remote.header()
	slices.Sort(own.seen)
	for _, line := range own.seen {
		if !strings.Contains(line, basic) {
			t.Errorf("the remote's own host got %q", line)
		}
	}
	if len(own.seen) != 2 || len(elsewhere.seen) != 2 || len(third.seen) != 1 {
		t.Errorf("requests: %q, %q, %q", own.seen, elsewhere.seen, third.seen)
	}
	for _, line := range append(elsewhere.seen, third.seen...) {
		if !strings.HasSuffix(line, " ") {
			t.Errorf("another host got %q", line)
		}
	}
}

// An upload, which a redirect would take elsewhere, follows none.
func TestAnUploadFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	d, _, in := newLFSChange(t)
	for _, test := range []struct {
		name    string
		disturb func(w http.ResponseWriter, r *http.Request) bool
		kind    error
		says    string
	}{
		{"a redirect", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
			}
			return r.Method == http.MethodPut
		}, ErrForbidden, "307 Temporary Redirect"},
		{"a full server", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(507)
			}
			return r.Method == http.MethodPut
		}, ErrForbidden, "its quota is used up"},
		{"a failure", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				w.WriteHeader(502)
			}
			return r.Method == http.MethodPut
		}, ErrUnavailable, "it has a failure of its own"},
		{"no permission", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "batch") {
				w.WriteHeader(403)
			}
			return strings.Contains(r.URL.Path, "batch")
		}, ErrForbidden, "the permission to write contents"},
		{"an object that is not verified", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "batch") {
				w.WriteHeader(422)
			}
			return r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "batch")
		}, ErrRejected, "have the server verify"},
	} {
		d.lfs.Disturb(test.disturb)
		if err := in.UploadObjects(t.Context(), target); !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	d.lfs.Disturb(nil)
	d.lfs.Change(func(o lfstest.Object) lfstest.Object {
		o.Actions, o.Error = nil, &lfstest.Error{Code: 422, Message: "too odd"}
		return o
	})
	if err := in.UploadObjects(t.Context(), target); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "422 (too odd)") {
		t.Errorf("%v", err)
	}
}

// What an agent leaves in the place of its objects neither gets anything outside nor out
// of there, and the next session works.
func TestHostileObjectsOfGitLFSAreRefused(t *testing.T) {
	t.Parallel()
	d := newLFS(t)
	outside := d.path("outside")
	write(t, filepath.Join(outside, "file"), "mine")
	shell := func(folder, script string) {
		runAsAgent(t, folder, "", Command{Args: []string{"sh", "-c", script}, Env: []string{"OUT=" + outside, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}})
	}
	place := func(content string) string { return ".git/lfs/objects/" + Pointer{OID: lfstest.OID(content)}.file() }
	mine := "printf '" + strings.ReplaceAll(lfstest.Pointer("mine"), "\n", `\n`) + "' > big.bin; mkdir -p $(dirname " + place("mine") + "); "
	for name, test := range map[string]struct {
		does, then string // before the harvest, and after it
		says       string
	}{
		"a link as an object":   {mine, "ln -s $OUT/file " + place("mine"), "missing"},
		"a link to all objects": {mine, "rm -rf .git/lfs; ln -s $OUT .git/lfs", "missing"},
		"a link to the object":  {mine, "rm -rf big.bin; ln -s $OUT/file big.bin", "missing"},
		"a pipe as an object":   {mine, "mkfifo " + place("mine"), "missing"},
		"a pipe as a file":      {mine, "rm big.bin; mkfifo big.bin", "missing"},
		"a folder":              {mine, "mkdir " + place("mine"), "missing"},
		"a link before":         {mine + "ln -s $OUT/file " + place("mine"), "", "is neither a file nor a folder of a repository"},
		"other bytes":           {mine, "printf evil > " + place("mine"), "something else in the place of its object"},
		"a path in the id":      {"printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:../../../../../../../../../../../../../../../../../../../etc/passwd\\nsize 4\\n' > big.bin", "", "sha256:"},
		"a command in a name":   {"mkdir -p '$(touch ran)'; printf x > '$(touch ran)/\"; touch ran; `touch ran`;%f.bin'", "", ""},
		"an option as a name":   {"printf x > --mode=x.bin", "", ""},
		"another filter":        {"git config filter.lfs.clean 'touch ran; cat'; printf x > big.bin", "", ""},
		"no filter":             {"git config --remove-section filter.lfs; printf x > big.bin", "", ""},
		"every file":            {"printf '* filter=lfs\\n' > .gitattributes; printf x > big.bin", "", ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			folder := d.workspace(t, "GH-1")
			defer remove(t, folder)
			shell(folder, test.does)
			cmd := d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{LFS: true})
			got, objects, in := "", []NewObject(nil), (*Incoming)(nil)
			if code, said := d.runCommand(t, folder, cmd); code != 0 {
				got = said
			} else {
				in = d.receive(t, []byte(said))
				defer in.Close()
				var err error
				if objects, err = in.NewObjects(t.Context(), true); err != nil {
					t.Fatal(err)
				}
				shell(folder, test.then)
				err = in.TakeObjects(strings.NewReader(runAsAgent(t, folder, "", d.host.ObjectsCommand(objects))), objects)
				switch {
				case err != nil:
					got = err.Error()
				case !in.Has(objects[0].Pointer):
					got = "missing"
				}
				if in.Has(Pointer{lfstest.OID("mine"), 4}) {
					t.Error("a file outside was taken")
				}
			}
			if test.says == "sha256:" { // the text, which is not a pointer, is content
				test.says = ""
				if len(objects) != 1 || objects[0].Size < 100 {
					t.Errorf("objects: %+v", objects)
				}
			}
			if !strings.Contains(got, test.says) || test.says == "" && got != "" {
				t.Errorf("%q, want %q", got, test.says)
			}
			if files, _ := filepath.Glob(filepath.Join(outside, "*")); len(files) != 1 || read(t, filepath.Join(outside, "file")) != "mine" || exists(filepath.Join(folder, "ran")) {
				t.Errorf("outside: %v", files)
			}
		})
	}
	d.nothingLeft(t)
}

// What comes in the place of objects is no more than they say.
func TestAStreamThatIsNotThatOfTheObjectsIsRefused(t *testing.T) {
	t.Parallel()
	_, _, in := newLFSChange(t)
	objects := []NewObject{{Pointer{lfstest.OID("abc"), 3}, "a.bin"}, {Pointer{lfstest.OID("de"), 2}, "b.bin"}}
	for stream, says := range map[string]string{
		"":            "cannot be read: unexpected EOF",
		"x":           "'x' is in the place of one",
		"+ab":         "cannot be read: unexpected EOF",
		"+abc":        "cannot be read: unexpected EOF",
		"+abd+de":     `"a.bin" is in Git LFS, and the workspace has something else`,
		"+abc+de+":    "something follows",
		"-+de\x00":    "something follows",
		"+abc-more":   "something follows",
		"+abc+de":     "",
		"--":          "",
		"+abc+d":      "unexpected EOF",
		"+abcde+more": "'d' is in the place of one",
	} {
		err := in.TakeObjects(strings.NewReader(stream), objects)
		if says == "" && err != nil || says != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", stream, err, says)
		}
	}
	if drafts, _ := filepath.Glob(filepath.Join(in.lfsFolder(), draftPrefix+"*")); len(drafts) > 0 {
		t.Errorf("left: %v", drafts)
	}
	failed := errors.New("the command failed")
	if err := in.TakeObjects(&failing{failed}, objects); !errors.Is(err, failed) || !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(in.lfsFolder(), 0o700); err != nil {
		t.Fatal(err)
	}
}

// The file with saved objects is the host's. Even so no more comes out of it than the work
// wants.
func TestSavedObjectsAreCheckedWhenTheyAreRead(t *testing.T) {
	t.Parallel()
	_, _, in := newLFSChange(t)
	var saved strings.Builder
	if err := in.SaveObjects(&saved); err != nil {
		t.Fatal(err)
	}
	changed := Pointer{lfstest.OID("changed\n"), 8}
	line := changed.OID + " 8\n"
	if saved.String() != line+"changed\n" {
		t.Fatalf("saved: %q", saved.String())
	}
	const unreadable = "the objects of Git LFS cannot be read: "
	for text, test := range map[string]struct {
		has  bool
		says string
	}{
		saved.String():                      {has: true},
		"":                                  {},
		lfstest.OID("abc") + " 3\nabc":      {}, // of other work
		"../x 3\nabc" + saved.String():      {has: true},
		line:                                {says: unreadable + "unexpected EOF"},
		line + "chang":                      {says: unreadable + "unexpected EOF"},
		line + "CHANGED\n":                  {says: `"big.bin" is in Git LFS, and the workspace has something else`},
		saved.String() + "x":                {has: true, says: unreadable + "unexpected EOF"},
		lfstest.OID("abc") + " 3\nab":       {says: unreadable + "unexpected EOF"},
		changed.OID + " -8\nchanged\n":      {says: unreadable + "a line does not name an object"},
		changed.OID + "\nchanged\n":         {says: unreadable + "a line does not name an object"},
		strings.Repeat("0", 10_000) + "\nx": {says: unreadable + "bufio: buffer full"},
	} {
		clear(in.taken)
		err := in.TakeSaved(strings.NewReader(text), []NewObject{{changed, "big.bin"}})
		if test.says == "" && err != nil || test.says != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%q: %v, want %q", text, err, test.says)
		}
		if in.Has(changed) != test.has || test.has != (len(in.taken) > 0) {
			t.Errorf("%q: taken: %v", text, in.taken)
		}
	}
}

// failing is a stream that ends with an error.
type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzPointersOfGitLFS(f *testing.F) {
	f.Add([]byte(lfstest.Pointer("x")))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:../x\nsize 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ok := ParsePointer(text)
		if !ok {
			return
		}
		if len(p.OID) != 64 || strings.Trim(p.OID, "0123456789abcdef") != "" || p.Size < 0 || !filepath.IsLocal(p.file()) || strings.Count(p.file(), "/") != 2 {
			t.Errorf("%+v", p)
		}
		if again := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize ", p.OID); !strings.HasPrefix(string(text), again) {
			t.Errorf("%q is %+v", text, p)
		}
	})
}

// runCommand runs a command in a workspace, and returns how it ended and its output, or
// what it said of its failure.
func (d *lfsDelivery) runCommand(t testing.TB, folder string, c Command) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = folder, append([]string{"PATH=" + os.Getenv("PATH")}, c.Env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), stderr.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}
