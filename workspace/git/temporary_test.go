package git

import (
	"errors"
	"strings"
	"testing"
)

// temporaries returns the temporary references of the remote, one a line.
func (d *delivery) temporaries(t testing.TB) string {
	t.Helper()
	return git(t, d.origin, "for-each-ref", "--format=%(refname)", "refs/symphony")
}

func TestObjectsWaitOnTheRemoteWithoutABranch(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"file", "http"} {
		t.Run(transport, func(t *testing.T) {
			d := newDelivery(t)
			if transport == "http" {
				d.overHTTP(t)
			}
			before := refsOf(t, d.origin)
			in, one := d.work(t, "one")
			waiting, err := in.PushTemporary(t.Context(), target, one, ObjectID{})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimPrefix(refsOf(t, d.origin), before+"\n")
			if !strings.HasPrefix(got, "refs/symphony/push/symphony/GH-1/") || !strings.HasSuffix(got, " "+one.String()) || strings.Contains(got, "\n") {
				t.Errorf("the remote has\n%s", got)
			}
			if git(t, d.origin, "show", one.String()+":a") != "one" {
				t.Error("the objects of the commit did not arrive")
			}
			for range 2 {
				if err := waiting.Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := refsOf(t, d.origin); got != before {
				t.Errorf("the remote has\n%s", got)
			}
		})
	}
}

func TestWhatAKilledRunLeftIsDeletedByTheNextOnTheSameBranchAlone(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	in, one := d.work(t, "one")
	other := branch(t, "symphony/GH-10")
	for _, to := range []Branch{target, target, other} { // nobody deletes them
		if _, err := in.PushTemporary(t.Context(), to, one, ObjectID{}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(d.temporaries(t), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "refs/symphony/push/symphony/GH-1/") || !strings.HasPrefix(lines[1], "refs/symphony/push/symphony/GH-10/") {
		t.Errorf("the remote has %q", lines)
	}
	for range 2 {
		if err := d.store.DeleteTemporary(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.temporaries(t); got != lines[1] {
		t.Errorf("then it has %q", got)
	}
}

func TestObjectsForABranchThatIsElsewhereAreNotPushed(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	in, one := d.work(t, "one")
	theirs := commit(t, d.origin, target.String(), "theirs", "theirs")
	for name, old := range map[string]ObjectID{"should not exist": {}, "should be elsewhere": d.from.Start, "is not known here": theirs} {
		if _, err := in.PushTemporary(t.Context(), target, one, old); !errors.Is(err, ErrMoved) {
			t.Errorf("a branch that %s: %v", name, err)
		}
	}
	fetch(t, d.store, ours)
	in, one = d.work(t, "one")
	if _, err := in.PushTemporary(t.Context(), target, one, theirs); !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), "does not follow") {
		t.Errorf("a commit that does not follow: %v", err)
	}
	if got := d.temporaries(t); got != "" {
		t.Errorf("the remote has %s", got)
	}
}

func TestTheTreeAndTheParentsOfACommitAreKnown(t *testing.T) {
	t.Parallel()
	d := newDelivery(t)
	in, one := d.work(t, "one")
	tree, parents, err := in.TreeAndParents(t.Context(), one)
	if err != nil || len(parents) != 1 || parents[0] != d.from.Start {
		t.Fatalf("got %v, %v", parents, err)
	}
	if err := in.Push(t.Context(), target, one, ObjectID{}); err != nil {
		t.Fatal(err)
	}
	if want := git(t, d.origin, "rev-parse", one.String()+"^{tree}"); tree.String() != want {
		t.Errorf("the tree is %s, want %s", tree, want)
	}
	if _, _, err := in.TreeAndParents(t.Context(), id(t, strings.Repeat("1", 40))); err == nil {
		t.Error("a commit that does not exist has a tree")
	}
}
