package store

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The versions of the format. This program writes version, and reads the versions
// from oldest to version.
const version, oldest = 2, 1

// record is the stored form of a state; it and the types below are the file
// format. A released version never changes: to add, rename or remove a field, or to
// allow a new value in one, make a new version, which must still read the older
// ones. The limits may grow, and never shrink.
//
//	1  the first
//	2  adds optional fields only, so these types read both versions
//
// To add a field, add it here (with omitempty or omitzero), in newRecord or
// newClaim, newDelivery or newConversation, in toState or toSchedule, and in validate; a test fails
// until all of them have it.
type record struct {
	Version    int             `json:"version"`
	Generation int64           `json:"generation"` // one more with each save
	Checksum   string          `json:"checksum"`   // see setChecksum
	Claims     []claim         `json:"claims"`     // sorted by id
	Pause      pause           `json:"pause,omitzero"`
	Wait       trackerWait     `json:"tracker_wait,omitzero"`
	Days       []day           `json:"days,omitempty"`
	RateLimits json.RawMessage `json:"rate_limits,omitempty"`
	Past       []tickRecord    `json:"past,omitempty"`       // oldest first
	Salt       string          `json:"salt,omitempty"`       // salt of the digests in every setup
	Deliveries []delivery      `json:"deliveries,omitempty"` // sorted by id

	Conversations []conversation `json:"conversations,omitempty"` // sorted by id
	Open          []reserve      `json:"open,omitempty"`          // sorted by owner
}

type claim struct {
	ID         tracker.ID      `json:"id"`
	Identifier string          `json:"identifier,omitempty"`
	Title      string          `json:"title,omitempty"`
	URL        string          `json:"url,omitempty"`
	State      string          `json:"state,omitempty"`
	Content    string          `json:"content,omitempty"`
	Phase      schedule.Phase  `json:"phase"`
	Since      time.Time       `json:"since,omitzero"`
	Why        string          `json:"why,omitempty"`
	Owner      owner           `json:"owner,omitzero"`
	Lease      time.Time       `json:"lease,omitzero"`
	Cause      schedule.Reason `json:"cause,omitempty"`
	Heard      time.Time       `json:"heard,omitzero"`
	TurnSince  time.Time       `json:"turn_since,omitzero"`
	Turns      int             `json:"turns,omitempty"`
	Live       usage           `json:"live,omitzero"`
	Attempt    int             `json:"attempt,omitempty"`
	Due        time.Time       `json:"due,omitzero"`
	Thread     string          `json:"thread,omitempty"`
	Sessions   int             `json:"sessions,omitempty"`
	Failures   int             `json:"failures,omitempty"`
	Idle       int             `json:"idle,omitempty"`
	Tokens     int64           `json:"tokens,omitempty"`
	Feedback   bool            `json:"feedback,omitempty"`
	Setup      setup           `json:"setup,omitzero"`
	Fault      string          `json:"fault,omitempty"`
	Unsettled  bool            `json:"unsettled,omitempty"`
}

type owner struct {
	Run     string `json:"run,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Job     string `json:"job,omitempty"`
	Host    string `json:"host,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Started int64  `json:"started,omitempty"`
	Shard   int    `json:"shard,omitempty"`
	Limit   int64  `json:"limit,omitempty"`
}

// reserve holds what a plan has set aside for a shard until its result is counted.
type reserve struct {
	Owner  owner        `json:"owner"`
	Fleet  string       `json:"fleet,omitempty"`
	Since  time.Time    `json:"since,omitzero"`
	Tokens int64        `json:"tokens,omitempty"`
	IDs    []tracker.ID `json:"ids"` // sorted
}

type usage struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
}

type pause struct {
	Why   string    `json:"why"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Setup setup     `json:"setup,omitzero"`

	Cause  schedule.Cause `json:"cause,omitempty"`
	Fault  string         `json:"fault,omitempty"`
	Passed bool           `json:"passed,omitempty"`
}

// setup holds digests of what a session depends on. They can only be compared with
// digests made with the same salt.
type setup struct {
	Agent    string `json:"agent,omitempty"`
	Workflow string `json:"workflow,omitempty"`
}

type trackerWait struct {
	Tracker string    `json:"tracker,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}

type day struct {
	Date     string `json:"date"`
	Sessions int    `json:"sessions,omitempty"`
	Tokens   usage  `json:"tokens,omitzero"`
	Seconds  int64  `json:"seconds,omitempty"`
	Millis   int    `json:"millis,omitempty"` // milliseconds beside the seconds
}

type tickRecord struct {
	Run      string    `json:"run,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Stopped  string    `json:"stopped,omitempty"`
	Sessions int       `json:"sessions,omitempty"`
	Done     int       `json:"done,omitempty"`
	Failed   int       `json:"failed,omitempty"`
	Parked   int       `json:"parked,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"`
}

type delivery struct {
	ID         tracker.ID `json:"id"`
	Identifier string     `json:"identifier,omitempty"`
	Title      string     `json:"title,omitempty"`
	IssueURL   string     `json:"issue_url,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	Base       string     `json:"base,omitempty"`
	Head       string     `json:"head,omitempty"`
	Pushing    string     `json:"pushing,omitempty"`
	Number     int        `json:"number,omitempty"`
	URL        string     `json:"url,omitempty"`
	At         time.Time  `json:"at,omitzero"`
	Refused    string     `json:"refused,omitempty"`
	LeftOut    string     `json:"left_out,omitempty"`
	Blocked    string     `json:"blocked,omitempty"`
	Lost       bool       `json:"lost,omitempty"`
}

type conversation struct {
	ID             tracker.ID      `json:"id"`
	ReadUpTo       mark            `json:"heard,omitzero"`
	PromptedUpTo   mark            `json:"given,omitzero"`
	ParkedUpTo     mark            `json:"parked,omitzero"`
	CommandsUpTo   mark            `json:"obeyed,omitzero"`
	Read           []string        `json:"read,omitempty"`
	Pull           string          `json:"pull,omitempty"`
	Checks         schedule.Checks `json:"checks,omitempty"`
	Closed         bool            `json:"closed,omitempty"`
	Rounds         int             `json:"rounds,omitempty"`
	CheckRounds    int             `json:"check_rounds,omitempty"`
	Moved          bool            `json:"moved,omitempty"`
	Asked          string          `json:"asked,omitempty"`
	Posted         string          `json:"posted,omitempty"`
	PendingCommand order           `json:"ordered,omitzero"`
	Answer         string          `json:"answer,omitempty"`
	Thread         string          `json:"thread,omitempty"`
	Sessions       int             `json:"sessions,omitempty"`
	Tokens         int64           `json:"tokens,omitempty"`
}

type order struct {
	Command schedule.Command `json:"command"`
	By      string           `json:"by,omitempty"`
	Answer  string           `json:"answer,omitempty"`
}

type mark struct {
	At       time.Time `json:"at,omitzero"`
	IDs      []string  `json:"ids,omitempty"`
	Checks   string    `json:"checks,omitempty"`
	Conflict string    `json:"conflict,omitempty"`
}

// IsZero reports whether the mark is left out of the file.
func (m mark) IsZero() bool { return schedule.Mark(m).IsZero() }

// newRecord returns the stored form of s, with its texts and numbers within their
// limits.
func newRecord(s *schedule.State, generation int64) record {
	r := record{
		Version:    version,
		Generation: generation,
		Claims:     make([]claim, 0, len(s.Claims)),
		Pause:      newPause(s.Pause),
		RateLimits: compactRateLimits(s.RateLimits),
		Wait:       trackerWait{wholeOrEmpty(s.Wait.Tracker, maxName), s.Wait.Until.UTC()},
		Salt:       wholeOrEmpty(s.Salt, maxName),
	}
	for _, id := range slices.Sorted(maps.Keys(s.Claims)) {
		r.Claims = append(r.Claims, newClaim(s.Claims[id]).clamped())
	}
	for _, d := range s.Days {
		took := max(d.Time, 0) // negative when the clock was set back
		seconds, millis := int64(took/time.Second), int(took%time.Second/time.Millisecond)
		r.Days = append(r.Days, day{d.Date, d.Sessions, usage(d.Usage), seconds, millis}.clamped())
	}
	for _, p := range s.History {
		p.Started, p.Ended = p.Started.UTC(), p.Ended.UTC()
		r.Past = append(r.Past, tickRecord(p).clamped())
	}
	for _, id := range slices.Sorted(maps.Keys(s.Deliveries)) {
		r.Deliveries = append(r.Deliveries, newDelivery(id, s.Deliveries[id]).clamped())
	}
	for _, id := range slices.Sorted(maps.Keys(s.Conversations)) {
		r.Conversations = append(r.Conversations, newConversation(id, s.Conversations[id]).clamped())
	}
	for _, o := range slices.SortedStableFunc(maps.Keys(s.Reserves), schedule.CompareOwners) {
		held := s.Reserves[o]
		r.Open = append(r.Open, reserve{owner(o), wholeOrEmpty(held.Fleet, maxName), held.Since.UTC(), min(held.Tokens, schedule.MaxTokens), held.IDs})
	}
	return r
}

func newPause(p schedule.Pause) pause {
	return pause{
		Why: oneLine(p.Why, maxWhy), Since: p.Since.UTC(), Until: p.Until.UTC(), Setup: setup(p.Setup).clamped(),
		Cause: p.Cause, Fault: oneLine(p.Fault, maxWhy), Passed: p.Passed,
	}
}

func newClaim(c schedule.Claim) claim {
	return claim{
		ID: c.ID, Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State, Content: c.Content,
		Phase: c.Phase, Since: c.Since.UTC(), Why: c.Why,
		Owner: owner(c.Owner), Lease: c.Lease.UTC(), Cause: c.StopReason, Heard: c.Heard.UTC(), TurnSince: c.TurnSince.UTC(), Turns: c.Turns, Live: usage(c.Live),
		Attempt: c.Attempt, Due: c.Due.UTC(), Thread: c.Thread,
		Sessions: c.Sessions, Failures: c.Failures, Idle: c.Idle, Tokens: c.Tokens, Feedback: c.Feedback, Setup: setup(c.Setup), Fault: c.Fault, Unsettled: c.Unsettled,
	}
}

func newDelivery(id tracker.ID, d schedule.Delivery) delivery {
	return delivery{
		ID: id, Identifier: d.Identifier, Title: d.Title, IssueURL: d.IssueURL, Branch: d.Branch, Base: d.Base, Head: d.Head, Pushing: d.Pushing,
		Number: d.Number, URL: d.URL, At: d.At.UTC(), Refused: d.Refused, LeftOut: d.LeftOut, Blocked: d.Blocked, Lost: d.Lost,
	}
}

func newConversation(id tracker.ID, c schedule.Conversation) conversation {
	return conversation{
		ID: id, ReadUpTo: newMark(c.ReadUpTo), PromptedUpTo: newMark(c.PromptedUpTo), ParkedUpTo: newMark(c.ParkedUpTo), CommandsUpTo: newMark(c.CommandsUpTo),
		Read: c.Read, Pull: c.Pull, Checks: c.Checks, Closed: c.Closed, Rounds: c.Rounds, CheckRounds: c.CheckRounds, Moved: c.Moved, Asked: c.Asked, Posted: c.Posted, PendingCommand: order(c.PendingCommand), Answer: c.Answer,
		Thread: c.Thread, Sessions: c.Sessions, Tokens: c.Tokens,
	}
}

func newMark(m schedule.Mark) mark { return mark{m.At.UTC(), m.IDs, m.Checks, m.Conflict} }

// toState returns the state that the record holds.
func (r record) toState() *schedule.State {
	s := schedule.New(schedule.Owner{})
	for _, c := range r.Claims {
		s.Claims[c.ID] = c.toSchedule()
	}
	s.Wait = schedule.TrackerWait(r.Wait)
	s.Pause = schedule.Pause{
		Why: r.Pause.Why, Since: r.Pause.Since, Until: r.Pause.Until, Setup: schedule.Setup(r.Pause.Setup),
		Cause: r.Pause.Cause, Fault: r.Pause.Fault, Passed: r.Pause.Passed,
	}
	s.Salt = r.Salt
	for _, d := range r.Days {
		s.Days = append(s.Days, schedule.Day{Date: d.Date, Sessions: d.Sessions, Usage: schedule.Usage(d.Tokens), Time: d.duration()})
	}
	for _, p := range r.Past {
		s.History = append(s.History, schedule.TickRecord(p))
	}
	if len(r.Deliveries) > 0 {
		s.Deliveries = make(map[tracker.ID]schedule.Delivery, len(r.Deliveries))
	}
	for _, d := range r.Deliveries {
		s.Deliveries[d.ID] = d.toSchedule()
	}
	if len(r.Conversations) > 0 {
		s.Conversations = make(map[tracker.ID]schedule.Conversation, len(r.Conversations))
	}
	for _, c := range r.Conversations {
		s.Conversations[c.ID] = c.toSchedule()
	}
	if len(r.Open) > 0 {
		s.Reserves = make(map[schedule.Owner]schedule.Reserve, len(r.Open))
	}
	for _, o := range r.Open {
		s.Reserves[schedule.Owner(o.Owner)] = schedule.Reserve{Fleet: o.Fleet, Since: o.Since, Tokens: o.Tokens, IDs: o.IDs}
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

func (c claim) toSchedule() schedule.Claim {
	return schedule.Claim{
		ID: c.ID, Identifier: c.Identifier, Title: c.Title, URL: c.URL, State: c.State, Content: c.Content,
		Phase: c.Phase, Since: c.Since, Why: c.Why,
		Owner: schedule.Owner(c.Owner), Lease: c.Lease, StopReason: c.Cause, Heard: c.Heard, TurnSince: c.TurnSince, Turns: c.Turns, Live: schedule.Usage(c.Live),
		Attempt: c.Attempt, Due: c.Due, Thread: c.Thread,
		Sessions: c.Sessions, Failures: c.Failures, Idle: c.Idle, Tokens: c.Tokens, Feedback: c.Feedback, Setup: schedule.Setup(c.Setup), Fault: c.Fault, Unsettled: c.Unsettled,
	}
}

func (d delivery) toSchedule() schedule.Delivery {
	return schedule.Delivery{
		Identifier: d.Identifier, Title: d.Title, IssueURL: d.IssueURL, Branch: d.Branch, Base: d.Base, Head: d.Head, Pushing: d.Pushing,
		Number: d.Number, URL: d.URL, At: d.At, Refused: d.Refused, LeftOut: d.LeftOut, Blocked: d.Blocked, Lost: d.Lost,
	}
}

func (c conversation) toSchedule() schedule.Conversation {
	return schedule.Conversation{
		ReadUpTo: schedule.Mark(c.ReadUpTo), PromptedUpTo: schedule.Mark(c.PromptedUpTo), ParkedUpTo: schedule.Mark(c.ParkedUpTo), CommandsUpTo: schedule.Mark(c.CommandsUpTo),
		Read: c.Read, Pull: c.Pull, Checks: c.Checks, Closed: c.Closed, Rounds: c.Rounds, CheckRounds: c.CheckRounds, Moved: c.Moved, Asked: c.Asked, Posted: c.Posted, PendingCommand: schedule.Order(c.PendingCommand), Answer: c.Answer,
		Thread: c.Thread, Sessions: c.Sessions, Tokens: c.Tokens,
	}
}
