package store

import (
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
	Worked        time.Time       `json:"worked,omitzero"`                            // see [schedule.State.Worked]
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
		Claims: make([]schedule.Claim, 0, len(s.Claims)), Past: slices.Clone(s.History),
		Pause: s.Pause, Wait: s.Wait, RateLimits: compactRateLimits(s.RateLimits), Salt: s.Salt,
		Told: slices.Clone(s.Told), Worked: s.Worked,
		Ends: slices.Clone(s.Ends), PackedEnds: s.PackedEnds,
	}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		r.Claims = append(r.Claims, s.Claims[id])
	}
	for _, d := range s.Days {
		took := max(d.Time, 0) // negative when the clock was set back
		seconds, millis := int64(took/time.Second), int(took%time.Second/time.Millisecond)
		r.Days = append(r.Days, day{d.Date, d.Sessions, d.Usage, seconds, millis})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Deliveries)) {
		r.Deliveries = append(r.Deliveries, delivery{id, s.Deliveries[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Conversations)) {
		c := s.Conversations[id]
		if !c.PendingCommand.Command.Waits() {
			c.PendingCommand = schedule.Order{}
		}
		if !c.Checks.Known() {
			c.Checks = ""
		}
		r.Conversations = append(r.Conversations, conversation{id, c})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Queued)) {
		r.Queued = append(r.Queued, queued{id, s.Queued[id]})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
		r.Hosts = append(r.Hosts, host{name, s.Hosts[name]})
	}
	for _, o := range slices.SortedFunc(maps.Keys(s.Reserves), schedule.CompareOwners) {
		r.Open = append(r.Open, reserve{o, s.Reserves[o]})
	}
	_ = bounds.Apply(&r) // validate reports a value that could not be changed
	return r
}

// toState returns the state that the record holds.
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
	if len(r.Deliveries) > 0 {
		s.Deliveries = make(map[tracker.ID]schedule.Delivery, len(r.Deliveries))
	}
	for _, d := range r.Deliveries {
		s.Deliveries[d.ID] = d.Delivery
	}
	if len(r.Conversations) > 0 {
		s.Conversations = make(map[tracker.ID]schedule.Conversation, len(r.Conversations))
	}
	for _, c := range r.Conversations {
		s.Conversations[c.ID] = c.Conversation
	}
	s.Ends, s.PackedEnds = slices.Clone(r.Ends), r.PackedEnds
	if len(r.Queued) > 0 {
		s.Queued = make(map[tracker.ID]time.Time, len(r.Queued))
	}
	for _, q := range r.Queued {
		s.Queued[q.ID] = q.Since
	}
	if len(r.Hosts) > 0 {
		s.Hosts = make(map[string]schedule.HostState, len(r.Hosts))
	}
	for _, h := range r.Hosts {
		s.Hosts[h.Name] = h.HostState
	}
	if len(r.Open) > 0 {
		s.Reserves = make(map[schedule.Owner]schedule.Reserve, len(r.Open))
	}
	for _, o := range r.Open {
		s.Reserves[o.Owner] = o.Reserve
	}
	s.RateLimits = compactRateLimits(r.RateLimits)
	return s
}

// duration returns the session time of the day, cut to the largest time.Duration:
// version 1 allowed more.
func (d day) duration() time.Duration {
	const most = math.MaxInt64/int64(time.Second) - 1
	return time.Duration(min(d.Seconds, most))*time.Second + time.Duration(d.Millis)*time.Millisecond
}
