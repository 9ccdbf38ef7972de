package git

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// said is what the host's commit says.
var said = Commit{
	Author:    Person{"Symphony", "symphony@example.com", time.Unix(1700000000, 0)},
	Committer: Person{"Symphony", "symphony@example.com", time.Unix(1700000000, 0)},
	Message:   "Do the work\n\nThe agent's words.\n\nCo-authored-by: Agent <agent@example.com>\n",
}

func squash(t testing.TB, in *Incoming, allowed []Change, onto ObjectID) ObjectID {
	t.Helper()
	made, err := in.Squash(t.Context(), allowed, onto, said)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// inQuarantine runs git in a quarantine for a look at it.
func inQuarantine(t testing.TB, in *Incoming, args ...string) string {
	t.Helper()
	return git(t, in.dir, args...)
}

func TestTheHostsCommitHasTheAllowedChangesAndNothingElse(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one")
	write(t, filepath.Join(folder, ".github/workflows/evil.yml"), "evil")
	write(t, filepath.Join(folder, "secret"), "secret")
	git(t, folder, "add", "-A")
	git(t, folder, "commit", "-q", "-m", "work\n\nCloses #1", "--author=Boss <boss@example.com>")
	remove(t, filepath.Join(folder, "secret"))
	remove(t, filepath.Join(folder, "README.md"))
	write(t, filepath.Join(folder, "src/main.go"), "changed")
	in := d.receive(t, d.harvest(t, folder))
	allowed := slices.DeleteFunc(changes(t, in), func(c Change) bool { return strings.HasPrefix(c.Path, ".github/") })
	made := squash(t, in, allowed, ObjectID{})

	if got := inQuarantine(t, in, "ls-tree", "-r", "--name-only", made.String()); got != "a\nsrc/main.go" {
		t.Errorf("the commit has the files %q", got)
	}
	want := "tree " + inQuarantine(t, in, "rev-parse", made.String()+"^{tree}") + "\nparent " + d.from.Start.String() +
		"\nauthor Symphony <symphony@example.com> 1700000000 +0000\ncommitter Symphony <symphony@example.com> 1700000000 +0000\n\n" +
		"Do the work\n\nThe agent's words.\n\nCo-authored-by: Agent <agent@example.com>"
	if got := inQuarantine(t, in, "cat-file", "commit", made.String()); got != want {
		t.Errorf("the commit is\n%s\nwant\n%s", got, want)
	}
	objects := inQuarantine(t, in, "rev-list", "--objects", "--no-object-names", made.String(), "^"+d.from.Start.String())
	if secret := objectID("blob", []byte("secret")).String(); strings.Contains(objects, secret) {
		t.Error("what the agent deleted again is in the commit's history")
	}
	if again := squash(t, in, allowed, ObjectID{}); again != made {
		t.Errorf("the same again is %s, not %s", again, made)
	}
	if _, err := in.Squash(t.Context(), nil, ObjectID{}, said); !errors.Is(err, ErrNothingNew) {
		t.Errorf("nothing: %v", err)
	}
	if out := inQuarantine(t, in, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		t.Error(out)
	}
}

func TestFilesAndFoldersTakeEachOthersPlace(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "GH-1")
	remove(t, filepath.Join(folder, "src"))
	write(t, filepath.Join(folder, "src"), "a file now")
	remove(t, filepath.Join(folder, "README.md"))
	write(t, filepath.Join(folder, "README.md/x/y"), "a folder now")
	in := d.receive(t, d.harvest(t, folder))
	all := changes(t, in)
	made := squash(t, in, all, ObjectID{})
	if got, want := inQuarantine(t, in, "rev-parse", made.String()+"^{tree}"), inQuarantine(t, in, "rev-parse", in.Tip.String()+"^{tree}"); got != want {
		t.Errorf("the trees differ: %s", inQuarantine(t, in, "ls-tree", "-r", made.String()))
	}
	// Without the deletion of the file the folder would push it aside.
	part := slices.DeleteFunc(slices.Clone(all), func(c Change) bool { return c.Path == "README.md" })
	if _, err := in.Squash(t.Context(), part, ObjectID{}, said); !errors.Is(err, ErrRefused) {
		t.Errorf("half of it: %v", err)
	}
}

func TestAChangeThatTheAgentDidNotMakeIsARefusal(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	blob := p.blob("x")
	in := d.receive(t, p.harvested(p.commit(p.tree(entry("100644", "a", blob)), d.from.Start)))
	for _, path := range []string{".git/config", "a/../b", "/a", "a//b", "", ".", "x/.GIT/y", "b"} {
		if _, err := in.Squash(t.Context(), []Change{{Path: path, NewMode: ModeFile, New: blob}}, ObjectID{}, said); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", path, err)
		}
	}
	other := changes(t, in)
	other[len(other)-1].NewMode = ModeExecutable
	if _, err := in.Squash(t.Context(), other, ObjectID{}, said); !errors.Is(err, ErrRefused) {
		t.Errorf("another mode: %v", err)
	}
}

// The trees that are written here are those that git writes, for any two states.
func TestTreesAreThoseThatGitWrites(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	names := []string{"a", "a.b", "a/b", "a/b/c", "a/b.c", "a0", "b/x", "b-x", "b.x", "README.md", "src/main.go", "src/x/y", "src.go"}
	random := rand.New(rand.NewPCG(1, 2))
	p := &packWriter{}
	history := []ObjectID{d.from.Start}
	for range 40 {
		files := map[string]string{}
		for _, i := range random.Perm(len(names))[:random.IntN(len(names))] {
			clash := false
			for other := range files {
				clash = clash || strings.HasPrefix(names[i], other+"/") || strings.HasPrefix(other, names[i]+"/")
			}
			if !clash {
				files[names[i]] = fmt.Sprint(random.IntN(2))
			}
		}
		history = append(history, p.commit(packTree(p, files), history[len(history)-1]))
	}
	in := d.receive(t, p.harvested(history[len(history)-1]))
	for i, tip := range history[1:] {
		in.MergeBase, in.Tip, in.work = history[i], tip, nil
		all := changes(t, in)
		made, err := in.Squash(t.Context(), all, ObjectID{}, said)
		if len(all) == 0 && errors.Is(err, ErrNothingNew) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := inQuarantine(t, in, "rev-parse", made.String()+"^{tree}"), inQuarantine(t, in, "rev-parse", tip.String()+"^{tree}"); got != want {
			t.Errorf("the tree is\n%s\nwant\n%s", inQuarantine(t, in, "ls-tree", "-r", got), inQuarantine(t, in, "ls-tree", "-r", want))
		}
	}
}

// packTree adds the trees of files to a pack.
func packTree(p *packWriter, files map[string]string) ObjectID {
	entries := map[string]treeEntry{}
	folders := map[string]map[string]string{}
	for path, text := range files {
		name, rest, isFolder := strings.Cut(path, "/")
		if !isFolder {
			entries[name] = treeEntry{name, ModeFile, p.blob(text)}
			continue
		}
		if folders[name] == nil {
			folders[name] = map[string]string{}
		}
		folders[name][rest] = text
	}
	for name, files := range folders {
		entries[name] = treeEntry{name, ModeFolder, packTree(p, files)}
	}
	return p.add("tree", formatTree(entries))
}

func TestTheCommitFollowsTheBranchAndANewerBase(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	start := d.from.Start
	pushed := commit(t, d.origin, "symphony/GH-1", "a", "first delivery")
	d.from.Start = pushed
	f := fetch(t, d.store, ours)
	work := func(merge bool) string {
		folder := populateFrom(t, d.machine, d.store, fmt.Sprint("GH-1-", merge), Checkout{Base: f.Base, BaseHead: f.Head, Branch: branch(t, "symphony/GH-1"), Head: pushed, Pushed: pushed, User: person})
		write(t, filepath.Join(folder, "b"), "second delivery")
		if merge {
			git(t, folder, "fetch", "-q", d.origin, "main")
			git(t, folder, "merge", "-q", "-m", "merge", "FETCH_HEAD")
		}
		return folder
	}
	parents := func(in *Incoming, made ObjectID) string {
		return inQuarantine(t, in, "show", "-s", "--format=%P", made.String())
	}
	in := d.receive(t, d.harvest(t, work(false)))
	if got := parents(in, squash(t, in, changes(t, in), pushed)); in.MergeBase != start || got != pushed.String() {
		t.Errorf("the parents are %s", got)
	}
	if got := describe(changes(t, in)); got != "\"a\" 000000>100644 14\n\"b\" 000000>100644 15" {
		t.Errorf("changes\n%s", got)
	}
	moved := commit(t, d.origin, "main", "theirs", "theirs")
	fetch(t, d.store, ours)
	in = d.receive(t, d.harvest(t, work(true)))
	made := squash(t, in, changes(t, in), pushed)
	if got := parents(in, made); in.MergeBase != moved || got != pushed.String()+" "+moved.String() {
		t.Errorf("the parents are %s", got)
	}
	if got := inQuarantine(t, in, "ls-tree", "-r", "--name-only", made.String()); got != "README.md\na\nb\nsrc/main.go\ntheirs" {
		t.Errorf("files %q", got)
	}
}

func TestACommitSaysOnlyWhatACommitCanSay(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	in := d.receive(t, p.harvested(p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start)))
	all := changes(t, in)
	for name, change := range map[string]func(c *Commit){
		"no name":            func(c *Commit) { c.Author.Name = " " },
		"no address":         func(c *Commit) { c.Committer.Email = "" },
		"a line in the name": func(c *Commit) { c.Author.Name = "a\ncommitter b <b@c>" },
		"an angle bracket":   func(c *Commit) { c.Author.Email = "a@b> 1 +0000" },
		"no message":         func(c *Commit) { c.Message = " \n" },
		"a NUL":              func(c *Commit) { c.Message = "a\x00b" },
		"no time":            func(c *Commit) { c.Author.When = time.Time{} },
	} {
		c := said
		change(&c)
		if made, err := in.Squash(t.Context(), all, ObjectID{}, c); err == nil {
			t.Errorf("%s: %s", name, inQuarantine(t, in, "cat-file", "commit", made.String()))
		}
	}
	c := said
	c.Message = "--amend -F /etc/passwd\r\nnot UTF-8: \xff # comment"
	made, err := in.Squash(t.Context(), all, ObjectID{}, c)
	if err != nil || !strings.Contains(inQuarantine(t, in, "cat-file", "commit", made.String()), "\n\n--amend -F /etc/passwd\nnot UTF-8: \uFFFD # comment") {
		t.Errorf("%v: %s", err, inQuarantine(t, in, "cat-file", "commit", made.String()))
	}
}

// Modes that git no longer writes are common in old history; they are not the agent's
// change, and no reason to refuse it.
func TestOldModesInTheBaseAreNoChange(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	blob := id(t, func() string { out, _ := plain(t, d.origin, "old", "hash-object", "-w", "--stdin"); return out }())
	tree, err := plain(t, d.origin, entry("100664", "old", blob), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
	if err != nil {
		t.Fatal(tree)
	}
	git(t, d.origin, "update-ref", "refs/heads/main", git(t, d.origin, "commit-tree", "-m", "old", tree))
	d.from.Start = fetch(t, d.store, ours).Head
	folder := d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "a"), "one")
	in := d.receive(t, d.harvest(t, folder))
	all := slices.DeleteFunc(changes(t, in), func(c Change) bool { return c.Path == "old" })
	made := squash(t, in, all, ObjectID{})
	if got := inQuarantine(t, in, "ls-tree", "-r", "--name-only", made.String()); got != "a\nold" {
		t.Errorf("files %q", got)
	}
}

func TestACancelledComparisonSaysSo(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	p := &packWriter{}
	in := d.receive(t, p.harvested(p.commit(p.tree(entry("100644", "a", p.blob("x"))), d.from.Start)))
	stop := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := in.Changes(ctx, in.MergeBase, in.Tip); !errors.Is(err, stop) && !errors.Is(err, context.Canceled) || errors.Is(err, ErrRefused) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(in.dir); err != nil {
		t.Error(err)
	}
}
