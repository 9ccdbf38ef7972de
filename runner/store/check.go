package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// The limits of a state. Days and past ticks are schedule's to forget; these are
// its mistakes.
const (
	maxBytes  = 8 << 20
	maxClaims = 20_000
	maxDays   = 31
	maxPast   = 31
)

// The limits of numbers, which no run reaches. They leave room for sums.
const (
	maxGeneration = 1 << 53
	maxCount      = 1<<31 - 1
	maxSeconds    = 1 << 53
)

// nextGeneration returns the generation of the save that follows one. After the
// largest, which only a forged state can have, they begin again: a state that
// can be read can also be saved.
func nextGeneration(generation int64) int64 {
	if generation >= maxGeneration {
		return 1
	}
	return generation + 1
}

// check says what is wrong with the record. It binds both directions: what it
// refuses is neither read nor written.
func (r record) check() error {
	if r.Generation < 0 {
		return fmt.Errorf("generation %d is negative", r.Generation)
	}
	if r.Generation > maxGeneration {
		return fmt.Errorf("generation %d is larger than any state can have", r.Generation)
	}
	if len(r.Claims) > maxClaims || len(r.Days) > maxDays || len(r.Past) > maxPast {
		return fmt.Errorf("%d claims, %d days and %d past ticks are more than the %d, %d and %d allowed",
			len(r.Claims), len(r.Days), len(r.Past), maxClaims, maxDays, maxPast)
	}
	for i, c := range r.Claims {
		if i > 0 && c.ID <= r.Claims[i-1].ID {
			return fmt.Errorf("claim %q comes twice or out of order", c.ID)
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("claim %q: %w", c.ID, err)
		}
	}
	if r.Pause.Why != line(r.Pause.Why, maxWhy) || !utc(r.Pause.Since, r.Pause.Until) {
		return errors.New("the reason of the pause is too long or not plain, or a time is not in UTC")
	}
	if w := r.Wait; whole(w.Tracker, maxName) != w.Tracker || !utc(w.Until) {
		return errors.New("the tracker to wait for is not plain text, or the time is not in UTC")
	}
	if r.Pause.Setup != r.Pause.Setup.fit() || whole(r.Salt, maxName) != r.Salt {
		return errors.New("the salt or a digest is too long or not plain")
	}
	for _, d := range r.Days {
		if err := d.check(); err != nil {
			return fmt.Errorf("day %.20q: %w", d.Date, err)
		}
	}
	for i, p := range r.Past {
		if err := p.check(); err != nil {
			return fmt.Errorf("past tick %d: %w", i+1, err)
		}
	}
	if r.RateLimits != nil && snapshot(r.RateLimits) == nil {
		return errors.New("the rate limits are empty or too large")
	}
	return nil
}

// fit returns the claim with its texts and numbers within their limits.
func (c claim) fit() claim {
	c.Identifier = line(c.Identifier, maxName)
	c.Title = line(c.Title, maxTitle)
	c.State = line(c.State, maxName)
	c.Why = line(c.Why, maxWhy)
	c.URL = whole(c.URL, maxURL)          // half a link leads elsewhere
	c.Content = whole(c.Content, maxName) // none means not known
	c.Thread = whole(c.Thread, maxName)   // none means a new one
	for _, n := range []*int{&c.Turns, &c.Attempt, &c.Sessions, &c.Failures, &c.Idle} {
		*n = min(*n, maxCount)
	}
	c.Setup = c.Setup.fit()
	c.Live, c.Tokens = c.Live.fit(), min(c.Tokens, schedule.MaxTokens)
	return c
}

func (c claim) check() error {
	session := c.Phase == schedule.Running || c.Phase == schedule.Stopping
	switch {
	case len(c.ID) == 0 || whole(string(c.ID), maxName) != string(c.ID):
		return fmt.Errorf("its id is empty, longer than %d bytes or not plain text", maxName)
	case max(c.Turns, c.Attempt, c.Sessions, c.Failures, c.Idle) > maxCount || c.Live != c.Live.fit() || c.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case c != c.fit():
		return errors.New("a text is too long or not plain")
	case !utc(c.Since, c.Lease, c.Heard, c.TurnSince, c.Due):
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
	return c.Owner.check()
}

func (o owner) check() error {
	for _, s := range []string{o.Run, o.Job, o.Host} {
		if whole(s, maxName) != s {
			return errors.New("a name of its owner is too long or not plain")
		}
	}
	if min(o.Attempt, o.PID) < 0 || o.Started < 0 {
		return errors.New("a number of its owner is negative")
	}
	if max(o.Attempt, o.PID) > maxCount {
		return errors.New("a number of its owner is too large")
	}
	return nil
}

// fit returns the usage with its numbers within their limits.
func (u usage) fit() usage {
	return usage{min(u.Input, schedule.MaxTokens), min(u.Output, schedule.MaxTokens)}
}

// fit returns the setup with its digests kept whole or not at all.
func (s setup) fit() setup { return setup{whole(s.Agent, maxName), whole(s.Workflow, maxName)} }

// fit returns the day with its numbers within their limits.
func (d day) fit() day {
	d.Sessions = min(d.Sessions, maxCount)
	d.Tokens, d.Seconds = d.Tokens.fit(), min(d.Seconds, maxSeconds)
	return d
}

func (d day) check() error {
	if _, err := time.Parse(time.DateOnly, d.Date); err != nil {
		return errors.New("not a date")
	}
	if d.Sessions < 0 || min(d.Tokens.Input, d.Tokens.Output, d.Seconds) < 0 || d.Millis < 0 {
		return errors.New("a count is negative")
	}
	if d.Millis > 999 {
		return fmt.Errorf("%d milliseconds are a second and more", d.Millis)
	}
	if d != d.fit() {
		return errors.New("a count is too large")
	}
	return nil
}

// fit returns the tick with its texts and numbers within their limits.
func (p past) fit() past {
	p.Run = whole(p.Run, maxName) // half a number is another run
	p.Stopped = line(p.Stopped, maxWhy)
	for _, n := range []*int{&p.Attempt, &p.Sessions, &p.Done, &p.Parked} {
		*n = min(*n, maxCount)
	}
	p.Tokens = min(p.Tokens, schedule.MaxTokens)
	return p
}

func (p past) check() error {
	switch {
	case max(p.Attempt, p.Sessions, p.Done, p.Parked) > maxCount || p.Tokens > schedule.MaxTokens:
		return errors.New("a count is too large")
	case p != p.fit():
		return errors.New("a text is too long or not plain")
	case !utc(p.Started, p.Ended):
		return errors.New("a time is not in UTC")
	case min(p.Attempt, p.Sessions, p.Done, p.Parked) < 0 || p.Tokens < 0:
		return errors.New("a count is negative")
	}
	return nil
}

// utc reports whether all times are written in UTC: another zone could carry
// one out of the years that can be written again.
func utc(times ...time.Time) bool {
	return !slices.ContainsFunc(times, func(t time.Time) bool { return t.Location() != time.UTC })
}

func knownCause(cause schedule.Cause) bool {
	switch cause {
	case schedule.Stalled, schedule.BecameDone, schedule.LeftActive, schedule.Unroutable, schedule.Withdrawn, schedule.Vanished,
		schedule.OverIssue, schedule.OverTick, schedule.OverDay,
		schedule.Interrupted, schedule.DeadlineReached, schedule.LostClaim:
		return true
	}
	return false
}
