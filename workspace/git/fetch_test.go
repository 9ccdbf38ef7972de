package git

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// commit adds a commit to a branch of a bare repository, which may be new and then
// starts at main, and returns its id.
func commit(t testing.TB, origin, branch, file, text string) ObjectID {
	t.Helper()
	parent, err := plain(t, origin, "", "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if err != nil {
		parent = git(t, origin, "rev-parse", "main")
	}
	args := []string{"commit-tree", "-m", "change of " + file, "-p", parent}
	tree := git(t, origin, "ls-tree", parent)
	blob, err := plain(t, origin, text, "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(blob)
	}
	lines := []string{"100644 blob " + blob + "\t" + file}
	for line := range strings.Lines(tree) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasSuffix(line, "\t"+file) {
			lines = append(lines, line)
		}
	}
	newTree, err := plain(t, origin, strings.Join(lines, "\n")+"\n", "mktree")
	if err != nil {
		t.Fatal(newTree)
	}
	head := git(t, origin, append(args, newTree)...)
	git(t, origin, "update-ref", "refs/heads/"+branch, head)
	return id(t, head)
}

func headOf(t testing.TB, repository, ref string) ObjectID {
	t.Helper()
	return id(t, git(t, repository, "rev-parse", ref))
}

func fetch(t testing.TB, s *Store, from Source) Fetched {
	t.Helper()
	f, err := s.Fetch(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var ours = Source{Prefix: "symphony/"}

func TestAFetchBringsTheBaseAndOurBranchesAndNothingElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	one := commit(t, origin, "symphony/GH-1", "a", "a")
	commit(t, origin, "other", "b", "b")
	git(t, origin, "tag", "v1", "main")
	s := m.store(t, remoteAt(t, origin))
	f := fetch(t, s, ours)
	if f.Base.String() != "main" || f.Head != headOf(t, origin, "main") || len(f.Branches) != 1 || f.Branches[branch(t, "symphony/GH-1")] != one {
		t.Errorf("fetched %+v", f)
	}
	refs, err := s.refs(t.Context())
	if err != nil || len(refs) != 2 {
		t.Errorf("references of the store: %v, %v", refs, err)
	}

	// Later a branch moves, another is deleted, a third is rewritten.
	gone := commit(t, origin, "symphony/GH-2", "c", "c")
	if f = fetch(t, s, ours); f.Branches[branch(t, "symphony/GH-2")] != gone {
		t.Errorf("fetched %+v", f)
	}
	git(t, origin, "branch", "-D", "symphony/GH-2")
	git(t, origin, "branch", "-f", "symphony/GH-1", "main")
	commit(t, origin, "symphony/GH-2/x", "d", "d") // a folder in the place of a branch
	moved := commit(t, origin, "main", "e", "e")
	f = fetch(t, s, ours)
	if f.Head != moved || len(f.Branches) != 2 || f.Branches[branch(t, "symphony/GH-1")] != headOf(t, origin, "symphony/GH-1") {
		t.Errorf("fetched %+v", f)
	}
	if f = fetch(t, s, Source{Base: branch(t, "other")}); f.Head != headOf(t, origin, "other") || len(f.Branches) != 0 {
		t.Errorf("fetched %+v", f)
	}
}

func TestATickWithoutNewsCostsOneListOfBranches(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	git(t, origin, "config", "http.receivepack", "true")
	srv := serve(t, m.dir)
	s := m.store(t, srv.remote(t, "origin.git", testToken))
	want := fetch(t, s, ours)
	srv.seen()
	if got := fetch(t, s, ours); got.Head != want.Head {
		t.Errorf("fetched %+v", got)
	}
	if requests := srv.seen(); len(requests) != 2 {
		t.Errorf("it made the requests %q", requests)
	}
	commit(t, origin, "main", "a", "a")
	if fetch(t, s, ours).Head != headOf(t, origin, "main") {
		t.Error("news were not seen")
	}
}

// The job has checked out one commit; the rest of the history comes from the remote.
func TestAnEmptyStoreTakesFromTheCheckoutWhatItHas(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	for _, text := range []string{"1", "2", "3"} {
		commit(t, origin, "main", "big", strings.Repeat(text, 5000))
	}
	checkout := m.path("checkout")
	git(t, m.dir, "clone", "-q", "--depth=1", "file://"+origin, checkout)
	for name, seed := range map[string]string{
		"seed": checkout, "no seed": "", "missing": m.path("missing"), "no repository": m.workspaces,
		"below the root of the workspaces": filepath.Join(m.workspaces, "x"), "not a path": "--upload-pack=x",
	} {
		t.Run(name, func(t *testing.T) {
			remote := remoteAt(t, origin)
			os.RemoveAll(m.path("stores"))
			if err := m.host.makeDir(m.path("stores")); err != nil {
				t.Fatal(err)
			}
			s := m.store(t, remote)
			from := ours
			from.Seed = seed
			f := fetch(t, s, from)
			if got := git(t, s.repository(), "rev-list", "--count", f.Head.String()); got != "4" {
				t.Errorf("the store has %s commits", got)
			}
			if shallow, err := readShallow(s.repository()); shallow != "" || err != nil {
				t.Errorf("the store is shallow: %q, %v", shallow, err)
			}
			if refs, _ := s.refs(t.Context()); len(refs) != 1 {
				t.Errorf("references %v", refs)
			}
		})
	}
}

func TestAShallowRemoteGivesAShallowStoreAndWorkspace(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	commit(t, origin, "main", "a", "1")
	commit(t, origin, "main", "a", "2")
	git(t, m.dir, "clone", "-q", "--bare", "--depth=2", "file://"+origin, m.path("shallow.git"))
	s := m.store(t, remoteAt(t, m.path("shallow.git")))
	for range 2 {
		f := fetch(t, s, ours)
		if got := git(t, s.repository(), "rev-list", "--count", f.Head.String()); got != "2" {
			t.Errorf("the store has %s commits", got)
		}
	}
	s.Close()
	s = m.store(t, s.remote)
	folder := populate(t, m, s, fetch(t, s, ours), "GH-1")
	if got := git(t, folder, "rev-list", "--count", "HEAD"); got != "2" {
		t.Errorf("the workspace has %s commits", got)
	}
}

// A person works in the remote: it is a clone itself, and what is checked out changes.
func TestTheBaseStaysWhileAPersonLooksAtADelivery(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	user := m.path("user")
	git(t, m.dir, "clone", "-q", m.origin(t), user)
	git(t, user, "branch", "symphony/GH-1", "main")
	git(t, user, "branch", "other", "main")
	s := m.store(t, remoteAt(t, user))
	for _, step := range []struct {
		checkout string
		want     string // the base; empty for an error
	}{
		{"symphony/GH-1", ""},
		{"main", "main"},
		{"symphony/GH-1", "main"},
		{"--detach", "main"},
		{"other", "other"},
	} {
		git(t, user, "switch", "-q", step.checkout)
		f, err := s.Fetch(t.Context(), ours)
		if step.want == "" {
			if !errors.Is(err, ErrNoBase) || !strings.Contains(err.Error(), "symphony/GH-1, which is a branch for deliveries; set repository.base") {
				t.Errorf("at %s: %v", step.checkout, err)
			}
			continue
		}
		if err != nil || f.Base.String() != step.want || f.Head != headOf(t, user, "main") || len(f.Branches) != 1 {
			t.Errorf("at %s: %+v, %v", step.checkout, f, err)
		}
	}
}

func TestARemoteThatCannotBeUsedIsOneSentenceAndACategory(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", m.path("empty.git"))
	git(t, m.dir, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", m.path("sha256.git"))
	commit256 := git(t, m.path("sha256.git"), "commit-tree", "-m", "x", git(t, m.path("sha256.git"), "mktree", "--missing"))
	git(t, m.path("sha256.git"), "update-ref", "refs/heads/main", commit256)
	git(t, m.dir, "clone", "-q", "--bare", origin, m.path("headless.git"))
	git(t, m.path("headless.git"), "symbolic-ref", "HEAD", "refs/heads/missing")
	git(t, m.dir, "clone", "-q", "--bare", origin, m.path("taken.git"))
	git(t, m.path("taken.git"), "branch", "symphony", "main")
	for name, c := range map[string]struct {
		path string
		base string
		kind error
		says string
	}{
		"empty":             {"empty.git", "", ErrEmpty, "it has no commit yet; commit its first files there, or push them to it"},
		"empty with base":   {"empty.git", "main", ErrEmpty, "it has no commit yet; commit its first files there, or push them to it"},
		"no such base":      {"origin.git", "develop", ErrNoBase, `no branch "develop"; set repository.base to one that it has: main`},
		"no default":        {"headless.git", "", ErrNoBase, "set repository.base"},
		"missing":           {"missing.git", "", ErrNotFound, "not the top of a git repository; correct repository.url"},
		"sha256":            {"sha256.git", "", ErrUnsupported, "SHA-256"},
		"branch in the way": {"taken.git", "main", ErrUnsupported, "its branch symphony leaves no room for branches below symphony/; rename it, or set repository.branch_prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			from := ours
			if c.base != "" {
				from.Base = branch(t, c.base)
			}
			_, err := m.store(t, remoteAt(t, m.path(c.path))).Fetch(t.Context(), from)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// The rest of the program trusts the certificates of SSL_CERT_FILE, which git by itself
// does not know.
func TestAServerIsTrustedByTheCertificatesOfTheProgram(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.origin(t)
	srv := serve(t, m.dir)
	secure := httptest.NewUnstartedServer(srv.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it goes away
	secure.StartTLS()
	t.Cleanup(secure.Close)
	file := m.path("trusted.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	remote, err := ParseRemote(secure.URL+"/origin.git", testToken)
	if err != nil {
		t.Fatal(err)
	}
	for variables, want := range map[string]string{
		"":                      "set SSL_CERT_FILE to a file with the one that signed it",
		"SSL_CERT_FILE=" + file: "",
		"SSL_CERT_FILE=/x GIT_SSL_CAINFO=" + file: "",
	} {
		cfg := m.config()
		cfg.Dir, cfg.Env = t.TempDir(), append(cfg.Env, strings.Fields(variables)...)
		host, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		store, err := host.Store(t.Context(), remote)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		_, err = store.Fetch(t.Context(), ours)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("with %q: %v", variables, err)
		}
	}
}

func TestWhatAServerAnswersHasACategoryAndAnAdvice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.origin(t)
	srv := serve(t, m.dir)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token went to another host")
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer elsewhere.Close()
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(code); return true }
	}
	hang := make(chan struct{})
	defer close(hang)
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		kind   error
		says   string
	}{
		"wrong token":  {status(401), ErrUnauthorized, "correct repository.token"},
		"no right":     {status(403), ErrForbidden, "give the token the permission"},
		"not there":    {status(404), ErrNotFound, "correct repository.url"},
		"gone":         {status(410), ErrUnavailable, "check repository.url"},
		"rate limit":   {status(429), ErrUnavailable, "limits the rate"},
		"its failure":  {status(500), ErrUnavailable, "a failure of its own"},
		"its overload": {status(503), ErrUnavailable, "a failure of its own"},
		"renamed": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
			return true
		}, ErrRenamed, "set repository.url to it"},
		"no git": {func(w http.ResponseWriter, r *http.Request) bool { w.Write([]byte("<html>hello")); return true }, nil, "correct repository.url"}, // ErrEmpty or, for newer versions of git, ErrNotFound
		"cut":    {func(w http.ResponseWriter, r *http.Request) bool { panic(http.ErrAbortHandler) }, ErrUnavailable, "tried again"},
		"cut later": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "POST" {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				w.Write([]byte("0014"))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			return false
		}, ErrUnavailable, "tried again"},
		"silence": {func(w http.ResponseWriter, r *http.Request) bool {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return true
		}, ErrUnavailable, "sends nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			if srv.answer(c.answer); name == "silence" {
				slow := m.host.limits.slow
				defer func() { m.host.limits.slow = slow }()
				m.host.limits.slow = time.Second
			}
			s, err := m.host.Store(t.Context(), srv.remote(t, "origin.git", testToken))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Fetch(t.Context(), ours)
			if c.kind != nil && !errors.Is(err, c.kind) || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(err.Error()+m.log.String(), testToken) {
				t.Errorf("the token is in %v or %s", err, m.log)
			}
		})
	}
	srv.answer(nil)
	for name, token := range map[string]Token{"wrong": "wrong", "none": ""} {
		s := m.store(t, srv.remote(t, "origin.git", token))
		if _, err := s.Fetch(t.Context(), ours); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("%s token: %v", name, err)
		}
		s.Close()
	}
	srv.Close()
	if _, err := m.store(t, srv.remote(t, "origin.git", testToken)).Fetch(t.Context(), ours); !errors.Is(err, ErrUnavailable) {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestAHistoryLargerThanTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.host.limits.storeFile = 64 << 10
	origin := m.origin(t)
	noise := make([]byte, 300<<10)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	commit(t, origin, "main", "big", string(noise))
	s := m.store(t, remoteAt(t, origin))
	if _, err := s.Fetch(t.Context(), ours); !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "larger than the limit") {
		t.Errorf("the error is %v", err)
	}
	if left := packFolderOf(t, s); len(left) > 0 {
		t.Errorf("half packs are left: %v", left)
	}
}

// Defects that old programs wrote into history do not make a repository refused; a name
// that git must not check out does.
func TestOldHistoryIsFetchedAndHostileHistoryIsNot(t *testing.T) {
	t.Parallel()
	object := func(t *testing.T, origin, kind, text string) string {
		t.Helper()
		out, err := plain(t, origin, text, "hash-object", "-t", kind, "--literally", "-w", "--stdin")
		if err != nil {
			t.Fatal(out)
		}
		return out
	}
	for name, c := range map[string]struct {
		mode, name, author string
		taken              bool
	}{
		"ordinary":      {"100644", "a", "A <a@b> 1 +0000", true},
		"a padded mode": {"0100644", "a", "A <a@b> 1 +0000", true},
		"no address":    {"100644", "a", "A 1 +0000", true},
		"no time zone":  {"100644", "a", "A <a@b> 1 0", true},
		"a padded time": {"100644", "a", "A <a@b> 01 +0000", true},
		"the name .git": {"100644", ".git", "A <a@b> 1 +0000", false},
		"the name ..":   {"100644", "..", "A <a@b> 1 +0000", false},
	} {
		m := newMachine(t)
		origin := m.origin(t)
		blob := id(t, object(t, origin, "blob", "x"))
		tree := object(t, origin, "tree", entry(c.mode, c.name, blob))
		head := object(t, origin, "commit", "tree "+tree+"\nauthor "+c.author+"\ncommitter "+c.author+"\n\nold\n")
		git(t, origin, "update-ref", "refs/heads/main", head)
		f, err := m.store(t, remoteAt(t, origin)).Fetch(t.Context(), ours)
		if c.taken && (err != nil || f.Head.String() != head) {
			t.Errorf("%s: %v", name, err)
		}
		if !c.taken && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "malformed")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A loop that fetches for months does not collect packs without end, and an object that
// a session started from is kept after its branch is gone.
func TestManyPacksAreJoined(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.host.limits.packFiles = 3
	origin := m.origin(t)
	s := m.store(t, remoteAt(t, origin))
	old := commit(t, origin, "symphony/GH-1", "old", "old")
	fetch(t, s, ours)
	git(t, origin, "branch", "-D", "symphony/GH-1")
	for _, text := range []string{"1", "2", "3", "4", "5"} {
		commit(t, origin, "main", "a", text)
		fetch(t, s, ours)
	}
	if packs, _ := s.packFiles(); len(packs) > 3*3 {
		t.Errorf("the store has %v", packs)
	}
	git(t, s.repository(), "cat-file", "-e", old.String()+"^{tree}")
}

func TestADamageFoundByTheFirstFetchIsRepaired(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	origin := m.origin(t)
	s := m.store(t, remoteAt(t, origin))
	fetch(t, s, ours)
	s.Close()
	pack := strings.TrimSuffix(globOne(t, filepath.Join(s.repository(), "objects/pack/*.pack")), ".pack")
	// The content of the pack is lost; its end, and so every quick check, is as it was.
	text := []byte(read(t, pack+".pack"))
	commit(t, origin, "main", "a", "a")
	for i := 12; i < len(text)-20; i++ {
		text[i] = 0
	}
	os.Chmod(pack+".pack", 0o600)
	write(t, pack+".pack", string(text))
	s = m.store(t, s.remote)
	if f := fetch(t, s, ours); f.Head != headOf(t, origin, "main") {
		t.Errorf("fetched %+v", f)
	}
	git(t, s.repository(), "fsck", "--strict")
	if !strings.Contains(m.log.String(), "made again") {
		t.Errorf("log: %s", m.log)
	}
}

func globOne(t testing.TB, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names[0]
}

func FuzzListingsOfARemote(f *testing.F) {
	f.Add("ref: refs/heads/main\tHEAD\n" + strings.Repeat("a", 40) + "\tHEAD\n")
	f.Add("ref: refs/heads/../x\tHEAD\n")
	f.Add(strings.Repeat("a", 64) + "\trefs/heads/main\n")
	f.Add("\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseListing(text)
		if err != nil {
			return
		}
		if _, err := ParseBranch(l.head.String()); err != nil && !l.head.IsZero() {
			t.Errorf("%q has the default branch %q", text, l.head)
		}
		for ref, id := range l.refs {
			if !strings.Contains(text, id.String()+"\t"+ref) {
				t.Errorf("%q has %s at %q", text, id, ref)
			}
		}
	})
}
