package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// The limits of a state. Package schedule drops old days, past ticks and
// deliveries; the limits here catch its defects.
const (
	maxBytes      = 8 << 20
	maxClaims     = 20_000
	maxDays       = 31
	maxPast       = 31
	maxDeliveries = 1000

	maxConversations = maxClaims + maxDeliveries
	maxOpen          = maxClaims + 4000 // reserves of shards with a claim, and of lost shards
)

// The limits of numbers, which no run reaches. They leave room for sums.
const (
	maxGeneration = 1 << 53
	maxCount      = 1<<31 - 1
	maxSeconds    = 1 << 53
)

// The limits of texts. A text that people read is cut, and counted in characters.
// A text that is compared or followed is kept whole or not at all, and counted in
// bytes.
const (
	maxName       = 256
	maxTitle      = 200
	maxWhy        = 500
	maxURL        = 2000
	maxAsked      = 4000
	maxMarkIDs    = 100 // names of comments in a mark, and of those that were read
	maxRateLimits = 16 << 10
	maxNesting    = 64 // objects and arrays in the rate limits, each of which is indented
)

// nextGeneration returns the generation that follows. Only a forged state can have
// the largest one; after it they start again from 1, so that every state that can
// be read can also be saved.
func nextGeneration(generation int64) int64 {
	if generation >= maxGeneration {
		return 1
	}
	return generation + 1
}

// oneLine returns s as one line of valid text, cut to limit characters. Unlike
// [text.OneLine] it keeps spaces and format characters as they are: a name of a
// saved claim stays equal to the tracker's.
func oneLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune { // Map also replaces invalid UTF-8
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return text.Truncate(s, limit)
}

// wholeOrEmpty returns s if it is one line of at most limit bytes, and "" otherwise.
func wholeOrEmpty(s string, limit int) string {
	if len(s) > limit || oneLine(s, limit) != s {
		return ""
	}
	return s
}

// compactRateLimits returns the agent's JSON in its shortest form, nil if it is
// malformed, null, too large or nested too deeply.
func compactRateLimits(raw json.RawMessage) json.RawMessage {
	var short bytes.Buffer
	if !utf8.Valid(raw) || json.Compact(&short, raw) != nil || short.String() == "null" {
		return nil
	}
	nesting := bytes.Count(raw, []byte("{")) + bytes.Count(raw, []byte("["))
	if short.Len() > maxRateLimits || nesting > maxNesting {
		return nil
	}
	return short.Bytes()
}

// validate returns an error for a record that Decode must refuse and Encode must
// not write.
func (r record) validate() error {
	if r.Generation < 0 {
		return fmt.Errorf("generation %d is negative", r.Generation)
	}
	if r.Generation > maxGeneration {
		return fmt.Errorf("generation %d is larger than any state can have", r.Generation)
	}
	if len(r.Claims) > maxClaims || len(r.Days) > maxDays || len(r.Past) > maxPast || len(r.Deliveries) > maxDeliveries {
		return fmt.Errorf("%d claims, %d days, %d past ticks and %d deliveries are more than the %d, %d, %d and %d allowed",
			len(r.Claims), len(r.Days), len(r.Past), len(r.Deliveries), maxClaims, maxDays, maxPast, maxDeliveries)
	}
	for i, c := range r.Claims {
		if i > 0 && c.ID <= r.Claims[i-1].ID {
			return fmt.Errorf("claim %q comes twice or out of order", c.ID)
		}
		if err := c.validate(); err != nil {
			return fmt.Errorf("claim %q: %w", c.ID, err)
		}
	}
	if r.Pause.Why != oneLine(r.Pause.Why, maxWhy) || !allUTC(r.Pause.Since, r.Pause.Until) {
		return errors.New("the reason of the pause is too long or not plain, or a time is not in UTC")
	}
	if r.Pause.Fault != oneLine(r.Pause.Fault, maxWhy) || !r.Pause.Cause.Known() {
		return fmt.Errorf("the fault of the pause is too long or not plain, or its cause %.40q is unknown", string(r.Pause.Cause))
	}
	if w := r.Wait; wholeOrEmpty(w.Tracker, maxName) != w.Tracker || !allUTC(w.Until) {
		return errors.New("the tracker to wait for is not plain text, or the time is not in UTC")
	}
	if r.Pause.Setup != r.Pause.Setup.clamped() || wholeOrEmpty(r.Salt, maxName) != r.Salt {
		return errors.New("the salt or a digest is too long or not plain")
	}
	for _, d := range r.Days {
		if err := d.validate(); err != nil {
			return fmt.Errorf("day %.20q: %w", d.Date, err)
		}
	}
	for i, p := range r.Past {
		if err := p.validate(); err != nil {
			return fmt.Errorf("past tick %d: %w", i+1, err)
		}
	}
	for i, d := range r.Deliveries {
		if i > 0 && d.ID <= r.Deliveries[i-1].ID {
			return fmt.Errorf("delivery %q comes twice or out of order", d.ID)
		}
		if err := d.validate(); err != nil {
			return fmt.Errorf("delivery %q: %w", d.ID, err)
		}
	}
	if len(r.Conversations) > maxConversations {
		return fmt.Errorf("%d conversations are more than the %d allowed", len(r.Conversations), maxConversations)
	}
	for i, c := range r.Conversations {
		if i > 0 && c.ID <= r.Conversations[i-1].ID {
			return fmt.Errorf("conversation %q comes twice or out of order", c.ID)
		}
		if err := c.validate(); err != nil {
			return fmt.Errorf("conversation %q: %w", c.ID, err)
		}
	}
	if len(r.Open) > maxOpen {
		return fmt.Errorf("%d reserves of shards are more than the %d allowed", len(r.Open), maxOpen)
	}
	for i, o := range r.Open {
		if i > 0 && schedule.CompareOwners(schedule.Owner(r.Open[i-1].Owner), schedule.Owner(o.Owner)) >= 0 {
			return fmt.Errorf("reserve %d: its owner comes twice or out of order", i+1)
		}
		if err := o.validate(); err != nil {
			return fmt.Errorf("reserve %d: %w", i+1, err)
		}
	}
	if r.RateLimits != nil && compactRateLimits(r.RateLimits) == nil {
		return errors.New("the rate limits are empty or too large")
	}
	return nil
}

// clamped returns the claim with its texts and numbers within their limits.
func (c claim) clamped() claim {
	c.Identifier = oneLine(c.Identifier, maxName)
	c.Title = oneLine(c.Title, maxTitle)
	c.State = oneLine(c.State, maxName)
	c.Why = oneLine(c.Why, maxWhy)
	c.URL = wholeOrEmpty(c.URL, maxURL)          // a part of a link leads elsewhere
	c.Content = wholeOrEmpty(c.Content, maxName) // empty means unknown
	c.Thread = wholeOrEmpty(c.Thread, maxName)   // empty means a new thread
	for _, n := range []*int{&c.Turns, &c.Attempt, &c.Sessions, &c.Failures, &c.Idle} {
		*n = min(*n, maxCount)
	}
	c.Setup, c.Fault = c.Setup.clamped(), oneLine(c.Fault, maxWhy)
	c.Live, c.Tokens = c.Live.clamped(), min(c.Tokens, schedule.MaxTokens)
	return c
}

func (c claim) validate() error {
	session := c.Phase.HasSession()
	switch {
	case !plainID(c.ID):
		return fmt.Errorf("its id is empty, longer than %d bytes or not plain text", maxName)
	case max(c.Turns, c.Attempt, c.Sessions, c.Failures, c.Idle) > maxCount || c.Live != c.Live.clamped() || c.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case c != c.clamped():
		return errors.New("a text is too long or not plain")
	case !allUTC(c.Since, c.Lease, c.Heard, c.TurnSince, c.Due):
		return errors.New("a time is not in UTC")
	case !session && c.Phase != schedule.Waiting && c.Phase != schedule.Parked:
		return fmt.Errorf("unknown phase %.40q", c.Phase)
	case !session && (c.Owner != owner{} || c.Turns != 0 || c.Live != usage{} || !c.Lease.IsZero() || !c.Heard.IsZero() || !c.TurnSince.IsZero()):
		return fmt.Errorf("it is %s, yet has an owner or a live session", c.Phase)
	case c.Phase != schedule.Waiting && !c.Due.IsZero():
		return fmt.Errorf("it is %s, yet has a due time", c.Phase)
	case c.Phase != schedule.Stopping && c.Cause != "":
		return fmt.Errorf("it is %s, yet has the cause of a stop", c.Phase)
	case c.Cause != "" && !knownCause(c.Cause):
		return fmt.Errorf("unknown cause %.40q", string(c.Cause))
	case min(c.Turns, c.Attempt, c.Sessions, c.Failures, c.Idle) < 0 || min(c.Live.Input, c.Live.Output, c.Tokens) < 0:
		return errors.New("a count is negative")
	}
	return c.Owner.validate()
}

func (o owner) validate() error {
	for _, s := range []string{o.Run, o.Job, o.Host} {
		if wholeOrEmpty(s, maxName) != s {
			return errors.New("a name of its owner is too long or not plain")
		}
	}
	if min(o.Attempt, o.PID, o.Shard) < 0 || min(o.Started, o.Limit) < 0 {
		return errors.New("a number of its owner is negative")
	}
	if max(o.Attempt, o.PID) > maxCount || o.Shard > schedule.MaxShards || o.Limit > int64(schedule.MaxShardTime/time.Second) {
		return errors.New("a number of its owner is too large")
	}
	return nil
}

func (r reserve) validate() error {
	switch {
	case r.Owner.Shard == 0:
		return errors.New("its owner is not a shard")
	case wholeOrEmpty(r.Fleet, maxName) != r.Fleet:
		return errors.New("the name of its fleet is too long or not plain")
	case r.Tokens < 0:
		return errors.New("a count is negative")
	case r.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case !allUTC(r.Since):
		return errors.New("a time is not in UTC")
	case len(r.IDs) == 0 || len(r.IDs) > schedule.MaxSlots:
		return fmt.Errorf("it has %d issues and %d are allowed", len(r.IDs), schedule.MaxSlots)
	}
	for i, id := range r.IDs {
		if !plainID(id) || i > 0 && id <= r.IDs[i-1] {
			return errors.New("an id is not plain, or comes twice or out of order")
		}
	}
	return r.Owner.validate()
}

// CheckOwner returns an error for an owner that no state can hold.
func CheckOwner(o schedule.Owner) error { return owner(o).validate() }

// clamped returns the usage with its numbers within their limits.
func (u usage) clamped() usage {
	return usage{min(u.Input, schedule.MaxTokens), min(u.Output, schedule.MaxTokens)}
}

// clamped returns the setup with its digests kept whole or not at all.
func (s setup) clamped() setup {
	return setup{wholeOrEmpty(s.Agent, maxName), wholeOrEmpty(s.Workflow, maxName)}
}

// clamped returns the day with its numbers within their limits.
func (d day) clamped() day {
	d.Sessions = min(d.Sessions, maxCount)
	d.Tokens, d.Seconds = d.Tokens.clamped(), min(d.Seconds, maxSeconds)
	return d
}

func (d day) validate() error {
	if _, err := time.Parse(time.DateOnly, d.Date); err != nil {
		return errors.New("not a date")
	}
	if d.Sessions < 0 || min(d.Tokens.Input, d.Tokens.Output, d.Seconds) < 0 || d.Millis < 0 {
		return errors.New("a count is negative")
	}
	if d.Millis > 999 {
		return fmt.Errorf("%d milliseconds are a second and more", d.Millis)
	}
	if d != d.clamped() {
		return errors.New("a count is too large")
	}
	return nil
}

// clamped returns the tick with its texts and numbers within their limits.
func (p tickRecord) clamped() tickRecord {
	p.Run = wholeOrEmpty(p.Run, maxName) // a part of a number is another run
	p.Stopped = oneLine(p.Stopped, maxWhy)
	for _, n := range []*int{&p.Attempt, &p.Sessions, &p.Done, &p.Failed, &p.Parked} {
		*n = min(*n, maxCount)
	}
	p.Tokens = min(p.Tokens, schedule.MaxTokens)
	return p
}

func (p tickRecord) validate() error {
	switch {
	case max(p.Attempt, p.Sessions, p.Done, p.Failed, p.Parked) > maxCount || p.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case p != p.clamped():
		return errors.New("a text is too long or not plain")
	case !allUTC(p.Started, p.Ended):
		return errors.New("a time is not in UTC")
	case min(p.Attempt, p.Sessions, p.Done, p.Failed, p.Parked) < 0 || p.Tokens < 0:
		return errors.New("a count is negative")
	}
	return nil
}

// clamped returns the delivery with its texts and number within their limits. The
// names of branches and commits are not changed: a changed name would be wrong.
func (d delivery) clamped() delivery {
	d.Identifier, d.Title = oneLine(d.Identifier, maxName), oneLine(d.Title, maxTitle)
	d.URL, d.IssueURL = wholeOrEmpty(d.URL, maxURL), wholeOrEmpty(d.IssueURL, maxURL) // a part of a link leads elsewhere
	d.Refused, d.LeftOut, d.Blocked = oneLine(d.Refused, maxWhy), oneLine(d.LeftOut, maxWhy), oneLine(d.Blocked, maxWhy)
	d.Number = min(d.Number, maxCount)
	return d
}

func (d delivery) validate() error {
	switch {
	case !plainID(d.ID):
		return fmt.Errorf("its id is empty, longer than %d bytes or not plain text", maxName)
	case d.Number > maxCount || d.Number < 0:
		return errors.New("the number of its pull request is negative or too large")
	case d != d.clamped():
		return errors.New("a text is too long or not plain")
	case wholeOrEmpty(d.Branch, maxName) != d.Branch || wholeOrEmpty(d.Base, maxName) != d.Base:
		return fmt.Errorf("the name of a branch is longer than %d bytes or not plain text", maxName)
	case !emptyOrCommit(d.Head) || !emptyOrCommit(d.Pushing):
		return errors.New("a commit is not 40 digits in lower-case hex")
	case !allUTC(d.At):
		return errors.New("a time is not in UTC")
	}
	return nil
}

// clamped returns the conversation with its texts, numbers and marks within their limits.
func (c conversation) clamped() conversation {
	c.Pull, c.Posted = wholeOrEmpty(c.Pull, maxName), wholeOrEmpty(c.Posted, maxName) // empty means unknown
	c.Thread = wholeOrEmpty(c.Thread, maxName)                                        // empty means a new thread
	c.Asked = text.TruncateBytes(text.Lines(c.Asked), maxAsked)
	c.Rounds, c.CheckRounds, c.Sessions = min(c.Rounds, maxCount), min(c.CheckRounds, maxCount), min(c.Sessions, maxCount)
	c.Tokens = min(c.Tokens, schedule.MaxTokens)
	c.Read = plainNames(c.Read)
	for _, m := range []*mark{&c.ReadUpTo, &c.PromptedUpTo, &c.ParkedUpTo, &c.CommandsUpTo} {
		*m = m.clamped()
	}
	c.Answer, c.PendingCommand.Answer = text.TruncateBytes(text.Lines(c.Answer), maxAsked), text.TruncateBytes(text.Lines(c.PendingCommand.Answer), maxAsked)
	if c.PendingCommand.By = wholeOrEmpty(c.PendingCommand.By, maxName); !isCommand(c.PendingCommand.Command) {
		c.PendingCommand = order{}
	}
	switch c.Checks {
	case schedule.ChecksGreen, schedule.ChecksRed, schedule.ChecksRunning:
	default:
		c.Checks = "" // not known
	}
	return c
}

// isCommand reports whether a command is one that waits for a run to obey it.
func isCommand(c schedule.Command) bool {
	switch c {
	case schedule.CommandRetry, schedule.CommandResume, schedule.CommandStop, schedule.CommandPark:
		return true
	}
	return false
}

// clamped returns the mark with its names kept whole or not at all. A comment whose name
// is dropped is read again.
func (m mark) clamped() mark {
	m.IDs = plainNames(m.IDs)
	m.Checks, m.Conflict = wholeOrEmpty(m.Checks, maxName), wholeOrEmpty(m.Conflict, maxName)
	return m
}

// plainNames returns the names of comments that can be kept whole, at most as many as a
// mark has; nil for none.
func plainNames(names []string) (kept []string) {
	for _, name := range names {
		if name != "" && wholeOrEmpty(name, maxName) == name && len(kept) < maxMarkIDs {
			kept = append(kept, name)
		}
	}
	return kept
}

func (c conversation) validate() error {
	switch {
	case !plainID(c.ID):
		return fmt.Errorf("its id is empty, longer than %d bytes or not plain text", maxName)
	case max(c.Rounds, c.CheckRounds, c.Sessions) > maxCount || c.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case min(c.Rounds, c.CheckRounds, c.Sessions) < 0 || c.Tokens < 0:
		return errors.New("a count is negative")
	case !reflect.DeepEqual(c, c.clamped()):
		return errors.New("a text is too long or not plain, a mark has too many names, or a word is unknown")
	case !allUTC(c.ReadUpTo.At, c.PromptedUpTo.At, c.ParkedUpTo.At, c.CommandsUpTo.At):
		return errors.New("a time is not in UTC")
	}
	for _, names := range [][]string{c.ReadUpTo.IDs, c.PromptedUpTo.IDs, c.ParkedUpTo.IDs, c.CommandsUpTo.IDs, c.Read} {
		if !slices.IsSorted(names) {
			return errors.New("the names of comments are out of order")
		}
	}
	return nil
}

// emptyOrCommit reports whether s is empty or can be the id of a commit. Zeros stand
// for no object, which is an empty text here.
func emptyOrCommit(s string) bool {
	return s == "" || len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// plainID reports whether an issue can have the id.
func plainID(id tracker.ID) bool {
	return id != "" && wholeOrEmpty(string(id), maxName) == string(id)
}

// allUTC reports whether all times are in UTC. Converted from another zone, a time
// could leave the years that can be encoded.
func allUTC(times ...time.Time) bool {
	return !slices.ContainsFunc(times, func(t time.Time) bool { return t.Location() != time.UTC })
}

func knownCause(cause schedule.Reason) bool {
	switch cause {
	case schedule.Stalled, schedule.Terminal, schedule.NotActive, schedule.NotRoutable, schedule.NotDispatchable, schedule.NotVisible,
		schedule.IssueBudget, schedule.TickBudget, schedule.DayBudget,
		schedule.Interrupted, schedule.DeadlineReached, schedule.ClaimLost,
		schedule.Merged, schedule.Closed, schedule.Commanded:
		return true
	}
	return false
}
