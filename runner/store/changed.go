package store

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// materiallyDiffers reports whether r differs from old in anything worth a commit: in the
// knowledge of another run or the next one. Values that change all the time while a session
// runs do not count: its tokens, turns and heartbeats, and the agent's rate limits. Each commit
// holds their values at that time. A past tick counts: it is added only when a tick that did
// something ends.
func (r record) materiallyDiffers(old record) bool {
	return !reflect.DeepEqual(r.withoutVolatile(), old.withoutVolatile())
}

// withoutVolatile returns the record without the fields that do not count for
// materiallyDiffers.
func (r record) withoutVolatile() record {
	r.Generation, r.RateLimits = 0, nil
	r.Claims = slices.Clone(r.Claims)
	for i := range r.Claims {
		c := &r.Claims[i]
		c.Heard, c.TurnSince, c.Turns, c.Live, c.Tokens, c.Tariffs = time.Time{}, time.Time{}, 0, schedule.Usage{}, 0, nil
		c.Course.Usage = schedule.Usage{}
	}
	days := []day{}
	for _, d := range r.Days {
		d.Tokens = schedule.Usage{}
		if !reflect.DeepEqual(d, day{Date: d.Date}) {
			days = append(days, d)
		}
	}
	r.Days = days
	return r
}

// maxNamedIssues is the number of issues that a commit message names.
const maxNamedIssues = 5

// commitMessage returns the message of a commit from one state to another. It names the
// issues whose claim, delivery or conversation changed, such as "Update ABC-1, ABC-2".
func commitMessage(old, new *schedule.State) string {
	identifiers := map[tracker.ID]string{}
	for _, s := range []*schedule.State{old, new} {
		for id := range s.Conversations {
			identifiers[id] = cmp.Or(identifiers[id], string(id))
		}
		for id, d := range s.Deliveries {
			identifiers[id] = cmp.Or(d.Identifier, string(id))
		}
		for id, c := range s.Claims {
			identifiers[id] = cmp.Or(c.Identifier, string(id))
		}
	}
	var names []string
	for _, id := range slices.Sorted(maps.Keys(identifiers)) {
		if !reflect.DeepEqual(old.Claims[id], new.Claims[id]) || old.Deliveries[id] != new.Deliveries[id] || !reflect.DeepEqual(old.Conversations[id], new.Conversations[id]) {
			names = append(names, plainName(identifiers[id]))
		}
	}
	if len(names) == 0 {
		return "Update the state"
	}
	return "Update " + text.Some(names, maxNamedIssues)
}

// plainName returns a short name of an issue in which GitHub finds no reference: each
// commit would otherwise show up in the issue, or notify somebody.
func plainName(name string) string {
	plain := strings.NewReplacer("#", " ", "@", " ", "GH-", "GH ", "gh-", "gh ", "Gh-", "Gh ", "gH-", "gH ", "://", " ")
	return strings.TrimSpace(plain.Replace(bounds.Line(name, 40)))
}
