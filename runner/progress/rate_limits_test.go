package progress

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWindowsOfRateLimitsAreReadFromWhateverTheAgentSent(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string][]Window{
		``:                                    nil,
		`no JSON`:                             nil,
		`[]`:                                  nil,
		`{"primary":null}`:                    nil,
		`{"primary":{}}`:                      nil,
		`{"primary":{"usedPercent":"a lot"}}`: nil,
		`{"primary":{"usedPercent":43,"windowDurationMins":300,"resetsAt":1795300000},"secondary":{"usedPercent":7.5,"windowDurationMins":10080}}`: {
			{Used: 43, Length: 5 * time.Hour, Resets: time.Unix(1795300000, 0).UTC()}, {Used: 7.5, Length: 7 * 24 * time.Hour},
		},
		`{"primary":{"used_percent":43,"window_minutes":300,"resets_at":1795300000},"secondary":{"used_percent":0,"window_duration_mins":10080}}`: {
			{Used: 43, Length: 5 * time.Hour, Resets: time.Unix(1795300000, 0).UTC()}, {Length: 7 * 24 * time.Hour},
		},
		`{"secondary":{"usedPercent":-1,"windowDurationMins":-5,"resetsAt":9223372036854775807}}`: {{}},
		`{"secondary":{"usedPercent":1e300,"windowDurationMins":9223372036854775807}}`:            {{Used: 999}},
	} {
		if diff := cmp.Diff(want, Windows([]byte(limits))); diff != "" {
			t.Errorf("%s: %s", limits, diff)
		}
	}
}
