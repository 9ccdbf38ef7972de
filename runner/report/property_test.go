package report_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/texttest"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

func TestTextStaysOnItsPage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(40, 250).Draw(t, "width")
		checkPage(t, report.Of(anyTick().Draw(t, "tick")).Text(columns), columns)
	})
}

// anyComments draws where comments are read.
func anyComments() *rapid.Generator[schedule.Comments] {
	return rapid.SampledFrom([]schedule.Comments{{}, schedule.AnyComments, {Issues: schedule.OnTheIssue}, {Issues: schedule.InTheFile, Pulls: true}})
}

func TestTextOfAStateAndAVerdictStaysOnItsPage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state := anyState().Draw(t, "state")
		columns := rapid.IntRange(40, 250).Draw(t, "width")
		checkPage(t, report.State(state, anyTime().Draw(t, "now")).Text(columns), columns)
		checkPage(t, report.Verdict(anyVerdict().Draw(t, "verdict"), anyComments().Draw(t, "comments"), "", rapid.SampledFrom([]string{"", "branch:symphony-state", "cache:/c", "branch:$(x)"}).Draw(t, "state")).Text(columns), columns)
	})
}

// TestNoHeadingStandsAlone checks that something to read follows each heading.
func TestNoHeadingStandsAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tick, state := anyTick().Draw(t, "tick"), anyState().Draw(t, "state")
		tick.Comments, tick.State = anyComments().Draw(t, "comments"), rapid.SampledFrom([]string{"", "cache:/c"}).Draw(t, "place")
		now, columns := anyTime().Draw(t, "now"), rapid.IntRange(40, 250).Draw(t, "width")
		for _, d := range []interface {
			Text(int) string
			Markdown(report.Links) string
		}{report.Of(tick), report.State(state, now)} {
			for _, alone := range append(emptySections(d.Text(columns), headingOfText()), emptySections(d.Markdown(links), headingOfPage())...) {
				t.Errorf("nothing stands below %q:\n%s\n%s", alone, d.Text(columns), d.Markdown(links))
			}
		}
	})
}

// headingOfText matches a heading on a terminal, headingOfPage one on a page.
var (
	headingOfText = lazy.Regexp(`(?m)^(What needs a person|Warnings|Good to know|Issues|Not started|Waiting|The plan|Parked|Running|Delivered|Spending|Last ticks that did something):.*\n`)
	headingOfPage = lazy.Regexp(`(?m)^(##+ .*|<details><summary>.*)\n\n?`)
)

// emptySections returns the headings below which nothing can be seen: the end, an empty line,
// an empty entry of a list, or another heading.
func emptySections(text string, headings *regexp.Regexp) (alone []string) {
	for _, at := range headings.FindAllStringIndex(text, -1) {
		heading, rest := text[at[0]:at[1]], text[at[1]:]
		next, _, _ := strings.Cut(rest, "\n")
		isHeadline := strings.HasPrefix(heading, "### ") // of a summary, which says all by itself
		next = strings.TrimSpace(next)
		isNothing := next == "" || next == "-" || next == "</details>" || strings.HasPrefix(next, "##") || headings.MatchString(next+"\n")
		if isNothing && !isHeadline {
			alone = append(alone, heading)
		}
	}
	return alone
}

// checkPage checks a page by its own rules: no line too wide, nothing hidden,
// nothing that the log of a workflow run takes for a command.
func checkPage(t *rapid.T, text string, columns int) {
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("does not end with a line break: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := texttest.Width(line); n > columns {
			t.Errorf("%d columns of %d: %q", n, columns, line)
		}
		texttest.CheckVisible(t, line)
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("reads as a command: %q", line)
		}
	}
}

func TestAFailedTickNeverLooksLikeNothingToDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tick := anyTick().Draw(t, "tick")
		if tick.Unread == "" && len(tick.Errors) == 0 {
			tick.Unread = "tracker_request: " + rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "error")
		}
		tick.Rows = nil
		doc := decode(t, report.Of(tick))
		first, _, _ := strings.Cut(report.Of(tick).Text(200), "\n")
		heading, _, _ := strings.Cut(report.Of(tick).Markdown(links), "\n")
		if strings.Contains(heading, "⚪") || strings.Contains(heading, "🟢") || strings.Contains(heading, "Nothing") {
			t.Errorf("%q", heading)
		}
		if doc["outcome"] == "nothing_to_do" || strings.HasPrefix(first, "Nothing") || strings.HasPrefix(first, "Would start nothing") {
			t.Errorf("outcome %v, %q", doc["outcome"], first)
		}
		if tick.Unread != "" && tick.Stopped == "" && (doc["outcome"] != "tracker_unreadable" || !strings.HasPrefix(first, "The tracker could not be read")) {
			t.Errorf("outcome %v, %q", doc["outcome"], first)
		}
	})
}

func TestJSONKeepsTextsAndHasNoNullArray(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tick := anyTick().Draw(t, "tick")
		doc := decode(t, report.Of(tick))
		for _, name := range []string{"issues", "verdicts", "deliveries", "notices", "warnings", "errors"} {
			if _, ok := doc[name].([]any); !ok {
				t.Errorf("%s is %v", name, doc[name])
			}
		}
		for i, row := range tick.Rows {
			want := strings.ToValidUTF8(row.Title, "\ufffd")
			got := doc["issues"].([]any)[i].(map[string]any)["title"].(string)
			if squash(got) != squash(want) {
				t.Errorf("title %q became %q", want, got)
			}
		}
	})
}

// squash makes runs of replacement characters one: encoders differ in how many
// they write for the same broken text.
func squash(text string) string {
	for strings.Contains(text, "\ufffd\ufffd") {
		text = strings.ReplaceAll(text, "\ufffd\ufffd", "\ufffd")
	}
	return text
}

func decode(t *rapid.T, d document) map[string]any {
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "##[") || strings.Contains(string(text), "\n") {
		t.Errorf("reads as a command: %s", text)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func anyTick() *rapid.Generator[report.Tick] {
	return rapid.Custom(func(t *rapid.T) report.Tick {
		tick := report.Tick{
			Started: anyTime().Draw(t, "started"), Ended: anyTime().Draw(t, "ended"),
			Workflow: texttest.Fragments().Draw(t, "workflow"), Tracker: texttest.Fragments().Draw(t, "tracker"), DryRun: rapid.Bool().Draw(t, "dry"),
			Rows:     rapid.SliceOfN(anyRow(), 0, 6).Draw(t, "rows"),
			Verdicts: rapid.SliceOfN(anyVerdict(), 0, 14).Draw(t, "verdicts"),
			Listed:   rapid.Bool().Draw(t, "listed"), Unread: maybe(t, "unread"),
			Claims: map[tracker.ID]schedule.Claim{},
			Pause:  anyPause().Draw(t, "pause"), Today: anyDay().Draw(t, "today"), NextDue: anyTime().Draw(t, "due"),
			Spent:    schedule.Spent{Sessions: rapid.Int().Draw(t, "sessions"), Usage: anyUsage().Draw(t, "usage")},
			Budget:   schedule.Budget{TokensPerTick: rapid.Int64().Draw(t, "per tick"), TokensPerDay: rapid.Int64().Draw(t, "per day")},
			Acted:    rapid.IntRange(0, 2).Draw(t, "acted"),
			Parked:   rapid.SliceOfN(anyID(), 0, 3).Draw(t, "parked"),
			Stopped:  rapid.SampledFrom([]string{"", "", "interrupted", "deadline", "failed"}).Draw(t, "stopped"),
			Warnings: rapid.SliceOfN(texttest.Fragments(), 0, 3).Draw(t, "warnings"),
			Errors:   rapid.SliceOfN(texttest.Fragments(), 0, 3).Draw(t, "errors"),
			Notices:  rapid.SliceOfN(texttest.Fragments(), 0, 2).Draw(t, "notices"),
			Delivers: rapid.Bool().Draw(t, "delivers"), Deliveries: anyDeliveries().Draw(t, "deliveries"),
		}
		for _, c := range rapid.SliceOfN(anyClaim(), 0, 5).Draw(t, "claims") {
			tick.Claims[c.ID] = c
		}
		return tick
	})
}

func anyRow() *rapid.Generator[report.Row] {
	return rapid.Custom(func(t *rapid.T) report.Row {
		return report.Row{
			ID: anyID().Draw(t, "id"), Identifier: maybe(t, "identifier"), Title: texttest.Fragments().Draw(t, "title"), State: maybe(t, "state"),
			URL: anyURL().Draw(t, "url"),
			Class: rapid.SampledFrom([]schedule.Class{
				schedule.Done, schedule.Stopped, schedule.IssueFailed, schedule.Transient, schedule.ThreadLost, schedule.Systemic, schedule.NeedsInput, schedule.HostLost, "",
			}).Draw(t, "class"),
			Why: texttest.Fragments().Draw(t, "why"), Turns: rapid.Int().Draw(t, "turns"), Usage: anyUsage().Draw(t, "usage"),
			Took: time.Duration(rapid.Int64().Draw(t, "took")), Warnings: rapid.SliceOfN(texttest.Fragments(), 0, 2).Draw(t, "warnings"),
			Next:      schedule.Next{Phase: anyPhase().Draw(t, "phase"), Why: anyWhy().Draw(t, "next"), Due: anyTime().Draw(t, "due")},
			Delivered: rapid.Bool().Draw(t, "delivered"), Refused: maybe(t, "refused"), Delivery: anyDelivery().Draw(t, "delivery"),
			PullRequest: maybe(t, "pull request"), Kept: report.Kept{Folder: maybe(t, "kept"), Artifact: maybe(t, "artifact"), Commands: rapid.SliceOfN(texttest.Fragments(), 0, 3).Draw(t, "commands")},
			Log:   report.Log{File: maybe(t, "log"), Artifact: maybe(t, "artifact of the log"), Command: maybe(t, "log command")},
			Shard: rapid.SampledFrom([]int{0, 0, 1, 256}).Draw(t, "shard"), JobURL: anyURL().Draw(t, "job"),
		}
	})
}

func anyDelivery() *rapid.Generator[schedule.Delivery] {
	return rapid.Custom(func(t *rapid.T) schedule.Delivery {
		return schedule.Delivery{
			Identifier: maybe(t, "identifier"), Branch: maybe(t, "branch"), Base: maybe(t, "base"), Head: maybe(t, "head"), Pushing: maybe(t, "pushing"),
			Number: rapid.IntRange(-1, 3).Draw(t, "number"), URL: anyURL().Draw(t, "url"), At: anyTime().Draw(t, "at"), Refused: maybe(t, "refused"),
		}
	})
}

func anyDeliveries() *rapid.Generator[map[tracker.ID]schedule.Delivery] {
	return rapid.MapOfN(anyID(), anyDelivery(), 0, 3)
}

func anyVerdict() *rapid.Generator[schedule.Verdict] {
	return rapid.Custom(func(t *rapid.T) schedule.Verdict {
		return schedule.Verdict{
			Issue: tracker.Issue{ID: anyID().Draw(t, "id"), Identifier: maybe(t, "identifier"), Title: texttest.Fragments().Draw(t, "title"), URL: anyURL().Draw(t, "url"), State: maybe(t, "state")},
			Phase: anyPhase().Draw(t, "phase"), Why: anyWhy().Draw(t, "why"),
			Action: rapid.SampledFrom([]schedule.Action{"", "", schedule.Dispatch, schedule.Stop, schedule.Release, schedule.Park, schedule.Free, schedule.Finish}).Draw(t, "action"),
		}
	})
}

func anyClaim() *rapid.Generator[schedule.Claim] {
	return rapid.Custom(func(t *rapid.T) schedule.Claim {
		return schedule.Claim{
			ID: anyID().Draw(t, "id"), Identifier: maybe(t, "identifier"), Title: texttest.Fragments().Draw(t, "title"), State: maybe(t, "state"),
			Phase: anyPhase().Draw(t, "phase"), Since: anyTime().Draw(t, "since"), Due: anyTime().Draw(t, "due"), Why: texttest.Fragments().Draw(t, "why"),
			Attempt: rapid.Int().Draw(t, "attempt"), Sessions: rapid.Int().Draw(t, "sessions"), Tokens: rapid.Int64().Draw(t, "tokens"),
			URL: anyURL().Draw(t, "url"), Owner: schedule.Owner{Run: anyRun().Draw(t, "run"), Attempt: rapid.Int().Draw(t, "of run"), Host: maybe(t, "host"), PID: rapid.Int().Draw(t, "pid"), Shard: rapid.IntRange(0, 2).Draw(t, "shard")},
		}
	})
}

func anyState() *rapid.Generator[*schedule.State] {
	return rapid.Custom(func(t *rapid.T) *schedule.State {
		state := schedule.New(schedule.Owner{})
		for _, c := range rapid.SliceOfN(anyClaim(), 0, 5).Draw(t, "claims") {
			state.Claims[c.ID] = c
		}
		state.Deliveries = anyDeliveries().Draw(t, "deliveries")
		state.Pause = anyPause().Draw(t, "pause")
		state.Days = rapid.SliceOfN(anyDay(), 0, 9).Draw(t, "days")
		state.History = rapid.SliceOfN(anyPast(), 0, 9).Draw(t, "past")
		return state
	})
}

func anyPast() *rapid.Generator[schedule.TickRecord] {
	return rapid.Custom(func(t *rapid.T) schedule.TickRecord {
		return schedule.TickRecord{
			Run: anyRun().Draw(t, "run"), Attempt: rapid.Int().Draw(t, "attempt"), Started: anyTime().Draw(t, "started"), Ended: anyTime().Draw(t, "ended"),
			Stopped: maybe(t, "stopped"), Sessions: rapid.Int().Draw(t, "sessions"), Done: rapid.Int().Draw(t, "done"),
			Parked: rapid.Int().Draw(t, "parked"), Tokens: rapid.Int64().Draw(t, "tokens"),
		}
	})
}

func anyRun() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[0-9]{1,9}`), texttest.Fragments())
}

// anyURL generates an address of any kind, or none.
func anyURL() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.SampledFrom(addresses), rapid.Map(texttest.Fragments(), func(s string) string { return "https://x.example/" + s }))
}

func anyWhy() *rapid.Generator[schedule.Why] {
	return rapid.Custom(func(t *rapid.T) schedule.Why {
		reason := rapid.SampledFrom([]schedule.Reason{
			"", schedule.Incomplete, schedule.NotActive, schedule.Terminal, schedule.NotRoutable, schedule.Blocked, schedule.NotKnown,
			schedule.NotDue, schedule.IsParked, schedule.NoSlots, schedule.DayBudget, schedule.Paused, schedule.OnHold, "claim_lost", "new",
		}).Draw(t, "reason")
		return schedule.Why{Reason: reason, Detail: texttest.Fragments().Draw(t, "detail")}
	})
}

func anyPause() *rapid.Generator[schedule.Pause] {
	return rapid.Custom(func(t *rapid.T) schedule.Pause {
		return schedule.Pause{Why: maybe(t, "why"), Since: anyTime().Draw(t, "since"), Until: anyTime().Draw(t, "until")}
	})
}

func anyDay() *rapid.Generator[schedule.Day] {
	return rapid.Custom(func(t *rapid.T) schedule.Day {
		return schedule.Day{
			Date: maybe(t, "date"), Sessions: rapid.Int().Draw(t, "sessions"), Usage: anyUsage().Draw(t, "usage"),
			Time: time.Duration(rapid.Int64().Draw(t, "time")),
		}
	})
}

func anyUsage() *rapid.Generator[schedule.Usage] {
	return rapid.Custom(func(t *rapid.T) schedule.Usage {
		tokens := rapid.Int64Range(0, math.MaxInt64/2)
		return schedule.Usage{Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output")}
	})
}

func anyPhase() *rapid.Generator[schedule.Phase] {
	return rapid.SampledFrom([]schedule.Phase{"", schedule.Running, schedule.Stopping, schedule.Waiting, schedule.Parked})
}

// anyID generates one of few ids, so that rows, verdicts and claims share some.
func anyID() *rapid.Generator[tracker.ID] {
	return rapid.SampledFrom([]tracker.ID{"1", "2", "3", "4", "::5", "\x1b[6"})
}

// anyTime generates an instant that is near, zero, or as far as a state can hold.
func anyTime() *rapid.Generator[time.Time] {
	return rapid.OneOf(
		rapid.Just(time.Time{}),
		rapid.Map(rapid.Int64Range(-90_000, 90_000), func(s int64) time.Time { return start.Add(time.Duration(s) * time.Second) }),
		rapid.Map(rapid.Int64(), func(s int64) time.Time { return time.Unix(s, 0) }),
	)
}

// maybe draws text that is empty about half of the time.
func maybe(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), texttest.Fragments()).Draw(t, label)
}
