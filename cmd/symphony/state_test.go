package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

func TestAnIssueIsShownWithoutWhatOthersSpent(t *testing.T) {
	t.Parallel()
	p := newProject(t, "true", nil)
	saveState(t, p, func(state *schedule.State) {
		state.Claims["1"] = schedule.Claim{ID: "1", Identifier: "ABC-1", Phase: schedule.Parked, Since: time.Now(), Why: "which colour?"}
		state.Deliver("2", schedule.Delivery{Identifier: "ABC-2", Branch: "symphony/ABC-2", Head: strings.Repeat("b", 40)})
		state.Days = []schedule.Day{{Date: "2026-03-01", Sessions: 4}}
	})
	if out := p.ok("state", "show").stdout; !strings.Contains(out, "2026-03-01") || !strings.Contains(out, "ABC-2") {
		t.Error(out)
	}
	if out := p.ok("state", "show", "ABC-1").stdout; strings.Contains(out, "2026-03-01") || strings.Contains(out, "ABC-2") || !strings.Contains(out, "which colour?") {
		t.Error(out)
	}
	if out := p.ok("__complete", "state", "show", "").stdout; !strings.HasPrefix(out, "ABC-1\nABC-2\tsymphony/ABC-2\n") {
		t.Error(out)
	}
	for _, operation := range []string{"retry", "release"} {
		if r := p.run("state", operation, "ABC-2"); r.code != exitUsage || !strings.Contains(r.stderr, "ABC-2 has no claim: its work is published at symphony/ABC-2\n") {
			t.Errorf("%s: %d: %s", operation, r.code, r.stderr)
		}
	}
}

// saveState changes the state of a project.
func saveState(t *testing.T, p *project, change func(*schedule.State)) {
	t.Helper()
	f, err := store.OpenFile(filepath.Join(p.dir, ".symphony", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	state, rev, err := f.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change(state)
	if _, err := f.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
}

func TestAnIssueThatIsReleasedKeepsItsDelivery(t *testing.T) {
	t.Parallel()
	p := newProject(t, "true", nil)
	deliveries := map[tracker.ID]schedule.Delivery{
		"1": {Identifier: "ABC-1", Branch: "symphony/ABC-1", Head: strings.Repeat("a", 40), Number: 17, URL: "https://github.com/octo/shop/pull/17"},
	}
	saveState(t, p, func(state *schedule.State) {
		for _, name := range []string{"1", "2"} {
			id := tracker.ID(name)
			state.Claims[id] = schedule.Claim{ID: id, Identifier: "ABC-" + name, Phase: schedule.Parked, Since: time.Now(), Why: "which colour?"}
		}
		for id, d := range deliveries {
			state.Deliver(id, d)
		}
	})

	for name, want := range map[string]string{
		"ABC-1": "ABC-1: released; its delivery is kept: https://github.com/octo/shop/pull/17\n",
		"ABC-2": "ABC-2: released\n",
	} {
		if got := p.ok("state", "release", name).stdout; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	state, _, err := store.FileToRead(filepath.Join(p.dir, ".symphony", "state.json")).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deliveries, state.Deliveries); diff != "" || len(state.Claims) > 0 {
		t.Errorf("%d claims are left, deliveries (-want +got):\n%s", len(state.Claims), diff)
	}
}
