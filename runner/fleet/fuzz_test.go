package fleet

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// FuzzResult decodes what a shard left. A result that is accepted is of its issues
// alone, and can be written again as it is.
func FuzzResult(f *testing.F) {
	slice := samplePlan(2).Shards[1]
	f.Add([]byte("{}"))
	f.Add(seal(f, slice, func(r *Result) {}))
	full := seal(f, slice, func(r *Result) {
		r.Tick = sampleTick(r.State, "2a")
		r.Tick.Rows[0].Refused, r.Tick.Rows[0].Delivery = "- one\n- two", schedule.Delivery{Number: 1}
		r.Tick.Rows[0].Kept = report.Kept{Folder: "logs/2a", Commands: []string{"git fetch work.bundle refs/heads/out:refs/heads/symphony/ABC-1a", "git apply --index work.patch"}}
		r.State.Tick = schedule.Spent{Sessions: 1, HadTurn: true}
		r.State.Faults = []schedule.Fault{{Kind: "hook", Why: "exit 1", Before: r.State.Claims["2b"]}}
	})
	f.Add(full)
	f.Add([]byte(strings.NewReplacer(`"2a"`, `"1a"`, `"warnings"`, `"Warnings"`).Replace(string(full))))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeResult(data, slice)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrRefused) && !errors.Is(err, errOtherPlan) {
				t.Fatalf("an error without a category: %v", err)
			}
			return
		}
		for _, row := range r.Tick.Rows {
			if _, its := slice.State.Claims[row.ID]; !its {
				t.Fatalf("a row of %q", row.ID)
			}
		}
		again, err := encodeResult(r)
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		r2, err := decodeResult(again, slice)
		if err != nil {
			t.Fatalf("written again it cannot be read: %v", err)
		}
		if diff := cmp.Diff(r, r2, withoutFile); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzPlan decodes a plan. One that is accepted can be written again as it is.
func FuzzPlan(f *testing.F) {
	data, err := encodePlan(samplePlan(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema": 1, "owner": {}, "shards": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePlan(data)
		if err != nil {
			return
		}
		again, err := encodePlan(p)
		if err != nil {
			t.Fatalf("it cannot be written: %v", err)
		}
		p2, err := decodePlan(again)
		if err != nil {
			t.Fatalf("written again it cannot be read: %v", err)
		}
		if diff := cmp.Diff(p, p2); diff != "" {
			t.Fatal(diff)
		}
	})
}
