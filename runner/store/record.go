package store

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The versions of the format. This program writes version, and reads the versions
// from oldest to version.
const version, oldest = 2, 1

// record is the stored form of a state. It and the types in it are the file format, whose
// names and bounds stand in the tags of their fields, see package bounds. A released version never
// changes: to add, rename or remove a field, or to allow a new value in one, make a new
// version, which must still read the older ones. The bounds may grow, and never shrink.
//
//	1  the first
//	2  adds optional fields only, so these types read both versions
//
// To add a field, give it tags in package schedule (with omitempty or omitzero). A test fails
// until the sample has it.
type record struct {
	Version    int                   `json:"version"`
	Generation int64                 `json:"generation" bound:"keep"`   // one more with each save; at most maxGeneration
	Checksum   string                `json:"checksum" bound:"whole=71"` // see setChecksum
	Claims     []schedule.Claim      `json:"claims" bound:"list=20000"` // sorted by id
	Pause      schedule.Pause        `json:"pause,omitzero"`
	Wait       schedule.TrackerWait  `json:"tracker_wait,omitzero"`
	Days       []day                 `json:"days,omitempty" bound:"list=31"`
	RateLimits json.RawMessage       `json:"rate_limits,omitempty"`
	Past       []schedule.TickRecord `json:"past,omitempty" bound:"list=31"`         // oldest first
	Salt       string                `json:"salt,omitempty" bound:"whole=256"`       // salt of the digests in every setup
	Deliveries []delivery            `json:"deliveries,omitempty" bound:"list=1000"` // sorted by id

	Conversations []conversation  `json:"conversations,omitempty" bound:"list=21000"` // sorted by id; of claims and deliveries
	Told          []schedule.Told `json:"told,omitempty" bound:"list=11000"`          // sorted
	Worked        time.Time       `json:"worked,omitzero"`                            // see [schedule.Records].Worked
	Queued        []queued        `json:"queued,omitempty" bound:"list=500"`          // sorted by id
	Open          []reserve       `json:"open,omitempty" bound:"list=24000"`          // sorted by owner; of shards with a claim, and of lost shards

	Hosts []host `json:"hosts,omitempty" bound:"list=200"` // sorted by name; worker hosts that have failed

	Ends       []schedule.IssueEnd `json:"ends,omitempty" bound:"list=200"`                    // oldest first
	PackedEnds []string            `json:"packed_ends,omitempty" bound:"list=200 whole=32768"` // the ones before them, oldest first
}

type queued struct {
	ID    tracker.ID `json:"id" bound:"keep whole=256"`
	Since time.Time  `json:"since,omitzero"`
}

type host struct {
	Name string `json:"name" bound:"keep whole=256"`
	schedule.HostState
}

type delivery struct {
	ID tracker.ID `json:"id" bound:"keep whole=256"`
	schedule.Delivery
}

type conversation struct {
	ID tracker.ID `json:"id" bound:"keep whole=256"`
	schedule.Conversation
}

type reserve struct {
	Owner schedule.Owner `json:"owner" bound:"keep"`
	schedule.Reserve
}

// day is a [schedule.Day] with its time as whole numbers, which every reader of JSON takes.
type day struct {
	Date     string         `json:"date" bound:"keep whole=10"`
	Sessions int            `json:"sessions,omitempty"`
	Tokens   schedule.Usage `json:"tokens,omitzero"`
	Seconds  int64          `json:"seconds,omitempty"`
	Millis   int            `json:"millis,omitempty"` // milliseconds beside the seconds
}

// newRecord returns the stored form of s, with its texts and numbers within their
// bounds.
func newRecord(s *schedule.State, generation int64) record {
	r := record{
		Version: version, Generation: generation,
		Claims:     listOf(s.Claims, cmp.Compare, func(_ tracker.ID, c schedule.Claim) schedule.Claim { return c }),
		Deliveries: listOf(s.Deliveries, cmp.Compare, func(id tracker.ID, d schedule.Delivery) delivery { return delivery{id, d} }),
		Conversations: listOf(s.Conversations, cmp.Compare, func(id tracker.ID, c schedule.Conversation) conversation {
			if !c.PendingCommand.Command.Waits() {
				c.PendingCommand = schedule.Order{}
			}
			if !c.Checks.Known() {
				c.Checks = ""
			}
			return conversation{id, c}
		}),
		Queued: listOf(s.Queued, cmp.Compare, func(id tracker.ID, since time.Time) queued { return queued{id, since} }),
		Hosts:  listOf(s.Hosts, cmp.Compare, func(name string, h schedule.HostState) host { return host{name, h} }),
		Open:   listOf(s.Reserves, schedule.CompareOwners, func(o schedule.Owner, r schedule.Reserve) reserve { return reserve{o, r} }),
		Past:   slices.Clone(s.History),
		Pause:  s.Pause, Wait: s.Wait, RateLimits: compactRateLimits(s.RateLimits), Salt: s.Salt,
		Told: slices.Clone(s.Told), Worked: s.Worked,
		Ends: slices.Clone(s.Ends), PackedEnds: s.PackedEnds,
	}
	for _, d := range s.Days {
		took := max(d.Time, 0) // negative when the clock was set back
		seconds, millis := int64(took/time.Second), int(took%time.Second/time.Millisecond)
		r.Days = append(r.Days, day{d.Date, d.Sessions, d.Usage, seconds, millis})
	}
	_ = bounds.Apply(&r) // validate reports a value that could not be changed
	return r
}

// listOf returns the list of the entries of a map, in the order of its keys.
func listOf[K comparable, V, E any](all map[K]V, compare func(a, b K) int, entry func(K, V) E) []E {
	list := make([]E, 0, len(all))
	for _, key := range slices.SortedFunc(maps.Keys(all), compare) {
		list = append(list, entry(key, all[key]))
	}
	return list
}

// mapOf returns the map with the entries of a list; nil for an empty list.
func mapOf[E any, K comparable, V any](list []E, split func(E) (K, V)) map[K]V {
	if len(list) == 0 {
		return nil
	}
	all := make(map[K]V, len(list))
	for _, entry := range list {
		key, value := split(entry)
		all[key] = value
	}
	return all
}

func (r record) toState() *schedule.State {
	s := schedule.New(schedule.Owner{})
	for _, c := range r.Claims {
		s.Claims[c.ID] = c
	}
	s.Wait, s.Pause, s.Salt, s.History = r.Wait, r.Pause, r.Salt, slices.Clone(r.Past)
	s.Told, s.Worked = slices.Clone(r.Told), r.Worked
	for _, d := range r.Days {
		s.Days = append(s.Days, schedule.Day{Date: d.Date, Sessions: d.Sessions, Usage: d.Tokens, Time: d.duration()})
	}
	s.Deliveries = mapOf(r.Deliveries, func(d delivery) (tracker.ID, schedule.Delivery) { return d.ID, d.Delivery })
	s.Conversations = mapOf(r.Conversations, func(c conversation) (tracker.ID, schedule.Conversation) { return c.ID, c.Conversation })
	s.Queued = mapOf(r.Queued, func(q queued) (tracker.ID, time.Time) { return q.ID, q.Since })
	s.Hosts = mapOf(r.Hosts, func(h host) (string, schedule.HostState) { return h.Name, h.HostState })
	s.Reserves = mapOf(r.Open, func(o reserve) (schedule.Owner, schedule.Reserve) { return o.Owner, o.Reserve })
	s.Ends, s.PackedEnds = slices.Clone(r.Ends), r.PackedEnds
	s.RateLimits = compactRateLimits(r.RateLimits)
	return s
}

// duration returns the session time of the day, cut to the largest time.Duration:
// version 1 allowed more.
func (d day) duration() time.Duration {
	const most = math.MaxInt64/int64(time.Second) - 1
	return time.Duration(min(d.Seconds, most))*time.Second + time.Duration(d.Millis)*time.Millisecond
}
