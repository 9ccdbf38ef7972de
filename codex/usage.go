package codex

import (
	"encoding/json"
	"strconv"
	"time"
)

// Usage is a number of tokens (SPEC §13.5). Cached is a part of Input, and
// Reasoning of Output.
type Usage struct{ Input, Cached, Output, Reasoning int64 }

// Total is what budgets count.
func (u Usage) Total() int64 { return u.Input + u.Output }

func (u Usage) each(v Usage, f func(a, b int64) int64) Usage {
	return Usage{f(u.Input, v.Input), f(u.Cached, v.Cached), f(u.Output, v.Output), f(u.Reasoning, v.Reasoning)}
}

func (u Usage) plus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return a + b }) }

func (u Usage) minus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a-b, 0) }) }

// meter counts what a session spends. Servers report the total of a thread's
// whole life, again and again, each thread for itself; now and then a total
// is made up and too low.
type meter struct {
	resumed string // this thread has a life before the session
	threads map[string]*tally
}

type tally struct{ before, total Usage }

// report takes a thread's total. last is what the latest response alone cost;
// ours says that a turn of this session caused it.
func (m *meter) report(thread string, total, last Usage, ours bool) {
	t := m.threads[thread]
	if t == nil {
		t = &tally{}
		if thread == m.resumed {
			// The server repeats the old total when it resumes a thread. One
			// that does not reports a turn of ours first.
			t.before = total
			if ours {
				t.before = total.minus(last)
			}
		}
		m.threads[thread] = t
	}
	t.total = t.total.each(total, func(a, b int64) int64 { return max(a, b) })
}

// spent sums what all threads used in this session.
func (m *meter) spent() (sum Usage) {
	for _, t := range m.threads {
		sum = sum.plus(t.total.minus(t.before))
	}
	return sum
}

// usageReport finds the totals in a message of either generation of servers:
// tokenUsage.total, or total_token_usage in the info of a wrapped token count.
func usageReport(params json.RawMessage) (total, last Usage, ok bool) {
	report := member(params, "tokenusage")
	if report == nil {
		report = member(member(params, "msg"), "info")
	}
	raw := member(report, "total")
	if raw == nil {
		raw = member(report, "totaltokenusage")
	}
	total, ok = counts(raw)
	last, _ = counts(member(report, "last")) // newer servers alone resume and need it
	return total, last, ok
}

func counts(raw json.RawMessage) (u Usage, ok bool) {
	for name, value := range members(raw) {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || n < 0 || n > 1<<53 { // no number of tokens
			continue
		}
		switch name {
		case "inputtokens":
			u.Input, ok = n, true
		case "cachedinputtokens":
			u.Cached = n
		case "outputtokens":
			u.Output, ok = n, true
		case "reasoningoutputtokens":
			u.Reasoning = n
		}
	}
	return u, ok
}

// rateLimits finds a snapshot of the account's limits in a message; nil when it
// says nothing, as most of them do.
func rateLimits(params json.RawMessage) json.RawMessage {
	snapshot := member(params, "ratelimits")
	if snapshot == nil {
		snapshot = params
	}
	for name, value := range members(snapshot) {
		if name != "limitid" && name != "limitname" && present(value) {
			return snapshot
		}
	}
	return nil
}

// resetsAt is when work can go on according to a snapshot: when the last used
// up window ends, or else the first of all. Zero when it does not say.
func resetsAt(snapshot json.RawMessage) time.Time {
	var used, first int64
	for _, name := range []string{"primary", "secondary"} {
		window := members(member(snapshot, name))
		at, _ := strconv.ParseInt(string(window["resetsat"]), 10, 64)
		percent, _ := strconv.ParseFloat(string(window["usedpercent"]), 64)
		switch {
		case at <= 0:
		case percent >= 100:
			used = max(used, at)
		case first == 0 || at < first:
			first = at
		}
	}
	if used == 0 {
		used = first
	}
	if used == 0 {
		return time.Time{}
	}
	return time.Unix(used, 0).UTC()
}
