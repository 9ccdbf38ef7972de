package telemetry

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Number is one number of a tick. Its name has dots, as in OTLP.
type Number struct {
	Name   string
	Unit   string // of UCUM: s, USD, {token} …
	Help   string
	Sum    bool // the numbers of ticks add up; otherwise the latest counts
	Labels [][2]string
	Value  float64
}

// Measure returns the numbers of a tick, those with the same name one after the other.
func Measure(t report.Tick) []Number {
	var all []Number
	add := func(sum bool, name, unit, help string, value float64, labels ...string) {
		n := Number{Name: name, Unit: unit, Help: help, Sum: sum, Value: value}
		for i := 0; i+1 < len(labels); i += 2 {
			n.Labels = append(n.Labels, [2]string{labels[i], labels[i+1]})
		}
		all = append(all, n)
	}
	c := t.Counts()
	add(false, "symphony.tick.start", "s", "time when the last tick began, since 1970", float64(t.Started.UnixMilli())/1000)
	add(false, "symphony.tick.duration", "s", "time that the last tick took", t.Ended.Sub(t.Started).Seconds())
	for _, o := range []struct {
		outcome string
		n       int
	}{{"completed", c.Completed}, {"failed", c.Failed}, {"parked", c.Parked}, {"retrying", c.Retrying}} {
		add(true, "symphony.tick.issues", "{issue}", "issues that were worked on, by their outcome", float64(o.n), "outcome", o.outcome)
	}
	add(true, "symphony.tick.sessions", "{session}", "sessions that were started", float64(t.Spent.Sessions))
	add(true, "symphony.tick.agent_time", "s", "time of sessions that ended", t.Spent.Time.Seconds())
	for _, u := range t.Spent.Usage.Tariffs {
		for _, part := range []struct {
			kind string
			n    int64
		}{{"input", u.Input - u.Cached - u.CacheWrite}, {"cached_input", u.Cached}, {"cache_write", u.CacheWrite}, {"output", u.Output}} {
			add(true, "symphony.tick.tokens", "{token}", "tokens by model and kind; output includes reasoning", float64(max(part.n, 0)),
				"model", u.Model, "service_tier", u.Tier, "long_context", strconv.FormatBool(u.Long), "kind", part.kind)
		}
	}
	addCost := func(sum bool, name, help string, u schedule.Usage) {
		if c := t.Budget.Prices.Of(u); len(t.Budget.Prices) > 0 {
			add(sum, name, "USD", help, c.USD.Dollars(), "known", strconv.FormatBool(c.IsKnown()))
		}
	}
	addCost(true, "symphony.tick.cost", "US dollars of the tick, by budget.prices; those with a price if not all is known", t.Spent.Usage)
	if t.Today.Date != "" {
		add(false, "symphony.day.tokens", "{token}", "tokens of the day of UTC, over all runs", float64(t.Today.Usage.Total()))
		addCost(false, "symphony.day.cost", "US dollars of the day of UTC, over all runs", t.Today.Usage)
	}
	phases := map[schedule.Phase]int{schedule.Running: 0, schedule.Stopping: 0, schedule.Waiting: 0, schedule.Parked: 0}
	for _, claim := range t.Claims {
		phases[claim.Phase]++
	}
	for _, phase := range []schedule.Phase{schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked} {
		add(false, "symphony.claims", "{claim}", "claims at the end of the tick", float64(phases[phase]), "phase", string(phase))
	}
	paused := 0.0
	if t.Pause.Why != "" {
		paused = 1
	}
	add(false, "symphony.paused", "1", "1 while a systemic failure pauses all issues", paused)
	return all
}

// Text returns the numbers in the text format of Prometheus. They are gauges there, because each
// file begins again.
func Text(numbers []Number) string {
	var b strings.Builder
	last := ""
	for _, n := range numbers {
		name := strings.ReplaceAll(n.Name, ".", "_")
		switch n.Unit {
		case "s":
			name += "_seconds"
		case "USD":
			name += "_usd"
		}
		if name != last {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(n.Help), name)
			last = name
		}
		var labels []string
		for _, label := range n.Labels {
			labels = append(labels, fmt.Sprintf("%s=%q", label[0], labelText(label[1])))
		}
		b.WriteString(name)
		if len(labels) > 0 {
			b.WriteString("{" + strings.Join(labels, ",") + "}")
		}
		b.WriteString(" " + strconv.FormatFloat(n.Value, 'f', -1, 64) + "\n")
	}
	return b.String()
}

// labelText returns a text of which %q writes nothing that Prometheus does not know: it has no
// escapes but \\, \" and \n.
func labelText(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}
