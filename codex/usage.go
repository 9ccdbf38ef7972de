package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Usage is a number of tokens (SPEC §13.5). Cached and CacheWrite are parts of Input, read
// from the cache of the model and written to it. Reasoning is a part of Output.
type Usage struct{ Input, Cached, CacheWrite, Output, Reasoning int64 }

// Total returns the number of tokens that counts towards a budget.
func (u Usage) Total() int64 { return u.Input + u.Output }

// each returns the results of f for each pair of parts.
func (u Usage) each(v Usage, f func(a, b int64) int64) Usage {
	return Usage{f(u.Input, v.Input), f(u.Cached, v.Cached), f(u.CacheWrite, v.CacheWrite), f(u.Output, v.Output), f(u.Reasoning, v.Reasoning)}
}

func (u Usage) plus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return a + b }) }

func (u Usage) minus(v Usage) Usage { return u.each(v, func(a, b int64) int64 { return max(a-b, 0) }) }

// tokenCount is a number of tokens as a server reports it: either in parts or only as
// a sum.
type tokenCount struct {
	Usage         // zero when the server reports only the sum
	sumOnly int64 // the sum; zero when the server reports the parts
}

// usageMeter counts the tokens that a session uses. Servers repeatedly report, for
// each thread, the total of the thread's whole life. Sometimes they estimate a total
// and report one that is too low.
type usageMeter struct {
	resumed map[string]bool // the threads that have tokens of before the session
	threads map[string]*threadUsage
	spent   map[Tariff]Usage // tokens of all threads in this session
}

func newUsageMeter(resumed string) usageMeter {
	return usageMeter{resumed: map[string]bool{resumed: resumed != ""}, threads: map[string]*threadUsage{}, spent: map[Tariff]Usage{}}
}

type threadUsage struct {
	parts   Usage // the highest of each part
	sumOnly int64 // the highest sum that was reported without parts
	total   Usage // computed from parts and sumOnly
}

// report records the total of a thread, and counts its increase under a tariff. last is the
// count of the latest response alone; ours reports whether it belongs to a turn of this session.
func (m *usageMeter) report(thread string, total, last tokenCount, tariff Tariff, ours bool) {
	t, before := m.threads[thread], Usage{}
	if t == nil {
		t = &threadUsage{}
		m.threads[thread] = t
		t.add(total)
		if m.resumed[thread] {
			// The server repeats the old total when it resumes a thread. Some servers do
			// not; their first report is of a turn of ours.
			before = t.total
			if ours {
				before = t.without(last)
			}
		}
	} else {
		before = t.total
		t.add(total)
	}
	if more := t.total.minus(before); more != (Usage{}) {
		m.spent[tariff] = m.spent[tariff].plus(more)
	}
}

// add raises the total. Tokens of a sum without parts count as input. They remain
// there when the parts are reported later, because no part may ever decrease: callers
// add up the increases of each part and would count the moved tokens twice.
func (t *threadUsage) add(r tokenCount) {
	t.parts = t.parts.each(r.Usage, func(a, b int64) int64 { return max(a, b) })
	t.sumOnly = max(t.sumOnly, r.sumOnly)
	sum := max(t.parts.Total(), t.sumOnly)
	output := min(t.parts.Output, sum-t.total.Input)
	t.total = t.parts
	t.total.Input, t.total.Output = sum-output, output
}

// without returns the total as it was before the latest response.
func (t *threadUsage) without(last tokenCount) Usage {
	before := t.total.minus(last.Usage)
	sum := max(t.total.Total()-last.Total()-last.sumOnly, 0)
	before.Output = min(before.Output, sum)
	before.Input = sum - before.Output
	return before
}

// spending counts the tokens of a session, and keeps the limits of its account.
type spending struct {
	*core
	hasUnread bool // the account has limits; set by Check, cleared by the turn that reads them

	meter   usageMeter      // core.mu guards it
	tariffs tariffs         // core.mu guards it
	limits  json.RawMessage // the latest snapshot; core.mu guards it
}

// Tariffs returns the tokens that the session has used so far, including sub-agents, by tariff and in
// no order.
func (s *spending) Tariffs() []TariffUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return listed(s.meter.spent)
}

// onUsage counts the tokens of a usage report. A report of an older server may
// contain the account's limits too, or only those.
func (s *spending) onUsage(e *Event, params json.RawMessage) {
	s.onRateLimits(e, rateLimits(params))
	total, last, ok := parseUsageReport(params)
	if !ok {
		return
	}
	var thread, turn string // "" if the server leaves it out
	for _, body := range eventBodies(params) {
		thread = cmp.Or(thread, textMember(body, "threadid", "conversationid"))
		turn = cmp.Or(turn, textMember(body, "turnid"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A report that does not name its turn belongs to the one in progress.
	t := s.turnLocked(thread)
	ours := t != nil && t.id != "" && (turn == "" || turn == t.id)
	thread = cmp.Or(thread, s.thread, s.o.Resume)
	s.meter.report(thread, total, last, s.tariffs.of(thread, last), ours)
	e.Tariffs = listed(s.meter.spent) // the summary stays the method: to count tokens is not something that the agent does
}

// onRateLimits records a snapshot of the account's limits and adds it to the event.
// It ignores a nil snapshot.
func (s *spending) onRateLimits(e *Event, snapshot json.RawMessage) {
	if snapshot == nil {
		return
	}
	e.RateLimits = snapshot
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = snapshot
}

// readLimits asks once for the rate limits of an account that has some. Codex itself
// reports them only with the answers of a model. The server has to ask the account's
// service, so the request is sent after the first turn has started and nothing waits
// for the answer.
func (s *spending) readLimits(ctx context.Context) {
	if !s.hasUnread {
		return
	}
	s.hasUnread = false
	const method = "account/rateLimits/read"
	_, _ = s.conn.sendCall(ctx, method, nil, func(result json.RawMessage, err error) {
		e := Event{Kind: Notification, Method: method, Summary: method}
		if s.onRateLimits(&e, rateLimits(result)); e.RateLimits != nil {
			s.emit(e)
		}
	}) // if the connection has ended the turn fails with the reason
}

// eventBodies returns the objects of a notification that may contain its data. Older
// servers wrap an event of Codex's core into params.msg, some of them with a payload
// in it.
func eventBodies(params json.RawMessage) []json.RawMessage {
	found := []json.RawMessage{params}
	for _, path := range [][]string{{"msg"}, {"payload"}, {"msg", "payload"}} {
		body := params
		for _, name := range path {
			body = member(body, name)
		}
		if body != nil {
			found = append(found, body)
		}
	}
	return found
}

// parseUsageReport returns the total of a thread's life from a message of any
// generation of servers: tokenUsage.total, or total_token_usage in the info of a token
// count. It ignores counts of the tokens between two reports (last, usage), which are
// not totals (SPEC §13.5).
func parseUsageReport(params json.RawMessage) (total, last tokenCount, ok bool) {
	for _, body := range eventBodies(params) {
		for _, at := range []struct {
			in          json.RawMessage
			total, last string
		}{
			{member(body, "tokenusage"), "total", "last"},
			{member(body, "tokenusage"), "totaltokenusage", "lasttokenusage"},
			{member(body, "info"), "totaltokenusage", "lasttokenusage"},
			{body, "totaltokenusage", "lasttokenusage"},
		} {
			if total, ok = parseTokenCount(member(at.in, at.total)); ok {
				last, _ = parseTokenCount(member(at.in, at.last))
				return total, last, true
			}
		}
	}
	return tokenCount{}, tokenCount{}, false
}

// parseTokenCount reads a number of tokens under the names that servers and models
// give its parts. It uses the sum only if a part is missing: when the parts are zero,
// Codex estimates the sum from the size of the model's context.
func parseTokenCount(raw json.RawMessage) (r tokenCount, ok bool) {
	fields := members(raw)
	number := func(names ...string) (n int64, ok bool) {
		for _, name := range names {
			n, err := strconv.ParseInt(string(fields[name]), 10, 64)
			if err == nil && n >= 0 && n <= 1<<53 { // any other value is not a number of tokens
				return n, true
			}
		}
		return 0, false
	}
	var input, output, sum bool
	var all int64
	r.Input, input = number("inputtokens", "prompttokens", "input")
	r.Output, output = number("outputtokens", "completiontokens", "output")
	r.Cached, _ = number("cachedinputtokens")
	r.CacheWrite, _ = number("cachewriteinputtokens")
	r.Reasoning, _ = number("reasoningoutputtokens")
	all, sum = number("totaltokens", "total")
	switch {
	case input && output || !sum:
	case input:
		r.Output = max(all-r.Input, 0)
	case output:
		r.Input = max(all-r.Output, 0)
	default:
		r = tokenCount{sumOnly: all}
	}
	return r, input || output || sum
}

// rateLimits returns the snapshot of the account's limits from a message of any
// generation of servers, or nil if there is none with a value.
func rateLimits(params json.RawMessage) json.RawMessage {
	for _, body := range eventBodies(params) {
		if snapshot := member(body, "ratelimits"); hasValues(snapshot) {
			return snapshot
		}
	}
	return nil
}

// hasValues reports whether a snapshot of limits has a value besides its names. Most
// snapshots have none.
func hasValues(snapshot json.RawMessage) bool {
	for name, value := range members(snapshot) {
		if name != "limitid" && name != "limitname" && present(value) {
			return true
		}
	}
	return false
}

// resetsAt returns the time when a snapshot allows further work: the end of the last
// window that is used up, or else of the first window. It returns the zero time if the
// snapshot has neither.
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
