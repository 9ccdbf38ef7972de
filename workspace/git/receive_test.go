package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// delivery is a machine with an origin, a store that has fetched it, and what a session
// started from.
type delivery struct {
	*machine
	origin string
	store  *Store
	from   From
}

func newDelivery(t testing.TB) *delivery {
	t.Helper()
	m := newMachine(t)
	d := &delivery{machine: m, origin: m.origin(t)}
	d.store = m.store(t, remoteAt(t, d.origin))
	f := fetch(t, d.store, ours)
	d.from = From{Start: f.Head, Base: f.Base}
	return d
}

// workspace makes the workspace of an issue.
func (d *delivery) workspace(t testing.TB, key string) string {
	t.Helper()
	return populate(t, d.machine, d.store, Fetched{Base: d.from.Base, Head: d.from.Start}, key)
}

// harvest runs the harvest as the sandbox does.
func (d *delivery) harvest(t testing.TB, folder string) []byte {
	t.Helper()
	return []byte(runAsAgent(t, folder, "", d.host.Harvest(d.from.Start, t.TempDir())))
}

// receive takes a harvest, and closes it at the end of the test.
func (d *delivery) receive(t testing.TB, harvest []byte) *Incoming {
	t.Helper()
	in, err := d.store.Receive(t.Context(), bytes.NewReader(harvest), d.from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// refused checks that a harvest is refused for a reason, and that nothing of it is left.
func (d *delivery) refused(t testing.TB, harvest []byte, reason string) {
	t.Helper()
	in, err := d.store.Receive(t.Context(), bytes.NewReader(harvest), d.from)
	var refusal *Refusal
	if !errors.As(err, &refusal) || !errors.Is(err, ErrRefused) || !strings.Contains(refusal.Reason, reason) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v, want a refusal because of %q", err, reason)
	}
	if in != nil {
		in.Close()
	}
	d.nothingLeft(t)
}

// nothingLeft checks that neither the store nor its quarantines hold anything new.
func (d *delivery) nothingLeft(t testing.TB) {
	t.Helper()
	if left, _ := os.ReadDir(filepath.Join(d.store.dir, incomingName)); len(left) > 0 {
		t.Errorf("quarantines are left: %v", left)
	}
	if refs, err := d.store.refs(t.Context()); err != nil || len(refs) != 1 || refs["refs/remotes/origin/main"] != d.from.Start {
		t.Errorf("references of the store: %v, %v", refs, err)
	}
	packs, err := d.store.packFiles()
	loose, _ := filepath.Glob(filepath.Join(d.store.repository(), "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil || len(packs) > 3 || len(loose) > 0 { // a pack, its index and, of newer versions of git, the reverse one
		t.Errorf("objects of the store: %v, %v, %v", packs, loose, err)
	}
}

func changes(t testing.TB, in *Incoming) []Change {
	t.Helper()
	list, err := in.Changes(t.Context(), in.MergeBase, in.Tip)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func describe(list []Change) string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%q %v>%v %d%s", c.Path, c.OldMode, c.NewMode, c.Size, c.Target))
	}
	return strings.Join(lines, "\n")
}

func TestCommittedAndUncommittedWorkComesOutOfAWorkspace(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work")
	write(t, filepath.Join(folder, "b"), "secret")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "more work")
	remove(t, filepath.Join(folder, "b"))
	remove(t, filepath.Join(folder, "README.md"))
	write(t, filepath.Join(folder, "src"+"/main.go"), "package main // changed\n")
	if err := os.Chmod(filepath.Join(folder, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, ".git", "index.lock"), "")
	index := read(t, filepath.Join(folder, ".git", "index"))

	in := d.receive(t, d.harvest(t, folder))
	if len(in.Commits) != 3 || in.MergeBase != d.from.Start || in.Uncommitted != TakenAll || in.Commits[0] != in.Tip {
		t.Errorf("incoming is %+v", in)
	}
	want := `"README.md" 100644>000000 0
"a" 000000>100755 3
"link" 000000>120000 11/etc/passwd
"src/main.go" 100644>100644 24`
	if got := describe(changes(t, in)); got != want {
		t.Errorf("changes\n%s\nwant\n%s", got, want)
	}
	// The scan for secrets sees what was committed and deleted again.
	var ids []ObjectID
	for _, object := range in.Objects {
		if object.Type == "blob" {
			ids = append(ids, object.ID)
		}
	}
	var texts []string
	err := in.ReadObjects(t.Context(), ids, func(o Object, r io.Reader) error {
		b, err := io.ReadAll(r)
		if int64(len(b)) != o.Size {
			t.Errorf("%v has %d bytes", o, len(b))
		}
		texts = append(texts, string(b))
		return err
	})
	if slices.Sort(texts); err != nil || !slices.Equal(texts, []string{"/etc/passwd", "one", "package main // changed\n", "secret"}) {
		t.Errorf("contents %q, %v", texts, err)
	}
	if read(t, filepath.Join(folder, ".git", "index")) != index || git(t, folder, "count-objects") == "" {
		t.Error("the harvest changed the agent's index")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	d.nothingLeft(t)
}

func TestNoWorkIsNothingNew(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	check := func(name, says string) {
		t.Helper()
		if _, err := d.store.Receive(t.Context(), bytes.NewReader(d.harvest(t, folder)), d.from); !errors.Is(err, ErrNothingNew) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		d.nothingLeft(t)
	}
	check("nothing", "nothing_new")
	git(t, folder, "init", "-q", "nested")
	write(t, filepath.Join(folder, "nested", "x"), "x")
	check("a nested repository", "nested repositories")
	remove(t, filepath.Join(folder, "nested"))
	commit(t, d.origin, "main", "a", "a")
	d.from.Start = fetch(t, d.store, ours).Head
	folder = d.workspace(t, "GH-2")
	git(t, folder, "reset", "-q", "--hard", "HEAD~1")
	if _, err := d.store.Receive(t.Context(), bytes.NewReader(d.harvest(t, folder)), d.from); !errors.Is(err, ErrNothingNew) {
		t.Errorf("an older commit: %v", err)
	}
}

func TestAFileThatIsTooLargeLeavesOutWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work")
	noise := make([]byte, 40<<20)
	for i, x := 0, uint64(88172645463325252); i+8 <= len(noise); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		copy(noise[i:], []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24), byte(x >> 32), byte(x >> 40), byte(x >> 48), byte(x >> 56)})
	}
	write(t, filepath.Join(folder, "big"), string(noise))
	in := d.receive(t, d.harvest(t, folder))
	if got := describe(changes(t, in)); in.Uncommitted != TakenNone || got != `"a" 000000>100644 3` {
		t.Errorf("%v\n%s", in.Uncommitted, got)
	}
}

// The agent merged what others did; that is not its work.
func TestWorkIsComparedWithTheMergeBase(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work")
	moved := commit(t, d.origin, "main", "theirs", "theirs")
	fetch(t, d.store, ours)
	git(t, folder, "fetch", "-q", d.origin, "main")
	git(t, folder, "merge", "-q", "-m", "merge", "FETCH_HEAD")
	in := d.receive(t, d.harvest(t, folder))
	if got := describe(changes(t, in)); got != `"a" 000000>100644 3` || in.MergeBase != moved || len(in.Commits) != 2 {
		t.Errorf("merge base %s, commits %v\n%s", in.MergeBase, in.Commits, got)
	}
}

func TestAnotherHistoryIsRefused(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	tip := p.commit(p.tree(entry("100644", "a", p.blob("x"))))
	if err := fetchBundle(t, d.machine, d.origin, writeFile(t, d.path("bundle"), p.bundle(tip, d.from.Start))); err != nil {
		t.Errorf("a naive host takes it: %v", err)
	}
	d.refused(t, p.harvested(tip), "no commit in common with main")
}

func writeFile(t testing.TB, path string, b []byte) string {
	t.Helper()
	write(t, path, string(b))
	return path
}

// Each of these objects is refused. On git before 2.46 a naive host that fetches a
// bundle takes most of them, though it asks git to check.
func TestHostileObjectsAreRefused(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	blob := objectID("blob", []byte("x"))
	type hostile struct {
		build func(p *packWriter) ObjectID // returns the tip
		naive bool                         // whether the naive host takes it
	}
	named := func(name string) hostile {
		return hostile{func(p *packWriter) ObjectID {
			p.blob("x")
			return p.commit(p.tree(entry("100644", name, blob)), d.from.Start)
		}, true}
	}
	tree := func(naive bool, entries ...string) hostile {
		return hostile{func(p *packWriter) ObjectID {
			p.blob("x")
			return p.commit(p.tree(entries...), d.from.Start)
		}, naive}
	}
	commit := func(naive bool, text string) hostile {
		return hostile{func(p *packWriter) ObjectID {
			tree := p.tree(entry("100644", "a", p.blob("x")))
			return p.add("commit", []byte(strings.NewReplacer("TREE", tree.String(), "BASE", d.from.Start.String()).Replace(text)))
		}, naive}
	}
	cases := map[string]hostile{
		"mode 100777":             tree(true, entry("100777", "a", blob)),
		"mode 100664":             tree(true, entry("100664", "a", blob)),
		"mode 010644":             tree(true, entry("10644", "a", blob)),
		"padded mode":             tree(true, entry("0100644", "a", blob)),
		"duplicates":              tree(true, entry("100644", "a", blob), entry("100755", "a", blob)),
		"not sorted":              tree(true, entry("100644", "b", blob), entry("100644", "a", blob)),
		"file and folder":         tree(true, entry("100644", "a", blob), entry("40000", "a", objectID("tree", nil))),
		"no name":                 tree(false, entry("100644", "", blob)),
		"no id":                   tree(false, entry("100644", "a", ObjectID{})),
		"missing blob":            tree(false, entry("100644", "a", ObjectID{1})),
		"missing folder":          tree(false, entry("40000", "a", ObjectID{1})),
		"a folder that is a file": tree(false, entry("40000", "a", blob)),
		"cut folder":              tree(false, "100644 a\x00123"),
		"missing parent": {func(p *packWriter) ObjectID {
			return p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start, ObjectID{1})
		}, false},
		"a link as .gitmodules": tree(true, entry("120000", ".gitmodules", blob)),
		"an option in .gitmodules": {func(p *packWriter) ObjectID {
			return p.commit(p.tree(entry("100644", ".gitmodules", p.blob("[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n"))), d.from.Start)
		}, true},
		"a path in .gitmodules": {func(p *packWriter) ObjectID {
			return p.commit(p.tree(entry("100644", ".gitmodules", p.blob("[submodule \"../../x\"]\n\tpath = x\n\turl = https://x/y\n"))), d.from.Start)
		}, true},
		"no address":    commit(true, "tree TREE\nparent BASE\nauthor A 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\n"),
		"no author":     commit(true, "tree TREE\nparent BASE\ncommitter A <a@b> 1700000000 +0000\n\nx\n"),
		"a NUL":         commit(true, "tree TREE\nparent BASE\nauthor A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\x00y\n"),
		"the year 2^64": commit(true, "tree TREE\nparent BASE\nauthor A <a@b> 18446744073709551616 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\n"),
	}
	for _, name := range []string{".git", ".GIT", ".gIt", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", ".g\u200cit", "..", ".", "a/b"} {
		cases[fmt.Sprintf("name %q", name)] = named(name)
	}
	taken := 0
	for name, c := range cases {
		p := &packWriter{}
		tip := c.build(p)
		naive := fetchBundle(t, d.machine, d.origin, writeFile(t, d.path("bundle"), p.bundle(tip, d.from.Start)))
		if (naive == nil) == c.naive {
			taken++
		} else if d.host.version.less(version{2, 46, 0}) {
			t.Errorf("%s: a naive host: %v", name, naive)
		}
		t.Run(name, func(t *testing.T) {
			in, err := d.store.Receive(t.Context(), bytes.NewReader(p.harvested(tip)), d.from)
			if err == nil { // versions of git differ in what they say about modes
				_, err = in.Changes(t.Context(), in.MergeBase, in.Tip)
				in.Close()
			}
			if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
			d.nothingLeft(t)
		})
	}
	t.Logf("%d of %d cases do to a naive host what they are meant to", taken, len(cases))
}

// What git's check lets through comes out as it is, for the policy.
func TestOddNamesAndModesReachTheCallerAsTheyAre(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	blob := p.blob("x")
	target := p.blob("/etc/passwd")
	names := []string{"-rf", "A", "a", "a\nb", "a\x1b[0m", "con", "x:y", "\\\\srv", "\xff\xfe", strings.Repeat("n", 4000)}
	slices.Sort(names)
	var entries []string
	for _, name := range names {
		entries = append(entries, entry("100644", name, blob))
	}
	tree := p.tree(append(entries, entry("120000", "\xff\xff1", target), entry("160000", "\xff\xff2", ObjectID{7}))...)
	tip := p.commit(tree, d.from.Start)
	in := d.receive(t, p.harvested(tip))
	var got []string
	for _, c := range changes(t, in) {
		switch {
		case c.NewMode == 0:
			continue
		case c.NewMode == ModeLink && c.Target != "/etc/passwd", c.NewMode == ModeSubmodule && c.New != ObjectID{7}:
			t.Errorf("change %+v", c)
		}
		got = append(got, c.Path)
	}
	if want := append(names, "\xff\xff1", "\xff\xff2"); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
}

func TestAHarvestThatIsNoHarvestIsRefused(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	tip := p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start)
	whole := p.harvested(tip)
	head, pack, _ := bytes.Cut(whole, []byte("\n"))
	line := func(s string) []byte { return append([]byte(s+"\n"), pack...) }
	other := bytes.Clone(whole)
	other[len(other)-1] ^= 1
	broken := bytes.Clone(whole)
	broken[len(head)+30] ^= 0xff
	for name, c := range map[string]struct {
		harvest []byte
		reason  string
	}{
		"nothing":              {nil, "ended in its first line"},
		"no line":              {bytes.Repeat([]byte("x"), 1000), "begins with"},
		"another line":         {line("hello"), "begins with"},
		"control characters":   {line("\x1b[2J::error::"), "begins with"},
		"an option":            {line("symphony-pack --all --all all"), "begins with"},
		"another word":         {line("symphony-pack " + tip.String() + " " + tip.String() + " much"), "begins with"},
		"two spaces":           {line("symphony-pack  " + tip.String() + " " + tip.String() + " all"), "begins with"},
		"the zero id":          {line("symphony-pack " + tip.String() + " " + ObjectID{}.String() + " all"), "begins with"},
		"a tip that is absent": {line("symphony-pack " + tip.String() + " " + strings.Repeat("1", 40) + " all"), ""},
		"no pack":              {append(bytes.Clone(head), '\n'), "ends early"},
		"half a pack":          {whole[:len(whole)-25], "ends early"},
		"junk after the pack":  {append(bytes.Clone(whole), 'x'), "something follows"},
		"a wrong checksum":     {other, ""},
		"a broken object":      {broken, ""},
		"a pack after nothing": {line("symphony-pack " + d.from.Start.String() + " " + d.from.Start.String() + " all"), "something follows"},
	} {
		t.Run(name, func(t *testing.T) { d.refused(t, c.harvest, c.reason) })
	}
	for name, at := range map[string]int{"in the line": 10, "in the pack": len(whole) - 30, "at the end": len(whole)} {
		failed := errors.New("exit status 128")
		r := io.MultiReader(bytes.NewReader(whole[:at]), errorReader{failed})
		if _, err := d.store.Receive(t.Context(), r, d.from); !errors.Is(err, ErrRefused) || !errors.Is(err, failed) {
			t.Errorf("a harvest that fails %s: %v", name, err)
		}
		d.nothingLeft(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.store.Receive(ctx, bytes.NewReader(whole), d.from); !errors.Is(err, context.Canceled) || errors.Is(err, ErrRefused) {
		t.Errorf("a cancelled one: %v", err)
	}
	d.nothingLeft(t)
}

func TestACommitThatTheStoreDoesNotHaveIsNotTheAgentsFault(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	d.from.Start = commit(t, d.origin, "symphony/GH-1", "b", "not fetched")
	p := &packWriter{}
	tip := p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start)
	_, err := d.store.Receive(t.Context(), bytes.NewReader(p.harvested(tip)), d.from)
	if !errors.Is(err, ErrStore) || errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "fetch first") {
		t.Errorf("the start: %v", err)
	}
	d.from = From{Start: headOf(t, d.origin, "main"), Base: branch(t, "develop")}
	if _, err = d.store.Receive(t.Context(), bytes.NewReader(p.harvested(tip)), d.from); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "fetch first") {
		t.Errorf("the base: %v", err)
	}
	d.from.Base = branch(t, "main")
	d.nothingLeft(t)
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestBombsAreRefusedBeforeTheyCost(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	base := d.from.Start
	blobs := &packWriter{}
	for i := range d.host.limits.objects + 1 {
		blobs.blob(fmt.Sprint(i))
	}
	announced := &packWriter{}
	announced.object(3, 1<<30, nil, []byte("x"))
	longer := &packWriter{}
	longer.object(3, 10, nil, make([]byte, 1<<20))
	large := &packWriter{}
	for i := range 5 {
		large.blob(strings.Repeat(fmt.Sprint(i), 30<<20))
	}
	deltas, deltaTip := deltaBomb(base, nil, 64<<20)
	if err := fetchBundle(t, d.machine, d.origin, writeFile(t, d.path("bundle"), deltas.bundle(deltaTip, base))); err != nil {
		t.Errorf("a naive host takes the bomb of deltas: %v", err)
	}
	for name, c := range map[string]struct {
		p      *packWriter
		reason string
	}{
		"deltas":              {deltas, "an object has 67108864 bytes"},
		"an announced blob":   {announced, "an object has 1073741824 bytes"},
		"more than announced": {longer, "malformed"},
		"many blobs":          {blobs, "objects, the limit is"},
		"large blobs":         {large, "bytes together"},
	} {
		t.Run(name, func(t *testing.T) { d.refused(t, c.p.harvested(deltaTip), c.reason) })
	}
	small := *d.host
	small.limits.pack = 1000
	host := d.store.host
	d.store.host = &small
	d.refused(t, blobs.harvested(deltaTip), "larger than the limit")
	d.store.host = host
}

// A tree of 800 bytes has a thousand million paths; git diff-tree lists all of them
// before it prints the first.
func TestATreeWithoutEndIsRefusedByTheComparison(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p, tip := treeBomb(d.from.Start, 10, 5)
	bundle := writeFile(t, d.path("bundle"), p.bundle(tip, d.from.Start))
	if err := fetchBundle(t, d.machine, d.origin, bundle); err != nil {
		t.Errorf("a naive host takes it: %v", err)
	}
	for name, build := range map[string]func() (*packWriter, ObjectID){
		"wide": func() (*packWriter, ObjectID) { return treeBomb(d.from.Start, 10, 9) },
		"folders without files": func() (*packWriter, ObjectID) {
			p := &packWriter{}
			id := p.tree()
			for range 30 {
				id = p.tree(entry("40000", "a", id), entry("40000", "b", id))
			}
			return p, p.commit(id, d.from.Start)
		},
		"deep": func() (*packWriter, ObjectID) { return treeBomb(d.from.Start, 1, 200) },
		"long": func() (*packWriter, ObjectID) {
			p := &packWriter{}
			return p, p.commit(p.tree(entry("100644", strings.Repeat("n", 5000), p.blob("x"))), d.from.Start)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, tip := build()
			in, err := d.store.Receive(t.Context(), bytes.NewReader(p.harvested(tip)), d.from)
			if err == nil {
				_, err = in.Changes(t.Context(), in.MergeBase, in.Tip)
				in.Close()
			}
			if !errors.Is(err, ErrRefused) {
				t.Errorf("the error is %v", err)
			}
			d.nothingLeft(t)
		})
	}
}

// git itself dies of a tree that is deep enough.
func TestAVeryDeepTreeIsRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes 45,000 objects")
	}
	d := newDelivery(t)
	p, tip := treeBomb(d.from.Start, 1, 45_000)
	in, err := d.store.Receive(t.Context(), bytes.NewReader(p.harvested(tip)), d.from)
	if err == nil {
		_, err = in.Changes(t.Context(), in.MergeBase, in.Tip)
		in.Close()
	}
	if !errors.Is(err, ErrRefused) {
		t.Errorf("the error is %v", err)
	}
	d.nothingLeft(t)
}

func TestTheHarvestIsAPortableScript(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"dash", "bash", "sh"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("there is no %s here", shell)
			continue
		}
		m := newMachine(t)
		path, _ := exec.LookPath(shell)
		m.host.shell = path
		d := &delivery{machine: m, origin: m.origin(t)}
		d.store = m.store(t, remoteAt(t, d.origin))
		f := fetch(t, d.store, ours)
		d.from = From{f.Head, f.Base}
		folder := d.workspace(t, "GH-1")
		write(t, filepath.Join(folder, "a"), "one")
		if got := describe(changes(t, d.receive(t, d.harvest(t, folder)))); got != `"a" 000000>100644 3` {
			t.Errorf("%s: %s", shell, got)
		}
	}
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("there is no shellcheck here")
	}
	if out, err := exec.Command("shellcheck", "-s", "sh", "harvest.sh").CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %s", out)
	}
}

// Whatever the agent did to its repository, the harvest ends, and what it prints is taken
// or refused. Nothing outside the workspace changes.
func TestABrokenOrHostileRepositoryIsTakenOrRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(t *testing.T, folder, git string)
		taken bool
	}{
		"no repository":  {func(t *testing.T, folder, git string) { remove(t, git) }, false},
		"no HEAD":        {func(t *testing.T, folder, git string) { remove(t, filepath.Join(git, "HEAD")) }, false},
		"no objects":     {func(t *testing.T, folder, git string) { remove(t, filepath.Join(git, "objects")) }, false},
		"no commit":      {func(t *testing.T, folder, git string) { write(t, filepath.Join(git, "HEAD"), "ref: refs/heads/none\n") }, false},
		"a lock":         {func(t *testing.T, folder, git string) { write(t, filepath.Join(git, "index.lock"), "") }, true},
		"a broken index": {func(t *testing.T, folder, git string) { write(t, filepath.Join(git, "index"), "DIRC garbage") }, true},
		"another repository's objects": {func(t *testing.T, folder, dir string) {
			other := filepath.Join(folder, "..", "other")
			git(t, filepath.Dir(folder), "init", "-q", other)
			git(t, other, "commit", "-q", "--allow-empty", "-m", "other")
			write(t, filepath.Join(dir, "objects/info/alternates"), filepath.Join(other, ".git/objects")+"\n")
			write(t, filepath.Join(dir, "HEAD"), git(t, other, "rev-parse", "HEAD")+"\n")
		}, false},
		"a replaced commit": {func(t *testing.T, folder, dir string) {
			tree := git(t, folder, "rev-parse", "HEAD^{tree}")
			fake := git(t, folder, "commit-tree", "-m", "fake", tree)
			git(t, folder, "replace", "HEAD", fake)
		}, true},
		"a bare repository in the root": {func(t *testing.T, folder, dir string) {
			for _, name := range []string{"objects", "refs"} {
				os.Mkdir(filepath.Join(folder, name), 0o755)
			}
			write(t, filepath.Join(folder, "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(folder, "config"), "[core]\n\tbare = true\n\tfsmonitor = \"touch "+folder+"/../../ran\"\n")
		}, true},
		"programs in the configuration": {func(t *testing.T, folder, dir string) {
			git(t, folder, "config", "core.fsmonitor", "touch "+folder+"/../../ran")
			git(t, folder, "config", "core.hooksPath", folder+"/hooks")
			git(t, folder, "config", "gpg.program", folder+"/hooks/post-commit")
			git(t, folder, "config", "commit.gpgSign", "true")
			write(t, filepath.Join(folder, "hooks/post-commit"), "#!/bin/sh\ntouch "+folder+"/../../ran\n")
			os.Chmod(filepath.Join(folder, "hooks/post-commit"), 0o755)
		}, true},
		"a promisor": {func(t *testing.T, folder, dir string) {
			git(t, folder, "config", "remote.origin.promisor", "true")
			git(t, folder, "config", "remote.origin.url", "ext::touch "+folder+"/../../ran")
			git(t, folder, "config", "protocol.ext.allow", "always")
			git(t, folder, "config", "extensions.partialClone", "origin")
			git(t, folder, "config", "core.repositoryFormatVersion", "1")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDelivery(t)
			folder := d.workspace(t, "GH-1")
			write(t, filepath.Join(folder, "a"), "one")
			c.do(t, folder, filepath.Join(folder, ".git"))
			h := d.host.Harvest(d.from.Start, t.TempDir())
			cmd := exec.Command(h.Args[0], h.Args[1:]...)
			cmd.Dir, cmd.Env = folder, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, h.Env...)
			out, failed := cmd.Output()
			var r io.Reader = bytes.NewReader(out)
			if failed != nil {
				r = io.MultiReader(r, errorReader{failed})
			}
			in, err := d.store.Receive(t.Context(), r, d.from)
			if c.taken != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("taken: %v; %v", err == nil, err)
			}
			if in != nil {
				if list := describe(changes(t, in)); !strings.Contains(list, `"a" 000000>100644 3`) {
					t.Errorf("changes %s", list)
				}
				in.Close()
			}
			if exists(d.path("ran")) {
				t.Error("the harvest ran a program of the agent's configuration")
			}
			d.nothingLeft(t)
		})
	}
}

func FuzzFirstLineOfAHarvest(f *testing.F) {
	f.Add("symphony-pack " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40) + " all")
	f.Add("symphony-pack")
	f.Fuzz(func(t *testing.T, line string) {
		h, err := parseHeader(line)
		if again := fmt.Sprintf("symphony-pack %s %s %s", h.head, h.tip, h.taken); err == nil && again != line {
			t.Errorf("%q is read as %q", line, again)
		}
	})
}

func FuzzPacks(f *testing.F) {
	p := &packWriter{}
	p.commit(p.tree(entry("100644", "a", p.blob("x"))))
	p.object(referenceDelta, 4, make([]byte, 20), []byte{1, 1, 1, 'x'})
	p.object(offsetDelta, 4, []byte{0x81, 1}, []byte{1, 1, 1, 'x'})
	f.Add(p.pack())
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00"))
	l := defaultLimits
	l.pack, l.object, l.contents = 1<<20, 1<<20, 1<<20
	f.Fuzz(func(t *testing.T, pack []byte) {
		var copied bytes.Buffer
		n, err := copyPack(&copied, bytes.NewReader(pack), l)
		if err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("the error is %v", err)
		}
		if err == nil && (!bytes.Equal(copied.Bytes(), pack) || n > l.objects) {
			t.Errorf("%d objects, %d bytes of %d", n, copied.Len(), len(pack))
		}
	})
}

func FuzzTreesAndObjectLines(f *testing.F) {
	f.Add([]byte(entry("100644", "a", ObjectID{1})), strings.Repeat("a", 40)+" blob 12")
	f.Add([]byte("100644 a\x00"), "x missing")
	f.Fuzz(func(t *testing.T, tree []byte, line string) {
		if entries, err := parseTree(tree); err == nil {
			for _, e := range entries {
				if e.name == "" || strings.ContainsAny(e.name, "/\x00") || e.mode == 0 {
					t.Errorf("entry %+v", e)
				}
			}
		}
		if o, err := parseObjectLine(line); err == nil && (o.Size < 0 || !strings.HasPrefix(line, o.ID.String()+" "+o.Type+" ")) {
			t.Errorf("%q is %+v", line, o)
		}
	})
}
