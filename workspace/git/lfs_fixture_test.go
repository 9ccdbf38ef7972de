package git

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/lfstest"
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

// newLFSChange returns work that was taken out of a workspace in which an agent changed a
// file in Git LFS.
func newLFSChange(t *testing.T) (d *lfsDelivery, folder string, in *Incoming) {
	t.Helper()
	d = newLFS(t)
	folder = d.workspace(t, "GH-1")
	write(t, filepath.Join(folder, "big.bin"), "changed\n")
	in = d.take(t, folder)
	t.Cleanup(func() { in.Close() })
	return d, folder, in
}
