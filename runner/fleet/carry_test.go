package fleet

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/workspace/git"
)

// openRefs returns the references of an empty remote.
func openRefs(t *testing.T) *git.FileRefs {
	t.Helper()
	folder := t.TempDir()
	origin := filepath.Join(folder, "origin.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", origin).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	host, err := git.Open(t.Context(), git.Config{
		Dir: filepath.Join(folder, "stores"), Workspaces: filepath.Join(folder, "workspaces"), Env: os.Environ(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	remote, err := git.ParseRemote(origin, "")
	if err != nil {
		t.Fatal(err)
	}
	refs, err := host.FileRefs(remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { refs.Close() })
	return refs
}

func TestAFleetIsCarriedOverARepositoryAndDropped(t *testing.T) {
	t.Parallel()
	refs, here, there, p := openRefs(t), t.TempDir(), filepath.Join(t.TempDir(), "new"), samplePlan(2)
	mustWritePlan(t, here, p)
	name := Name{Run: p.Owner.Run, Attempt: p.Owner.Attempt}
	if pulled, refused, err := Pull(t.Context(), refs, there, name, true); pulled != 0 || len(refused) > 0 || err != nil {
		t.Errorf("from an empty repository: %d, %v, %v", pulled, refused, err)
	}
	_, plan, err := PushPlan(t.Context(), refs, here)
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := PushPlan(t.Context(), refs, here); err != nil || again != plan {
		t.Errorf("pushed again: %s is %s, %v", plan, again, err)
	}
	if _, err := PushResult(t.Context(), refs, here, p.Shards[1]); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a result that is not there: %v", err)
	}
	work(t, here, p, 2)
	if _, err := PushResult(t.Context(), refs, here, p.Shards[1]); err != nil {
		t.Fatal(err)
	}
	other := p.Shards[0].State.Self
	other.Shard = 9 // of no slice
	if err := pushReference(t.Context(), refs, referenceOf(other), map[string][]byte{resultName: []byte("forged")}); err != nil {
		t.Fatal(err)
	}
	name.Plan = plan
	if pulled, refused, err := Pull(t.Context(), refs, there, name, true); pulled != 2 || len(refused) > 0 || err != nil {
		t.Errorf("the plan and a result: %d, %v, %v", pulled, refused, err)
	}
	got, err := ReadPlan(there)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	if results, refused := ReadResults(there, p); len(results) != 1 || len(refused) > 0 {
		t.Errorf("%d results, refused %v", len(results), refused)
	}
	if dropped, err := Drop(t.Context(), refs, name); dropped != 3 || err != nil {
		t.Errorf("dropped %d: %v", dropped, err)
	}
	if pulled, _, err := Pull(t.Context(), refs, t.TempDir(), name, true); pulled != 0 || err != nil {
		t.Errorf("after the drop: %d, %v", pulled, err)
	}
}

func TestTheReferencesOfOldFleetsAreDropped(t *testing.T) {
	t.Parallel()
	refs := openRefs(t)
	const young = 3
	for run, age := range map[string]time.Duration{"1": oldFleet, "2": oldFleet - time.Hour, "3": 0, "4": -farAhead + time.Hour, "5": -farAhead} {
		r := Reference{Run: run, Attempt: 1, Started: now.Add(-age).UnixMilli()}
		if err := pushReference(t.Context(), refs, r, map[string][]byte{planName: []byte(run)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := DropOld(t.Context(), refs, now); err != nil {
		t.Fatal(err)
	}
	left, err := listReferences(t.Context(), refs, referencesFolder)
	if err != nil || len(left) != young {
		t.Errorf("%v is left (%v)", left, err)
	}
	for _, r := range left {
		if r.Run == "1" || r.Run == "5" {
			t.Errorf("%s is left", r)
		}
	}
}
