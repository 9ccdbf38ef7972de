package report_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestACauseHasNoCategories(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"turn: turn_failed: other: no such model: name another":                                                  "no such model: name another",
		"turn: turn_failed: no such model":                                                                       "no such model",
		"turn: turn_failed: limit (HTTP 429): wait":                                                              "limit (HTTP 429): wait",
		"workflow /a b/W.md: invalid_workflow_config:   line 2: tracker.kind: is missing":                        "line 2: tracker.kind: is missing",
		"5 failures in a row (budget.max_attempts_per_issue), the last: turn: turn_failed: other: no such model": "no such model",
		"1 failure in a row (budget.max_attempts_per_issue), the last: git: push failed":                         "git: push failed",
		"asks: 2 failures in a row (budget.max_attempts_per_issue), the last: x":                                 "asks: 2 failures in a row (budget.max_attempts_per_issue), the last: x",
		"workflow /a/W.md: the file is gone":                                                                     "the file is gone",
		"workflow: the file is gone":                                                                             "workflow: the file is gone",
		"asks: Which colour?":                                                                                    "asks: Which colour?",
		"stalled: silent for 5m":                                                                                 "stalled: silent for 5m",
		"make the folder: turn_failed: no":                                                                       "make the folder: no",
		"turn_failed: ":                                                                                          "turn_failed: ",
		"turn_failed":                                                                                            "turn_failed",
		": turn_failed: x":                                                                                       ": x",
		"":                                                                                                       "",
	} {
		if got := report.Cause(reason); got != want {
			t.Errorf("Cause(%q) = %q, want %q", reason, got, want)
		}
	}
}

func TestAReportShowsTheCauseWithoutTheCategoriesBeforeIt(t *testing.T) {
	t.Parallel()
	why := "turn: turn_failed: other: command \"cat license.key\" failed with exit code 1: see the log; another turn may succeed"
	of := report.Of(tick(func(t *report.Tick) {
		t.Rows = []report.Row{with(row("ABC-7", "Title", schedule.IssueFailed, waits("x", end)), func(r *report.Row) { r.Why = why })}
	}))
	for width, want := range map[int]string{40: `command "cat license.key" failed`, 60: `command "cat license.key" failed`, 200: `command "cat license.key" failed with exit code 1: see the log; another turn may succeed`} {
		if text := of.Text(width); !strings.Contains(text, "\n    "+want) {
			t.Errorf("%d columns do not begin with %q:\n%s", width, want, text)
		}
	}
}

// TestAgesAreInWholeSeconds holds a page to words that people use: a run takes 909ms, but
// nothing happened "909ms ago", and what is due is not shown as due too early.
func TestAgesAreInWholeSeconds(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]string{
		0: "", time.Millisecond: "(just now)", 909 * time.Millisecond: "(just now)", time.Second: "(1s ago)",
		1400 * time.Millisecond: "(1s ago)", 59_900 * time.Millisecond: "(59s ago)", 26 * time.Hour: "(1d02h ago)", math.MaxInt64: "(106751d23h ago)",
	} {
		s := schedule.New(schedule.Owner{})
		s.History = []schedule.TickRecord{{Started: end.Add(-ago)}}
		if page := report.State(s, end).Markdown(links); !strings.Contains(page, want) || want == "" && strings.Contains(page, " ago)") {
			t.Errorf("what began %v ago is not shown as %q:\n%s", ago, want, page)
		}
	}
	for ahead, want := range map[time.Duration]string{
		time.Millisecond: "in 1s", 1400 * time.Millisecond: "in 2s", 8 * time.Second: "in 8s", math.MaxInt64: "in 106751d23h",
	} {
		s := schedule.New(schedule.Owner{})
		s.Claims["a"] = schedule.Claim{ID: "a", Phase: schedule.Waiting, Due: end.Add(ahead)}
		if text := report.State(s, end).Text(120); !strings.Contains(text, want+" ") {
			t.Errorf("what is due in %v is not shown as %q:\n%s", ahead, want, text)
		}
	}
}

func TestWrappedTextHangsBelowItsLead(t *testing.T) {
	t.Parallel()
	got := report.Wrapped("problem   codex     ", "codex_not_found: install it with npm install @openai/codex", 40)
	want := "problem   codex     codex_not_found:\n" +
		"                    install it with npm\n" +
		"                    install\n" +
		"                    @openai/codex\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := report.Wrapped("problem   ", "the first\nthe second\n", 40), "problem   the first\n          the second\n"; got != want {
		t.Errorf("of two lines: %q, want %q", got, want)
	}
	long := strings.Repeat("word ", 1000)
	if got := strings.Count(report.Wrapped("- ", long, 40), "word"); got != 1000 {
		t.Errorf("%d words of 1000 are left", got)
	}
	if got := report.Wrapped("ok        prompt    ", "", 40); got != "ok        prompt\n" {
		t.Errorf("without text: %q", got)
	}
}
