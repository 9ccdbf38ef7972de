package scaffold

import "testing"

func TestAScheduleIsATimeOrACronExpression(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"5m": "3,8,13,18,23,28,33,38,43,48,53,58 * * * *", "15m": "13,28,43,58 * * * *", "20m": "13,33,53 * * * *", "30m": "13,43 * * * *",
		"1h": "13 * * * *", "60m": "13 * * * *", "6h": "13 */6 * * *", "24h": "13 5 * * *", "none": "",
		" 7,27  6-18/2 * * 1-5 ": "7,27 6-18/2 * * 1-5",
	} {
		if cron, ok := parseSchedule(text); !ok || cron != want {
			t.Errorf("%q means %q, %v; want %q", text, cron, ok, want)
		}
	}
	for _, text := range []string{"", "1m", "7m", "90m", "5h", "48h", "-1h", "hourly", "1h30s", "* * * *", "60 * * * *", "* * * * 7", "*/0 * * * *", "9-3 * * * *", `" * * * *`, "* * * * * *"} {
		if cron, ok := parseSchedule(text); ok {
			t.Errorf("%q is accepted as %q", text, cron)
		}
	}
}
