package fleet

import (
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/publish"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/tracker"
)

// tickFile represents a shard's part of the report: what collect cannot find out from its
// own state. A test fails for each field of [report.Tick] and [report.Row] that is neither in a
// tickFile nor in the test's list of exceptions.
type tickFile struct {
	Rows     []report.Row   `json:"rows,omitempty" bound:"list=256"`
	Parked   []tracker.ID   `json:"parked,omitempty" bound:"keep list=256 whole=256"`
	Notices  []string       `json:"notices,omitempty" bound:"list=100 shown=2000"`
	Warnings []string       `json:"warnings,omitempty" bound:"list=100 shown=2000"`
	Errors   []string       `json:"errors,omitempty" bound:"list=100 shown=2000"`
	Stopped  string         `json:"stopped,omitempty" bound:"shown=4000"`
	Spent    schedule.Spent `json:"spent,omitzero"`
	Faults   []faultFile    `json:"faults,omitempty" bound:"list=256"`
	// Stored holds what package store checks and bounds: the deliveries of rows, and the
	// claims before their faults. It is an encoded state; empty if there are none.
	Stored string `json:"stored,omitempty" bound:"free"`
}

type faultFile struct {
	ID tracker.ID `json:"id" bound:"keep whole=256"`
	schedule.Fault
}

// newTick returns the part of a tick that a result holds, within its bounds. Spending and
// faults come from the state. It drops shell commands that this program would not write.
func newTick(t report.Tick, s *schedule.State) (tickFile, error) {
	f := tickFile{
		Rows: slices.Clone(t.Rows), Parked: t.Parked, Stopped: t.Stopped,
		Notices: t.Notices, Warnings: t.Warnings, Errors: t.Errors, Spent: s.Tick,
	}
	stored := schedule.New(schedule.Owner{})
	for i := range f.Rows {
		row := &f.Rows[i]
		if !hasOurCommands(*row) {
			row.Kept.Commands = nil
		}
		if row.Delivery != (schedule.Delivery{}) {
			if stored.Deliveries == nil {
				stored.Deliveries = map[tracker.ID]schedule.Delivery{}
			}
			stored.Deliveries[row.ID] = row.Delivery
		}
	}
	for _, fault := range s.Faults {
		f.Faults = append(f.Faults, faultFile{fault.Before.ID, fault})
		stored.Claims[fault.Before.ID] = fault.Before
	}
	_ = bounds.Apply(&f) // the texts of agents are cut
	if len(stored.Claims)+len(stored.Deliveries) == 0 {
		return f, nil
	}
	data, err := store.Encode(stored, 0)
	f.Stored = string(data)
	return f, err
}

func hasOurCommands(r report.Row) bool {
	_, ok := publish.KeptBranch(r.Kept.Commands)
	return ok || len(r.Kept.Commands) == 0
}

// restore returns the tick that f holds, and sets the spending and the faults of s. The
// slice says which issues are the shard's. It fails with [ErrRefused] if f names another one.
func (f tickFile) restore(slice, s *schedule.State) (report.Tick, error) {
	if err := f.validate(slice); err != nil {
		return report.Tick{}, fmt.Errorf("its report: %w", err)
	}
	s.Tick = f.Spent
	t := report.Tick{Rows: f.Rows, Parked: f.Parked, Stopped: f.Stopped, Notices: f.Notices, Warnings: f.Warnings, Errors: f.Errors, Spent: s.Tick}
	stored := schedule.New(schedule.Owner{})
	if f.Stored != "" {
		var err error
		if stored, _, err = store.Decode([]byte(f.Stored)); err != nil {
			return report.Tick{}, fmt.Errorf("its report: %w", err)
		}
	}
	for i := range t.Rows {
		t.Rows[i].Delivery = stored.Deliveries[t.Rows[i].ID]
	}
	for _, fault := range f.Faults {
		known := false
		if fault.Before, known = stored.Claims[fault.ID]; !known {
			return report.Tick{}, fmt.Errorf("its report: the claim before the fault of issue %q is missing", fault.ID)
		}
		s.Faults = append(s.Faults, fault.Fault)
	}
	return t, nil
}

// validate returns an error if newTick cannot have returned f for a shard that works on the
// issues of the slice.
func (f tickFile) validate(slice *schedule.State) error {
	if err := bounds.Apply(&f); err != nil {
		return err
	}
	owns := func(id tracker.ID) bool { _, owned := slice.Claims[id]; return owned }
	seen := map[tracker.ID]bool{}
	for _, r := range f.Rows {
		if !owns(r.ID) || seen[r.ID] {
			return fmt.Errorf("%w: it has a row of issue %.40q, which is not the shard's or comes twice", ErrRefused, r.ID)
		}
		seen[r.ID] = true
		if !hasOurCommands(r) {
			return fmt.Errorf("the row of issue %q: a command is not one of this program", r.ID)
		}
	}
	for _, id := range f.Parked {
		if !owns(id) {
			return fmt.Errorf("%w: it parked issue %.40q, which is not the shard's", ErrRefused, id)
		}
	}
	clear(seen)
	for _, fault := range f.Faults {
		if !owns(fault.ID) || seen[fault.ID] {
			return fmt.Errorf("%w: it has a fault of issue %.40q, which is not the shard's or comes twice", ErrRefused, fault.ID)
		}
		seen[fault.ID] = true
	}
	return nil
}
