package store

import (
	"reflect"
	"slices"
	"time"
)

// news reports whether r says anything against old that another run, or the
// next, must know. What changes all the time while a session runs is none: the
// tokens it uses, its turns, its signs of life, and the agent's rate limits.
// Each commit holds what they were at the time. A past tick is news: there is
// one more only when a tick that did something ends.
func (r record) news(old record) bool {
	return !reflect.DeepEqual(r.quiet(), old.quiet())
}

// quiet is the record without what is no news.
func (r record) quiet() record {
	r.Generation, r.RateLimits = 0, nil
	r.Claims = slices.Clone(r.Claims)
	for i := range r.Claims {
		c := &r.Claims[i]
		c.Heard, c.TurnSince, c.Turns, c.Live, c.Tokens = time.Time{}, time.Time{}, 0, usage{}, 0
	}
	days := []day{}
	for _, d := range r.Days {
		d.Tokens = usage{}
		if d != (day{Date: d.Date}) {
			days = append(days, d)
		}
	}
	r.Days = days
	return r
}
