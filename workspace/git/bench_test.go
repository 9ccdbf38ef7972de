package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/lfstest"
)

// large makes an origin with 20,000 files in 200 folders and returns its delivery.
func large(b *testing.B) *delivery {
	b.Helper()
	var input strings.Builder
	for i := range 20_000 {
		text := strings.Repeat(fmt.Sprintf("line %d of a file that is as long as files are\n", i), 50)
		fmt.Fprintf(&input, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(text), text)
	}
	input.WriteString("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 5\nfirst\n")
	for i := range 20_000 {
		fmt.Fprintf(&input, "M 100644 :%d d%03d/f%05d\n", i+1, i%200, i)
	}
	m := newMachine(b)
	return m.deliver(b, m.imported(b, input.String()))
}

// A workspace may take 1.5 times as long as a clone. Both are made in turn, because the
// disk is not equally fast at all times.
func BenchmarkWorkspaceOf20000Files(b *testing.B) {
	d := large(b)
	var clone, host, whole time.Duration
	for b.Loop() {
		start := time.Now()
		git(b, d.dir, "clone", "-q", "--no-hardlinks", d.origin, d.path("clone"))
		clone += time.Since(start)
		remove(b, d.path("clone"))

		folder := filepath.Join(d.workspaces, "staged")
		if err := os.Mkdir(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		into, err := os.OpenRoot(folder)
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if err := d.store.Populate(b.Context(), into, Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person}); err != nil {
			b.Fatal(err)
		}
		host += time.Since(start)
		into.Close()
		remove(b, folder)

		start = time.Now()
		folder = d.workspace(b, "GH-1")
		whole += time.Since(start)
		remove(b, folder)
	}
	b.ReportMetric(clone.Seconds()*1000/float64(b.N), "clone-ms")
	b.ReportMetric(host.Seconds()*1000/float64(b.N), "populate-ms")
	b.ReportMetric(whole.Seconds()*1000/float64(b.N), "workspace-ms")
	b.ReportMetric(whole.Seconds()/clone.Seconds(), "of-clone")
}

// What 100 files in Git LFS, of 100 KB each, cost besides 20,000 other files.
func BenchmarkGitLFSOf100Files(b *testing.B) {
	d := &lfsDelivery{delivery: large(b), lfs: lfstest.New(b)}
	files := map[string]string{".gitattributes": "*.bin filter=lfs -text\n"}
	for i := range 100 {
		files[fmt.Sprintf("lfs/%d.bin", i)] = d.lfs.Put(strings.Repeat(fmt.Sprintf("object %d\n", i), 10_000))
	}
	d.add(b, files)
	d.serveLFS(b)
	var download, host, whole, harvest time.Duration
	for b.Loop() {
		start := time.Now()
		d.fetch(b)
		download += time.Since(start)

		into, err := os.OpenRoot(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if err := d.store.Populate(b.Context(), into, Checkout{Base: d.from.Base, BaseHead: d.from.Start, Branch: target, Head: d.from.Start, User: person, Objects: d.objects}); err != nil {
			b.Fatal(err)
		}
		host += time.Since(start)
		into.Close()

		start = time.Now()
		folder := d.workspace(b, "GH-1")
		whole += time.Since(start)
		write(b, filepath.Join(folder, "lfs", "0.bin"), "changed\n")
		start = time.Now()
		d.take(b, folder).Close()
		harvest += time.Since(start)
		remove(b, folder)
		remove(b, d.store.lfsFolder())
		clear(d.store.trees)
	}
	for name, t := range map[string]time.Duration{"fetch-ms": download, "populate-ms": host, "workspace-ms": whole, "harvest-ms": harvest} {
		b.ReportMetric(t.Seconds()*1000/float64(b.N), name)
	}
}

// The host's part of a delivery may take 150 ms; the push is to a folder here.
func BenchmarkDeliveryOf10Files(b *testing.B) {
	d := large(b)
	folder := d.workspace(b, "GH-1")
	for i := range 10 {
		write(b, filepath.Join(folder, fmt.Sprintf("d%03d", i), fmt.Sprintf("f%05d", i)), "changed\n")
	}
	var harvest []byte
	b.Run("harvest", func(b *testing.B) {
		for b.Loop() {
			harvest = d.harvest(b, folder)
		}
	})
	n := 0
	var made ObjectID
	b.Run("receive, compare, squash", func(b *testing.B) {
		for b.Loop() {
			in, err := d.store.Receive(b.Context(), bytes.NewReader(harvest), d.from)
			if err != nil {
				b.Fatal(err)
			}
			made = squash(b, in, changes(b, in), ObjectID{})
			in.Close()
		}
	})
	b.Run("push to a folder", func(b *testing.B) {
		in := d.receive(b, harvest)
		made = squash(b, in, changes(b, in), ObjectID{})
		for b.Loop() {
			n++
			if err := in.Push(b.Context(), branch(b, fmt.Sprint("symphony/", n)), made, ObjectID{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A bomb may cost two seconds. Of memory git has 512 MB, which is a limit of its process.
func BenchmarkBombs(b *testing.B) {
	d := newDelivery(b)
	start := d.from.Start
	bombs := map[string]func() (*packWriter, ObjectID){
		"deltas of 512 MiB":      func() (*packWriter, ObjectID) { return deltaBomb(start, nil, 512<<20) },
		"deltas below the limit": func() (*packWriter, ObjectID) { return deltaBomb(start, nil, 32<<20) },
		"1,000,000,000 paths":    func() (*packWriter, ObjectID) { return treeBomb(start, 10, 9) },
		"45,000 folders deep":    func() (*packWriter, ObjectID) { return treeBomb(start, 1, 45_000) },
		"zeros below the limit": func() (*packWriter, ObjectID) {
			p := &packWriter{}
			for i := range 3 {
				p.blob(strings.Repeat(fmt.Sprint(i), 32<<20))
			}
			return p, p.commit(p.tree(entry("100644", "a", p.blob("x"))), start)
		},
		"40,000 blobs": func() (*packWriter, ObjectID) {
			p := &packWriter{}
			var entries []string
			for i := range 40_000 {
				entries = append(entries, entry("100644", fmt.Sprintf("%05d", i), p.blob(fmt.Sprint(i))))
			}
			return p, p.commit(p.tree(entries...), start)
		},
	}
	for name, build := range bombs {
		p, tip := build()
		harvest := p.harvested(tip)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				in, err := d.store.Receive(b.Context(), bytes.NewReader(harvest), d.from)
				if err == nil {
					in.Changes(b.Context(), in.MergeBase, in.Tip)
					in.Close()
				}
			}
		})
	}
}
