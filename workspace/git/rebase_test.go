package git

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWorkIsPutOnTheNewestBase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work    func(t *testing.T, folder string)
		file    string // that changes on main; empty for none
		history bool
		want    string // messages of the commits, the newest first; empty if it is not possible
	}{
		"as one commit":                {work: commitTwice, file: "z", want: "Work on GH-1\nchange of z\nfirst"},
		"as it was":                    {work: commitTwice, file: "z", history: true, want: "two\none\nchange of z\nfirst"},
		"with other changes of a file": {work: commitTwice, file: "a"},
		"with other changes of a file of the history": {work: commitTwice, file: "a", history: true},
		"with a merge": {work: func(t *testing.T, folder string) {
			git(t, folder, "checkout", "-q", "-b", "side")
			commitTwice(t, folder)
			git(t, folder, "checkout", "-q", "-")
			git(t, folder, "commit", "-q", "--allow-empty", "-m", "main line")
			git(t, folder, "merge", "-q", "--no-edit", "side")
		}, file: "z", history: true},
		"that it has": {work: commitTwice, want: "two\none\nfirst"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDelivery(t)
			folder := d.workspace(t, "GH-1")
			test.work(t, folder)
			in := d.receive(t, d.harvest(t, folder))
			if test.file != "" {
				commit(t, d.origin, "main", test.file, "by others")
				fetch(t, d.store, ours)
			}
			someone := Person{Name: "S", Email: "s@example.com", When: time.Unix(1700000000, 0)}
			before := in.Tip
			moved, err := in.MoveToBase(t.Context(), Commit{Author: someone, Committer: someone, Message: "Work on GH-1"}, test.history)
			if test.want == "" {
				if !errors.Is(err, ErrMoved) || in.Tip != before {
					t.Errorf("moved: %v, %v", in.Tip != before, err)
				}
				return
			}
			if err != nil || moved != (test.file != "") || moved != (in.Tip != before) {
				t.Fatalf("moved: %v, %v", moved, err)
			}
			if diff := cmp.Diff(test.want, git(t, in.dir, "log", "--format=%s", in.Tip.String())); diff != "" {
				t.Error(diff)
			}
			if got := describe(changes(t, in)); got != "\"a\" 000000>100644 3\n\"b\" 000000>100644 3" {
				t.Errorf("the work is now\n%s", got)
			}
			if moved, err := in.MoveToBase(t.Context(), Commit{}, test.history); moved || err != nil {
				t.Errorf("once more: %v, %v", moved, err)
			}
			if out := git(t, in.dir, "fsck", "--strict", "--no-dangling", in.Tip.String()); out != "" {
				t.Error(out)
			}
		})
	}
}

// commitTwice is the work of an agent: two commits, each with a file.
func commitTwice(t *testing.T, folder string) {
	for file, message := range map[string]string{"a": "one", "b": "two"} {
		write(t, filepath.Join(folder, file), message)
	}
	for _, step := range [][]string{{"add", "a"}, {"commit", "-q", "-m", "one"}, {"add", "b"}, {"commit", "-q", "-m", "two"}} {
		git(t, folder, step...)
	}
}
