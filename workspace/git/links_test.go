package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheLinksOfTheBaseAreFound(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	folder := d.workspace(t, "ABC-1")
	for path, target := range map[string]string{"b\n120000 é": "a b", ".claude": "tools/claude", "x/y/AGENTS.md": "../../a b"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, path)); err != nil {
			t.Fatal(err)
		}
	}
	in := d.receive(t, d.harvest(t, folder))
	if links, err := in.Links(t.Context(), in.MergeBase); err != nil || len(links) != 0 {
		t.Errorf("%v (%v)", links, err)
	}
	links, err := in.Links(t.Context(), in.Tip)
	want := []Link{{".claude", "tools/claude"}, {"b\n120000 é", "a b"}, {"x/y/AGENTS.md", "../../a b"}}
	if diff := cmp.Diff(want, links); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
