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

func TestAnIssueThatIsReleasedKeepsItsDelivery(t *testing.T) {
	t.Parallel()
	p := newProject(t, "true", nil)
	deliveries := map[tracker.ID]schedule.Delivery{
		"1": {Identifier: "ABC-1", Branch: "symphony/ABC-1", Head: strings.Repeat("a", 40), Number: 17, URL: "https://github.com/octo/shop/pull/17"},
		"2": {Identifier: "ABC-2", Branch: "symphony/ABC-2", Head: strings.Repeat("b", 40)},
	}
	f, err := store.OpenFile(filepath.Join(p.dir, ".symphony", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	state, rev, err := f.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1", "2", "3"} {
		id := tracker.ID(name)
		state.Claims[id] = schedule.Claim{ID: id, Identifier: "ABC-" + name, Phase: schedule.Parked, Since: time.Now(), Why: "which colour?"}
	}
	for id, d := range deliveries {
		state.Deliver(id, d)
	}
	if _, err := f.Save(t.Context(), state, rev); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"ABC-1": "ABC-1: released; its delivery is kept: https://github.com/octo/shop/pull/17\n",
		"ABC-2": "ABC-2: released; its delivery is kept: symphony/ABC-2\n",
		"ABC-3": "ABC-3: released\n",
	} {
		if got := p.ok("state", "release", name).stdout; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	state, err = store.ReadFile(t.Context(), filepath.Join(p.dir, ".symphony", "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deliveries, state.Deliveries); diff != "" || len(state.Claims) > 0 {
		t.Errorf("%d claims are left, deliveries (-want +got):\n%s", len(state.Claims), diff)
	}
}
