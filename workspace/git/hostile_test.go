package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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

func TestBombsAreRefusedBeforeTheyCost(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	base := d.from.Start
	announced := &packWriter{}
	announced.object(3, 1<<30, nil, []byte("x"))
	longer := &packWriter{}
	longer.object(3, 10, nil, make([]byte, 1<<20))
	blobs := &packWriter{}
	for i := range 101 {
		blobs.blob(strings.Repeat(fmt.Sprint(i), 100))
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
	} {
		t.Run(name, func(t *testing.T) { d.refused(t, c.p.harvested(deltaTip), c.reason) })
	}
	host := d.store.host
	for reason, limit := range map[string]func(l *limits){
		"larger than the limit": func(l *limits) { l.pack = 1000 },
		"objects, the limit is": func(l *limits) { l.objects = 100 },
		"bytes together":        func(l *limits) { l.contents = 10_000 },
	} {
		small := *d.host.engine
		limit(&small.limits)
		d.store.host = &small
		d.refused(t, blobs.harvested(deltaTip), reason)
	}
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
			h := d.host.Harvest(d.from.Start, t.TempDir(), WorkTree{})
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
	f.Add("symphony-pack " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40) + " 12")
	f.Add("symphony-pack")
	f.Fuzz(func(t *testing.T, line string) {
		h, err := parseHeader(line)
		untaken := takenAll
		if n := h.untaken.Count; n > 0 {
			untaken = strconv.Itoa(n)
		}
		if again := fmt.Sprintf("symphony-pack %s %s %s", h.head, h.tip, untaken); err == nil && again != line {
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
