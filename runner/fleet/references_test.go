package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestANameOfAReferenceIsParsedAsItWasWrittenAndIsValidForGit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		owner := schedule.Owner{
			Run:     rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{1,20}`)).Draw(t, "run"),
			Attempt: rapid.IntRange(0, 1_000_000).Draw(t, "attempt"),
			Started: rapid.Int64Range(0, 1<<45).Draw(t, "started"),
			Shard:   rapid.IntRange(0, schedule.MaxShards).Draw(t, "shard"),
		}
		want := referenceOf(owner)
		if got, ok := parseReference(want.String()); !ok || got != want {
			t.Errorf("%s is read as %+v, %v", want, got, ok)
		}
		if _, err := git.ParseFileRef(want.String()); err != nil {
			t.Error(err)
		}
		if folder := attemptReferences(owner.Run, owner.Attempt); !strings.HasPrefix(want.String(), folder+"/") {
			t.Errorf("%s is not in %s", want, folder)
		}
	})
	for _, name := range []string{
		"", "refs/symphony/fleet/7-1/5", "refs/symphony/fleet/7-1/5/plan/x", "refs/symphony/fleet/7-1/5/shard-0", "refs/symphony/fleet/7-1/5/shard-257",
		"refs/symphony/fleet/7-1/5/shard-01", "refs/symphony/fleet/7-1/05/plan", "refs/symphony/fleet/7-01/5/plan", "refs/symphony/fleet/x7-1/5/plan", "refs/symphony/fleet/7/5/plan",
		"refs/symphony/fleet/7-1/5/shard-1\n", "refs/symphony/fleet/-1/5/plan", "refs/heads/7-1/5/plan", "refs/symphony/fleet/7-1/-5/plan",
	} {
		if r, ok := parseReference(name); ok {
			t.Errorf("%q is the reference %+v", name, r)
		}
	}
}

func TestAReferenceHasNoOtherFilesThanItsOwn(t *testing.T) {
	t.Parallel()
	plan, shard := Reference{}, Reference{Shard: 3}
	thread := "threads/" + fileOf("1a")
	for path, want := range map[string][2]int64{
		"plan.json": {maxPlan, 0}, "result.json": {0, maxResult}, thread: {0, maxThread}, "threads/...2" + threadSuffix: {0, 0}, "threads/" + threadOf("1a") + ".02" + threadSuffix: {0, 0}, "threads/" + threadOf("1a") + threadSuffix: {0, 0}, "threads/a/b.2" + threadSuffix: {0, 0}, fileOf("1a"): {0, 0},
		"threads/../result.json": {0, 0}, "threads/" + thread: {0, 0}, "results/result-1/result.json": {0, 0}, "": {0, 0}, "../plan.json": {0, 0},
	} {
		if got := [2]int64{plan.fileLimit(path), shard.fileLimit(path)}; got != want {
			t.Errorf("%q has the limits %v, want %v", path, got, want)
		}
	}
}

func TestThePlanAndTheResultsTravelOverReferences(t *testing.T) {
	t.Parallel()
	here, there, p := t.TempDir(), filepath.Join(t.TempDir(), "new"), samplePlan(3)
	mustWritePlan(t, here, p)
	work(t, here, p, 1)
	work(t, here, p, 2)
	sealed := fileOf("2a")
	writeText(t, filepath.Join(here, "results", "result-2", "threads", sealed), "sealed")
	writeText(t, filepath.Join(here, "results", "result-2", "threads", fileOf("1a")), "of another shard")
	ref, files, err := planFiles(here)
	if err != nil || ref != referenceOf(p.Owner) {
		t.Fatalf("%+v: %v", ref, err)
	}
	planFiles := files
	all := []Reference{{Run: ref.Run, Attempt: ref.Attempt, Started: 1}, {Run: ref.Run, Attempt: ref.Attempt, Started: 1, Shard: 1}, ref}
	got, err := storePlan(there, ref, PlanName{}, files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
	for _, slice := range p.Shards {
		ref, files, err := resultFiles(here, slice)
		if slice.Number == 3 {
			if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "run symphony work --shard 3 first") {
				t.Errorf("without a result: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ref)
		files["plan.json"] = []byte("not its own")
		if err := storeResult(there, ref, files); err != nil {
			t.Fatal(err)
		}
	}
	name := PlanName{ref.Started, digestOf(planFiles["plan.json"])}
	if plan, results, err := selectPlan(all, name); err != nil || !slices.Equal(plan, []Reference{ref}) || !slices.Equal(results, all[3:]) {
		t.Errorf("selected %+v, with %+v: %v", plan, results, err)
	}
	if plan, _, err := selectPlan(all[1:2], PlanName{}); err != nil || len(plan) > 0 {
		t.Errorf("a result alone has the plan %+v: %v", plan, err)
	}
	results, refused := ReadResults(there, p)
	if len(results) != 2 || len(refused) > 0 || len(results[0].Tick.Rows) != 1 {
		t.Errorf("%d results, refused %v", len(results), refused)
	}
	threads, err := os.ReadDir(filepath.Join(there, "results", "result-2", "threads"))
	if err != nil || len(threads) != 1 || threads[0].Name() != sealed {
		t.Errorf("the threads %v: %v", threads, err)
	}
	entries, err := os.ReadDir(filepath.Join(there, "results", "result-1"))
	if err != nil || len(entries) != 2 {
		t.Errorf("the result has %v: %v", entries, err)
	}
}

func TestAPlanOfAnotherRunOrForAFolderInUseIsNotTaken(t *testing.T) {
	t.Parallel()
	here, there, p := t.TempDir(), t.TempDir(), samplePlan(1)
	mustWritePlan(t, here, p)
	ref, files, err := planFiles(here)
	if err != nil {
		t.Fatal(err)
	}
	other := ref
	other.Run = "1701"
	if _, err := storePlan(there, other, PlanName{}, files); !errors.Is(err, ErrRefused) {
		t.Errorf("of another run: %v", err)
	}
	if _, err := storePlan(there, ref, PlanName{}, map[string][]byte{"plan.json": []byte("{}")}); !errors.Is(err, ErrUnreadable) {
		t.Errorf("damaged: %v", err)
	}
	later := samplePlan(1)
	later.Owner.Started++
	for i := range later.Shards {
		later.Shards[i].State.Self = later.ShardOwner(i + 1)
	}
	mustWritePlan(t, there, later)
	if _, err := storePlan(there, ref, PlanName{}, files); err == nil || !strings.Contains(err.Error(), "name an empty folder") {
		t.Errorf("into the folder of another plan: %v", err)
	}
	if _, err := storePlan(here, ref, PlanName{}, files); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestAPlanThatSomebodyElsePushedIsNotTaken(t *testing.T) {
	t.Parallel()
	here, there, p := t.TempDir(), t.TempDir(), samplePlan(1)
	mustWritePlan(t, here, p)
	ref, files, err := planFiles(here)
	if err != nil {
		t.Fatal(err)
	}
	name, forged := PlanName{ref.Started, digestOf(files["plan.json"])}, ref
	forged.Started = 999_999_999_999_999
	result := forged
	result.Shard = 1
	all := []Reference{ref, forged, result}
	if plan, results, err := selectPlan(all, name); err != nil || !slices.Equal(plan, []Reference{ref}) || len(results) > 0 {
		t.Errorf("with the name: %v with %v: %v", plan, results, err)
	}
	if plan, results, err := selectPlan(all[:1], PlanName{}); err != nil || !slices.Equal(plan, []Reference{ref}) || len(results) > 0 {
		t.Errorf("the only one: %v with %v: %v", plan, results, err)
	}
	if plan, _, err := selectPlan(all, PlanName{}); !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), "name yours with --plan") || len(plan) > 0 {
		t.Errorf("without the name: %v: %v", plan, err)
	}
	if plan, _, err := selectPlan(all[1:], name); err != nil || len(plan) > 0 {
		t.Errorf("of a plan that is gone: %v: %v", plan, err)
	}
	changed := map[string][]byte{planName: append(slices.Clone(files[planName]), '\n')}
	if _, err := storePlan(there, ref, name, changed); !errors.Is(err, ErrRefused) {
		t.Errorf("in the place of the plan: %v", err)
	}
	if _, err := storePlan(there, ref, name, files); err != nil {
		t.Error(err)
	}
	if again, err := ParsePlanName(name.String()); err != nil || again != name {
		t.Errorf("%s is read as %v: %v", name, again, err)
	}
	for _, text := range []string{"1", name.Digest, "0-" + name.Digest, "-" + name.Digest, name.String() + "0", "1000000000000000-" + name.Digest} {
		if got, err := ParsePlanName(text); err == nil {
			t.Errorf("%q is the name %v", text, got)
		}
	}
}
