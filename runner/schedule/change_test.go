package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// genChange draws a change to an issue that the state may know.
func genChange(t *rapid.T, f fixture) schedule.Change {
	ids := []tracker.ID{"0", "1", "2", "unknown"}
	for id := range f.state.Claims {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "issue")
	claim := f.state.Claims[id]
	text := rapid.SampledFrom([]string{"", "one", "two\nlines"})
	optional := func(name string) *string {
		if rapid.Bool().Draw(t, name) {
			s := text.Draw(t, name)
			return &s
		}
		return nil
	}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return schedule.SessionEnded{ID: id, Session: claim.Sessions + rapid.IntRange(0, 1).Draw(t, "other"), At: f.now, Outcome: schedule.Outcome{
			Class: rapid.SampledFrom([]schedule.Class{schedule.Done, schedule.Transient, schedule.IssueFailed, schedule.Systemic, schedule.NeedsInput, schedule.Stopped}).Draw(t, "class"),
			Why:   text.Draw(t, "why"), Usage: genUsage(t),
		}}
	case 1:
		claim.ID = id
		return schedule.Excused{Before: claim, Why: text.Draw(t, "why"), At: f.now}
	case 2:
		return schedule.Delivered{ID: id, Delivery: schedule.Delivery{Branch: text.Draw(t, "branch"), Identifier: "A-1"}}
	case 3:
		return schedule.Finished{ID: id, Pull: schedule.PullMerged, At: f.now}
	case 4:
		return schedule.CommandGiven{ID: id, Order: schedule.Order{Command: schedule.CommandStop, By: "kim"}, At: f.now}
	case 5:
		return schedule.PausePassed{Began: f.state.Pause.Since, At: f.now}
	case 6:
		delete(f.state.Reserves, claim.Owner) // the fixture draws reserves that do not fit the claims
		return schedule.ShardSettled{Owner: claim.Owner, Slice: f.state.Slice(claim.Owner, f.now), At: f.now}
	}
	c := schedule.ConversationRead{ID: id, Pull: optional("pull"), Posted: optional("posted")}
	if rapid.Bool().Draw(t, "commands") {
		c.CommandsUpTo = &schedule.Mark{At: f.now.Add(-time.Minute)}
	}
	return c
}

func TestAChangeThatIsAppliedAgainChangesNothing(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		c := genChange(t, f)
		c.Apply(f.state, f.policy)
		once := f.state.Clone()
		c.Apply(f.state, f.policy)
		if diff := cmp.Diff(once, f.state, cmpopts.EquateEmpty(), cmp.AllowUnexported(schedule.State{})); diff != "" {
			t.Fatalf("%+v, applied twice:\n%s", c, diff)
		}
	})
}

// Another run has saved first: the unsaved changes are applied to its state, which differs
// from ours only in the changes of the other run.
func TestAChangeToTheStateOfAnotherRunLeavesItsClaims(t *testing.T) {
	check(t, func(t *rapid.T, f fixture) {
		c := genChange(t, f)
		before := f.state.Clone()
		f.state.Self = schedule.Owner{Run: "a run without claims"}
		if _, shard := c.(schedule.ShardSettled); shard {
			t.Skip("it is meant for the claims of another owner")
		}
		c.Apply(f.state, f.policy)
		for id, claim := range before.Claims {
			if claim.Phase.HasSession() && !cmp.Equal(claim, f.state.Claims[id]) {
				t.Fatalf("%+v changed the claim of a running session of another run: %+v, before %+v", c, f.state.Claims[id], claim)
			}
		}
	})
}
