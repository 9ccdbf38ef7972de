package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/bounds"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// The limits of a state that do not stand in the tags of its types. Package schedule drops old
// days, past ticks and deliveries; the limits catch its defects.
const (
	maxBytes      = 8 << 20
	maxGeneration = bounds.MaxInt64
	maxName       = 256 // bytes of a name
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
	if err := bounds.Apply(&r); err != nil {
		return err
	}
	for i, c := range r.Claims {
		if i > 0 && c.ID <= r.Claims[i-1].ID {
			return fmt.Errorf("claim %q comes twice or out of order", c.ID)
		}
		if err := validateClaim(c); err != nil {
			return fmt.Errorf("claim %q: %w", c.ID, err)
		}
	}
	if !r.Pause.Cause.Known() {
		return fmt.Errorf("the cause of the pause %.40q is unknown", string(r.Pause.Cause))
	}
	for _, d := range r.Days {
		if err := d.validate(); err != nil {
			return fmt.Errorf("day %q: %w", d.Date, err)
		}
	}
	for i, d := range r.Deliveries {
		if i > 0 && d.ID <= r.Deliveries[i-1].ID {
			return fmt.Errorf("delivery %q comes twice or out of order", d.ID)
		}
		if d.ID == "" || !emptyOrCommit(d.Head) || !emptyOrCommit(d.Pushing) {
			return fmt.Errorf("delivery %q: its id is empty, or a commit is not 40 digits in lower-case hex", d.ID)
		}
	}
	for i, c := range r.Conversations {
		if i > 0 && c.ID <= r.Conversations[i-1].ID {
			return fmt.Errorf("conversation %q comes twice or out of order", c.ID)
		}
		if err := c.validate(); err != nil {
			return fmt.Errorf("conversation %q: %w", c.ID, err)
		}
	}
	for i, q := range r.Queued {
		if q.ID == "" || i > 0 && q.ID <= r.Queued[i-1].ID {
			return fmt.Errorf("queued issue %q is empty, comes twice or is out of order", q.ID)
		}
	}
	for i, h := range r.Hosts {
		if h.Name == "" || i > 0 && h.Name <= r.Hosts[i-1].Name {
			return fmt.Errorf("worker host %q is empty, comes twice or is out of order", h.Name)
		}
	}
	for i, o := range r.Open {
		if i > 0 && schedule.CompareOwners(r.Open[i-1].Owner, o.Owner) >= 0 {
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

func validateClaim(c schedule.Claim) error {
	session := c.Phase.HasSession()
	switch {
	case c.ID == "":
		return errors.New("its id is empty")
	case session && !c.LostUntil.IsZero():
		return fmt.Errorf("it is %s, yet its last session may not have ended", c.Phase)
	case !session && c.Phase != schedule.Waiting && c.Phase != schedule.Parked:
		return fmt.Errorf("unknown phase %.40q", c.Phase)
	case !session && (c.Owner != schedule.Owner{} || c.Turns != 0 || !c.Live.IsZero() || !c.Lease.IsZero() || !c.Heard.IsZero() || !c.TurnSince.IsZero()):
		return fmt.Errorf("it is %s, yet has an owner or a live session", c.Phase)
	case c.Phase != schedule.Waiting && !c.Due.IsZero():
		return fmt.Errorf("it is %s, yet has a due time", c.Phase)
	case c.Phase != schedule.Stopping && c.StopReason != "":
		return fmt.Errorf("it is %s, yet has the cause of a stop", c.Phase)
	case c.StopReason != "" && !c.StopReason.Stops():
		return fmt.Errorf("unknown cause %.40q", string(c.StopReason))
	}
	return nil
}

func (d day) validate() error {
	if _, err := time.Parse(time.DateOnly, d.Date); err != nil {
		return errors.New("not a date")
	}
	if d.Millis > 999 {
		return fmt.Errorf("%d milliseconds are a second and more", d.Millis)
	}
	return nil
}

func (c conversation) validate() error {
	if c.ID == "" {
		return errors.New("its id is empty")
	}
	if p := c.PendingCommand; p != (schedule.Order{}) && !p.Command.Waits() || !c.Checks.Known() {
		return fmt.Errorf("unknown command %q or unknown checks %q", p.Command, c.Checks)
	}
	for _, names := range [][]string{c.ReadUpTo.IDs, c.PromptedUpTo.IDs, c.ParkedUpTo.IDs, c.CommandsUpTo.IDs, c.Read} {
		if !slices.IsSorted(names) {
			return errors.New("the names of comments are out of order")
		}
	}
	return nil
}

func (r reserve) validate() error {
	switch {
	case r.Owner.Shard == 0:
		return errors.New("its owner is not a shard")
	case len(r.IDs) == 0:
		return errors.New("it has no issues")
	case r.IDs[0] == "":
		return errors.New("an id is empty")
	}
	for i, id := range r.IDs[1:] {
		if id <= r.IDs[i] {
			return errors.New("an id comes twice or out of order")
		}
	}
	return nil
}

// CheckOwner returns an error for an owner that no state can hold.
func CheckOwner(o schedule.Owner) error { return bounds.Apply(&o) }

// emptyOrCommit reports whether s is empty or can be the id of a commit. Zeros stand
// for no object, which is an empty text here.
func emptyOrCommit(s string) bool {
	return s == "" || len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}
