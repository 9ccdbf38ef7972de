package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestAnIssueIsCompletedWhenItsWorkIsPublished(t *testing.T) {
	t.Parallel()
	const delivers = true
	review := schedule.Next{Why: schedule.Why{Reason: schedule.NotActive}}
	for _, test := range []struct {
		outcome  schedule.Outcome
		next     schedule.Next
		delivers bool
		want     string
	}{
		{schedule.Outcome{Class: schedule.Done}, review, !delivers, "completed"},
		{schedule.Outcome{Class: schedule.Done}, waits("continuation", end), !delivers, "unfinished"},
		{schedule.Outcome{Class: schedule.Done, Delivered: true}, waits("continuation", end), delivers, "completed"},
		{schedule.Outcome{Class: schedule.Done, Delivered: true}, review, delivers, "completed"},
		{schedule.Outcome{Class: schedule.Done}, review, delivers, "no change"},
		{schedule.Outcome{Class: schedule.Done}, parks("idle"), delivers, "parked"},
		{schedule.Outcome{Class: schedule.Stopped, Turns: 1}, review, !delivers, "handed over"},
		{schedule.Outcome{Class: schedule.Stopped, Turns: 1, Delivered: true}, review, delivers, "handed over"},
		{schedule.Outcome{Class: schedule.Stopped, Turns: 1}, review, delivers, "stopped"},
		{schedule.Outcome{Class: schedule.IssueFailed, Refused: refusal}, waits("refused", end), delivers, "refused"},
		{schedule.Outcome{Class: schedule.IssueFailed, Refused: refusal}, parks("refused"), delivers, "refused"},
		{schedule.Outcome{Class: schedule.IssueFailed, Delivered: true}, waits("failed", end), delivers, "failed"},
		{schedule.Outcome{Class: schedule.NeedsInput, Delivered: true}, parks("asks"), delivers, "asked"},
	} {
		if got := report.Outcome(test.outcome, test.next, test.delivers); got != test.want {
			t.Errorf("%+v, delivers %v: %q, not %q", test.outcome, test.delivers, got, test.want)
		}
	}
}

func TestCountsTellPublishedWorkFromOther(t *testing.T) {
	t.Parallel()
	tick := delivered()
	if got := tick.Counts(); got.Completed != 4 || got.Failed != 4 {
		t.Errorf("%+v, not 4 completed and 4 failed, two of them refused", got)
	}
	for _, row := range tick.Rows {
		if got := tick.Completed(row); got != row.Delivered {
			t.Errorf("%s: completed %v, published %v", row.Identifier, got, row.Delivered)
		}
	}
	tick.Delivers = false
	tick.Claims = nil // so the rows alone say what is still active
	active := 0
	for _, row := range tick.Rows {
		if row.Class == schedule.Done && row.Next.Phase == schedule.Waiting {
			active++
		}
	}
	if got := tick.Counts(); active != 2 || got.Completed != 4 {
		t.Errorf("%+v, not 4 completed: without a delivery a good end is enough if the issue is no longer active, as %d are", got, active)
	}
}

func TestAPullRequestThatATickOpenedStaysOpened(t *testing.T) {
	t.Parallel()
	var row report.Row
	for _, test := range []struct{ did, want string }{
		{"", ""}, {"unchanged", "unchanged"}, {"updated", "updated"}, {"unchanged", "updated"}, {"opened", "opened"}, {"updated", "opened"}, {"", "opened"},
	} {
		row.Kept.Folder = "refused"
		if row.Publish(published("ABC-1", 12), test.did); row.PullRequest != test.want || row.Delivery.Number != 12 || row.Kept.Folder != "" {
			t.Errorf("%q: %+v, not %q", test.did, row, test.want)
		}
	}
}

func TestPullRequestsAreAListForScripts(t *testing.T) {
	t.Parallel()
	const entry = `{"issue_id":%q,"issue_identifier":%[1]q,"issue_url":"https://linear.app/acme/issue/%[1]s","branch":"symphony/%[1]s","base":"main","head":"1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f",` +
		`"pull_request_number":%[2]d,"pull_request_url":"https://github.com/acme/shop/pull/%[2]d","patch":"","pushed_at":"2025-11-21T12:00:04Z","pushing":false,"checks":%[3]q,"pull_request_change":%[4]q}`
	want := "[" + fmt.Sprintf(entry, "ABC-1", 12, "", "opened") + "," + fmt.Sprintf(entry, "ABC-2", 7, "running", "updated") + "]"
	if got := delivered().PullRequests(); got != want {
		t.Errorf("not those that this tick touched:\n%s\n%s", want, got)
	}
	if got := (report.Tick{}).PullRequests(); got != "[]" {
		t.Errorf("%s without any", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		got := anyTick().Draw(t, "tick").PullRequests()
		var list []map[string]any
		if err := json.Unmarshal([]byte(got), &list); err != nil || strings.Contains(got, "##[") || strings.ContainsAny(got, "\n\r") {
			t.Errorf("not one line of JSON that the log of a run takes for text: %q (%v)", got, err)
		}
	})
}

// The reasons and the commands are what a person works with: no terminal cuts them.
func TestAPersonReadsAllOfARefusalOnAnyTerminal(t *testing.T) {
	t.Parallel()
	tick := delivered()
	for width := 40; width <= 170; width += 13 {
		text := report.Of(tick).Text(width)
		words := strings.Join(strings.Fields(text), "")
		for reason := range strings.Lines(refusal) {
			reason = strings.Join(strings.Fields(reason), "")
			if n := strings.Count(words, reason); n != 2 {
				t.Errorf("%d columns show %q %d times, not once for each issue:\n%s", width, reason, n, text)
			}
		}
		shell := strings.ReplaceAll(text, "\\\n", "") // as a shell reads it
		for _, row := range tick.Rows {
			for _, command := range row.Kept.Commands {
				if !containsLine(shell, command) {
					t.Errorf("%d columns: no line is the command %q:\n%s", width, command, text)
				}
			}
		}
	}
}

// containsLine reports whether a line of text has the words of another line.
func containsLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.Join(strings.Fields(line), " ") == want {
			return true
		}
	}
	return false
}

func TestManyRefusalsAreCutAndSaySo(t *testing.T) {
	t.Parallel()
	page := report.Of(tick(func(t *report.Tick) {
		t.Delivers = true
		for i := range 30 {
			t.Rows = append(t.Rows, refusedRow(fmt.Sprintf("GH-%d", i), "", waits("refused", end)))
		}
		t.Rows[0].Refused = strings.Repeat("- one of many reasons\n", 100)
	})).Markdown(links)
	for want, n := range map[string]int{
		"one of many reasons": 25, "… and 75 more\n": 1,
		"its work was refused": 20, "… and 10 more with refused work": 1,
		"```sh": 5, "… and 25 more with kept work": 1,
	} {
		if got := strings.Count(page, want); got != n {
			t.Errorf("%q is there %d times, not %d:\n%s", want, got, n, page)
		}
	}
}

// A session that failed in another way has a reason of its own, whatever became of the
// work of the sessions before.
func TestAFailureAfterARefusalSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	failed := report.Of(tick(func(t *report.Tick) {
		r := row("ABC-1", "", schedule.IssueFailed, waits(turnFailed, end))
		r.Why, r.Delivery.Refused = turnFailed, refusal
		t.Delivers, t.Rows = true, []report.Row{r}
	})).Text(80)
	if !strings.Contains(failed, "failed") || !strings.Contains(failed, "run turn 2") || strings.Contains(failed, "refused") {
		t.Errorf("not the failure alone:\n%s", failed)
	}
}

// What stops some sessions of a tick stands at them; what ended the tick is its headline.
func TestASessionThatWasStoppedSaysWhyUnlessTheTickEnded(t *testing.T) {
	t.Parallel()
	const why = "budget.max_tokens_per_tick is spent"
	for stopped, says := range map[string]bool{"": true, "deadline": false} {
		r := report.Of(tick(func(t *report.Tick) {
			t.Stopped = stopped
			t.Rows = []report.Row{row("ABC-1", "Add a dark mode", schedule.Stopped, waits(why, t.Ended))}
		}))
		if got := r.Text(160); strings.Contains(got, why) != says {
			t.Errorf("a tick that ended early by %q:\n%s", stopped, got)
		}
	}
}
