package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	return m.deliver(t, m.origin(t))
}

// deliver returns the delivery of an origin.
func (m *machine) deliver(t testing.TB, origin string) *delivery {
	t.Helper()
	d := &delivery{machine: m, origin: origin, store: m.store(t, remoteAt(t, origin))}
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
	return []byte(runAsAgent(t, folder, "", d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{})))
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
	if len(in.Commits) != 3 || in.MergeBase != d.from.Start || in.Untaken.Count != 0 || in.Commits[0] != in.Tip {
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
	check("a nested repository", "what git cannot take: nested/ (a repository of its own)")
	remove(t, filepath.Join(folder, "nested"))
	commit(t, d.origin, "main", "a", "a")
	d.from.Start = fetch(t, d.store, ours).Head
	folder = d.workspace(t, "GH-2")
	git(t, folder, "reset", "-q", "--hard", "HEAD~1")
	if _, err := d.store.Receive(t.Context(), bytes.NewReader(d.harvest(t, folder)), d.from); !errors.Is(err, ErrNothingNew) {
		t.Errorf("an older commit: %v", err)
	}
}

// noise holds 40 MiB that cannot be compressed.
var noise = sync.OnceValue(func() []byte {
	b := make([]byte, 40<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(b) // never fails
	return b
})

// What git cannot take is left out by itself, with its name.
func TestWhatGitCannotTakeIsLeftOutByItself(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	const large, repository, unreadable = "larger than 32 MiB", "a repository of its own", "git cannot read or encode it"
	for name, test := range map[string]struct {
		make func(t *testing.T, folder string)
		want Untaken
	}{
		"a large file": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "big file"), string(noise()))
		}, Untaken{1, []Path{{"big file", large}}}},
		"an encoding": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, ".gitattributes"), "*.rc working-tree-encoding=UTF-16\n")
			write(t, filepath.Join(folder, "src/app.rc"), "no UTF-16")
		}, Untaken{1, []Path{{"src/app.rc", unreadable}}}},
		"a changed file of another encoding": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, ".gitattributes"), "README.md working-tree-encoding=UTF-16\n")
			write(t, filepath.Join(folder, "README.md"), "no UTF-16")
		}, Untaken{1, []Path{{"README.md", unreadable}}}},
		"a nested repository": {func(t *testing.T, folder string) {
			git(t, folder, "init", "-q", "nested")
			write(t, filepath.Join(folder, "nested", "x"), "x")
		}, Untaken{1, []Path{{"nested/", repository}}}},
		"a nested repository with commits": {func(t *testing.T, folder string) {
			git(t, folder, "init", "-q", "its own")
			git(t, filepath.Join(folder, "its own"), "commit", "-q", "--allow-empty", "-m", "one")
			write(t, filepath.Join(folder, "its own", "x"), "x")
		}, Untaken{1, []Path{{"its own/", repository}}}},
		"a nested repository that is staged": {func(t *testing.T, folder string) {
			git(t, folder, "init", "-q", "nested")
			git(t, filepath.Join(folder, "nested"), "commit", "-q", "--allow-empty", "-m", "one")
			git(t, folder, "add", "nested")
		}, Untaken{1, []Path{{"nested/", repository}}}},
		"many of all kinds": {func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, ".gitattributes"), "*.rc working-tree-encoding=UTF-16\n")
			for i := range 25 {
				write(t, filepath.Join(folder, fmt.Sprintf("r/%02d.rc", i)), "no UTF-16")
			}
			git(t, folder, "init", "-q", "e nested")
			write(t, filepath.Join(folder, "big"), string(noise()[:33<<20]))
			write(t, filepath.Join(folder, "odd\nname.rc"), "no UTF-16")
		}, Untaken{28, []Path{
			{"big", large}, {"e nested/", repository}, {`"odd\nname.rc"`, unreadable},
			{"r/00.rc", unreadable}, {"r/01.rc", unreadable}, {"r/02.rc", unreadable}, {"r/03.rc", unreadable}, {"r/04.rc", unreadable},
			{"r/05.rc", unreadable}, {"r/06.rc", unreadable}, {"r/07.rc", unreadable}, {"r/08.rc", unreadable}, {"r/09.rc", unreadable},
			{"r/10.rc", unreadable}, {"r/11.rc", unreadable}, {"r/12.rc", unreadable}, {"r/13.rc", unreadable}, {"r/14.rc", unreadable},
			{"r/15.rc", unreadable}, {"r/16.rc", unreadable},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := d.workspace(t, strings.ReplaceAll(name, " ", "-"))
			write(t, filepath.Join(folder, "a"), "one")
			git(t, folder, "add", "-A")
			git(t, folder, "commit", "-q", "-m", "work")
			write(t, filepath.Join(folder, "z"), "two")
			remove(t, filepath.Join(folder, "src/main.go"))
			write(t, filepath.Join(folder, "src/main.go/now a folder"), "")
			test.make(t, folder)
			in := d.receive(t, d.harvest(t, folder))
			if diff := cmp.Diff(test.want, in.Untaken); diff != "" {
				t.Error(diff)
			}
			var got []string
			for _, c := range changes(t, in) {
				if c.Path != ".gitattributes" {
					got = append(got, c.Path)
				}
			}
			if diff := cmp.Diff([]string{"a", "src/main.go", "src/main.go/now a folder", "z"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFolderThatCannotBeOpenedIsNamed(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root opens every folder")
	}
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "closed", "x"), "x")
	write(t, filepath.Join(folder, "z"), "two")
	if err := os.Chmod(filepath.Join(folder, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(folder, "closed"), 0o700) })
	in := d.receive(t, d.harvest(t, folder))
	if diff := cmp.Diff(Untaken{1, []Path{{"closed", "git cannot read or encode it"}}}, in.Untaken); diff != "" {
		t.Error(diff)
	}
	if got := describe(changes(t, in)); got != `"z" 000000>100644 3` {
		t.Error(got)
	}
}

func TestTheListOfUntakenPathsSaysHowManyMore(t *testing.T) {
	t.Parallel()
	u := Untaken{3, []Path{{"a", "larger than 32 MiB"}, {"b/", "a repository of its own"}}}
	if got := u.String(); got != "a (larger than 32 MiB), b/ (a repository of its own), 1 more" {
		t.Error(got)
	}
	if got := (Untaken{}).String(); got != "" {
		t.Error(got)
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

// An agent goes back to a commit of the base that has a file which the base has dropped
// since. No change of its work shows the file, but the branch would have it.
func TestWorkOnAnOlderBaseIsRefused(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	old := commit(t, d.origin, "main", "dangerous", "x")
	remove := "commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 6\nremove\nfrom " + old.String() + "\nD dangerous\n"
	if out, err := plain(t, d.origin, remove, "fast-import", "--quiet"); err != nil {
		t.Fatal(out)
	}
	fetched := fetch(t, d.store, ours)
	for name, c := range map[string]struct {
		start   ObjectID
		reset   string
		refused bool
	}{
		"the base":                           {fetched.Head, "HEAD", false},
		"an older base":                      {fetched.Head, "HEAD~1", true},
		"a newer base than at the beginning": {d.from.Start, fetched.Head.String(), false},
		"an older base that was the first":   {old, "HEAD", false},
	} {
		t.Run(name, func(t *testing.T) {
			from := From{c.start, d.from.Base}
			folder := populate(t, d.machine, d.store, Fetched{Base: from.Base, Head: fetched.Head}, strings.ReplaceAll(name, " ", "-"))
			if c.start == old {
				git(t, folder, "reset", "-q", "--hard", old.String())
			}
			git(t, folder, "reset", "-q", "--hard", c.reset)
			write(t, filepath.Join(folder, "a"), "one")
			git(t, folder, "add", "-A")
			git(t, folder, "commit", "-q", "-m", "work")
			if got := git(t, folder, "diff", "--name-only", fetched.Head.String()+"...HEAD"); got != "a" {
				t.Errorf("a naive host sees %q", got)
			}
			harvest := []byte(runAsAgent(t, folder, "", d.host.Harvest(from.Start, t.TempDir(), WorkTree{})))
			in, err := d.store.Receive(t.Context(), bytes.NewReader(harvest), from)
			if in != nil {
				in.Close()
			}
			if !c.refused && err != nil || c.refused && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "on which the session began; start again from origin/main")) {
				t.Errorf("the error is %v", err)
			}
		})
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
		"nothing":              {nil, "ended in the line"},
		"no line":              {bytes.Repeat([]byte("x"), 1000), "begins with"},
		"another line":         {line("hello"), "begins with"},
		"control characters":   {line("\x1b[2J::error::"), "begins with"},
		"an option":            {line("symphony-pack --all --all all"), "begins with"},
		"another word":         {line("symphony-pack " + tip.String() + " " + tip.String() + " much"), "begins with"},
		"no count":             {line("symphony-pack " + tip.String() + " " + tip.String() + " 0"), "begins with"},
		"a path without a why": {line("symphony-pack " + tip.String() + " " + tip.String() + " 1\n../x"), "names a path"},
		"a path is missing":    {line("symphony-pack " + tip.String() + " " + tip.String() + " 2\nlarge x"), "names a path"},
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
		d := m.deliver(t, m.origin(t))
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
