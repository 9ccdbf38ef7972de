package report

import (
	"slices"
	"strconv"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// shownTicks is how many of the last ticks the text shows; the JSON and the
// status page have all that are kept.
const shownTicks = 7

// past are the last ticks that did something, the latest first.
func (v StateView) past() []schedule.TickRecord {
	past := slices.Clone(v.state.History)
	slices.Reverse(past)
	return past
}

func (v StateView) writePast(p *page) {
	past := v.past()
	if len(past) == 0 {
		return
	}
	p.section("")
	t := table{columns: []column{
		{head: "LAST TICKS"}, {head: "TOOK", right: true, drop: 2}, {head: "SESSIONS", right: true, drop: 4},
		{head: "COMPLETED", right: true, drop: 5}, {head: "PARKED", right: true, drop: 6}, {head: "TOKENS", right: true},
		{head: "ENDED BY", max: 16, min: 8, drop: 3}, {head: "RUN", min: 8, drop: 1},
	}}
	for _, tick := range past[:min(len(past), shownTicks)] {
		t.add(clock(tick.Started, v.now)+" UTC", Duration(tick.Ended.Sub(tick.Started)), strconv.Itoa(tick.Sessions),
			strconv.Itoa(tick.Done), strconv.Itoa(tick.Parked), Number(tick.Tokens), tick.Stopped, tick.Run)
	}
	t.write(p)
}

type pastJSON struct {
	Run       string  `json:"run"`
	Attempt   int     `json:"attempt"`
	StartedAt *string `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	Seconds   float64 `json:"seconds"`
	Stopped   string  `json:"stopped"`
	Sessions  int     `json:"sessions"`
	Completed int     `json:"completed"`
	Parked    int     `json:"parked"`
	Tokens    int64   `json:"tokens"`
}

func pastOf(p schedule.TickRecord) pastJSON {
	return pastJSON{
		Run: p.Run, Attempt: p.Attempt, StartedAt: stamp(p.Started), EndedAt: stamp(p.Ended), Seconds: p.Ended.Sub(p.Started).Seconds(),
		Stopped: p.Stopped, Sessions: p.Sessions, Completed: p.Done, Parked: p.Parked, Tokens: p.Tokens,
	}
}
