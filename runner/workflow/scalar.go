package workflow

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// maxMillis is the longest time that a time.Duration holds.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// hookTimeout is the default of hooks.timeout_ms, which is also what an invalid
// value falls back to (SPEC §5.3.4).
const hookTimeout = "60000"

const notText = "must be text; put it in quotes if it is"

// whole is v as an integer: a YAML integer, or a string of one (SPEC §5.3).
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	}
	return 0, false // fractions, booleans, and what only fits a uint64 or a float
}

// number is v as an integer between low and high, or a problem.
func (d *draft) number(v value, low, high int64) (int64, bool) {
	n, ok := whole(v.raw)
	if !ok || n < low || n > high {
		d.reject(v, "must be an integer from %d to %d", low, high)
		return 0, false
	}
	return n, true
}

func (d *draft) integer(to *int, low int64) func(value) {
	return func(v value) {
		if n, ok := d.number(v, low, math.MaxInt32); ok {
			*to = int(n)
		}
	}
}

func (d *draft) tokens(to *int64) func(value) {
	return func(v value) {
		if n, ok := d.number(v, 0, math.MaxInt64); ok {
			*to = n
		}
	}
}

func (d *draft) millis(to *time.Duration, low int64) func(value) {
	return func(v value) {
		if n, ok := d.number(v, low, maxMillis); ok {
			*to = time.Duration(n) * time.Millisecond
		}
	}
}

func (d *draft) hookTimeout(v value) {
	n, ok := whole(v.raw)
	if !ok || n < 1 || n > maxMillis {
		d.warn("%s is %s, not an integer from 1 to %d: %s is used instead", v.key, shown(v.raw), maxMillis, hookTimeout)
		n, _ = whole(hookTimeout)
	}
	d.settings.Workspace.Hooks.Timeout = time.Duration(n) * time.Millisecond
}

func (d *draft) port(v value) {
	if n, ok := d.number(v, 0, math.MaxUint16); ok {
		port := int(n)
		d.settings.Port = &port
	}
}

func (d *draft) perHost(v value) {
	if _, ok := d.number(v, 1, math.MaxInt32); ok {
		d.warn("%s is ignored: sessions run on this machine, as many as agent.max_concurrent_agents says", v.key)
	}
}

// text takes a string as it is written. A blank one is as good as none.
func (d *draft) text(to *string) func(value) {
	return func(v value) {
		s, ok := v.raw.(string)
		switch {
		case !ok:
			d.reject(v, notText)
		case strings.Contains(s, "\x00"):
			d.reject(v, "must not contain a NUL character")
		case strings.TrimSpace(s) != "":
			*to = s
		}
	}
}

func (d *draft) command(to *string) func(value) {
	text := d.text(to)
	return func(v value) {
		text(v)
		if s, ok := v.raw.(string); ok && strings.TrimSpace(s) == "" {
			d.reject(v, "must not be empty; remove the key for the default")
		}
	}
}
