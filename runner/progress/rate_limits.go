package progress

import (
	"cmp"
	"encoding/json"
	"time"
)

// Window is a window of the agent's rate limits.
type Window struct {
	Used   float64       // percent
	Length time.Duration // zero if it is not known
	Resets time.Time     // start of the next window; zero if it is not known
}

// window is a window as the agent sends it, in the spelling of newer or of older servers.
type window struct {
	Used         *float64 `json:"usedPercent"`
	Minutes      int64    `json:"windowDurationMins"`
	Resets       int64    `json:"resetsAt"`
	OldUsed      *float64 `json:"used_percent"`
	OldMinutes   int64    `json:"window_minutes"`
	OlderMinutes int64    `json:"window_duration_mins"`
	OldResets    int64    `json:"resets_at"`
}

// Windows returns the windows of rate limits as the agent sent them, see [Progress.Limits].
// They may have any shape: everything that is not a window is left out.
func Windows(limits []byte) []Window {
	var snapshot struct{ Primary, Secondary *window }
	if json.Unmarshal(limits, &snapshot) != nil {
		return nil
	}
	var all []Window
	for _, w := range []*window{snapshot.Primary, snapshot.Secondary} {
		if w == nil {
			continue
		}
		if w.Used == nil {
			w.Used, w.Minutes, w.Resets = w.OldUsed, cmp.Or(w.OldMinutes, w.OlderMinutes), w.OldResets
		}
		if w.Used == nil {
			continue
		}
		one := Window{Used: min(max(*w.Used, 0), 999)}
		if w.Minutes > 0 && w.Minutes < 1<<20 {
			one.Length = time.Duration(w.Minutes) * time.Minute
		}
		if w.Resets > 0 && w.Resets < 1<<35 {
			one.Resets = time.Unix(w.Resets, 0).UTC()
		}
		all = append(all, one)
	}
	return all
}
