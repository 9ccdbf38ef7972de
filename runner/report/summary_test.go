package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// inOrder fails the test unless a page has all texts, each after the one before it.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q is missing, or stands before another part of\n%s", text, page)
			return
		}
		rest = after
	}
}

func TestTheSummaryOfADryRunHidesNothing(t *testing.T) {
	t.Parallel()
	plan := many(30)
	plan.DryRun, plan.Rows = true, nil
	for i := range plan.Verdicts {
		if i%3 == 0 {
			plan.Verdicts[i].Action = schedule.Dispatch
		}
	}
	for name, tick := range map[string]report.Tick{"the sample": dryRun(), "many issues": plan} {
		page := report.Of(inActions(tick)).Markdown(links)
		if strings.Contains(page, "<details>") {
			t.Errorf("%s: something is folded:\n%s", name, page)
		}
		inOrder(t, page, "### 🔵 Would start", "#### The plan", "| start |")
	}
}

func TestTheSummaryLeadsToThePagesOfItsRun(t *testing.T) {
	t.Parallel()
	const all = "https://ghe.example/acme/shop/blob/state/of/us/README.md"
	for _, row := range []struct {
		links report.Links
		want  string // the line; empty for none
	}{
		{report.Links{}, ""},
		{report.Links{Server: "https://ghe.example/", Repository: "acme/shop", Branch: "state/of/us"}, "[All issues](" + all + ")"},
		{
			report.Links{Server: "https://ghe.example", Repository: "acme/shop", Branch: "state/of/us", Workflow: "tick.yml", Run: "12", Artifact: "symphony-12-1"},
			"[All issues](" + all + ") · [Run workflow](https://ghe.example/acme/shop/actions/workflows/tick.yml) · [Logs of the sessions](https://ghe.example/acme/shop/actions/runs/12#artifacts)",
		},
		{report.Links{Server: "https://ghe.example", Repository: "acme/shop", Run: "12"}, ""}, // nothing is uploaded
		{report.Links{Server: "https://ghe.example", Repository: "acme/../shop", Branch: "state", Workflow: "tick.yml"}, ""},
		{report.Links{Server: "javascript:x", Repository: "acme/shop", Branch: "state", Workflow: "tick.yml"}, ""},
		{report.Links{Server: "https://ghe.example", Repository: "acme/shop", Branch: "../b", Workflow: "../x", Run: "1/2", Artifact: "x"}, ""},
		{report.Links{Server: "https://ghe.example", Repository: "acme/shop", Branch: "état/#1&100%"}, "[All issues](https://ghe.example/acme/shop/blob/%C3%A9tat/%231&amp;100%25/README.md)"},
		{report.Links{Server: "https://ghe.example", Repository: "acme/shop", Branch: `a](b"><b>`}, "[All issues](https://ghe.example/acme/shop/blob/a%5D%28b%22%3E%3Cb%3E/README.md)"},
	} {
		page := report.Of(inActions(dryRun())).Markdown(row.links)
		line := ""
		for _, text := range strings.Split(page, "\n") {
			if strings.HasPrefix(text, "[") {
				line = text
				break
			}
		}
		if line != row.want {
			t.Errorf("%+v:\n%q, want\n%q", row.links, line, row.want)
		}
	}
}

// TestInActionsTheNextStepIsARun holds to what people can wait for: no run begins in
// 10 seconds because something is due then.
func TestInActionsTheNextStepIsARun(t *testing.T) {
	t.Parallel()
	due := func(after time.Duration) report.Tick {
		return tick(func(t *report.Tick) {
			next := waits("turn_failed: other", t.Ended.Add(after))
			t.Rows = []report.Row{row("GH-7", "Carts", schedule.Transient, next)}
			addClaim(t, schedule.Claim{Identifier: "GH-7", Phase: schedule.Waiting, Due: next.Due}, schedule.NotDue, "waits")
			addClaim(t, schedule.Claim{Identifier: "GH-8", Phase: schedule.Waiting, Due: next.Due, Why: "no slot"}, schedule.NotDue, "waits")
		})
	}
	for after, want := range map[time.Duration]string{
		7900 * time.Millisecond: "the next scheduled run |", 5 * time.Minute: "the next scheduled run |",
		6 * time.Minute: "the first run after 12:06 UTC |", 20 * time.Hour: "the first run after Nov 22 08:00 UTC |",
	} {
		page := report.Of(inActions(due(after))).Markdown(links)
		if !strings.Contains(page, "| retry in "+want) || !strings.Contains(page, "| "+want+" no slot |") || strings.Contains(page, "(in ") || strings.Contains(page, "| in ") {
			t.Errorf("due in %v:\n%s", after, page)
		}
	}
	spent := due(0)
	spent.Verdicts = nil
	addClaim(&spent, schedule.Claim{Identifier: "GH-7", Phase: schedule.Waiting, Due: end}, schedule.DayBudget, "budget.max_tokens_per_day is spent until 2025-11-22T00:00:00Z")
	if page := report.Of(inActions(spent)).Markdown(links); !strings.Contains(page, "| when the budget of the day allows |") {
		t.Errorf("the next run is said to start what the budget of the day forbids:\n%s", page)
	}
	worked := report.Of(inActions(delivered())).Markdown(links)
	if !strings.Contains(worked, "continues in the next scheduled run") || strings.Contains(worked, "next tick") {
		t.Errorf("what is due at once:\n%s", worked)
	}
	if text := report.Of(due(10 * time.Second)).Text(160); !strings.Contains(text, "retry at 12:00:14 (in 10s)") {
		t.Errorf("a service goes on by itself:\n%s", text)
	}
}

// TestTheCommandsOfAReportReachItsState holds each place that prints one to where the state
// is.
func TestTheCommandsOfAReportReachItsState(t *testing.T) {
	t.Parallel()
	const program = "/opt/our/symphony"
	for state, option := range map[string]string{
		"":                                     "",
		"branch:symphony-state":                " --state branch:symphony-state",
		"branch:team/state":                    " --state branch:team/state",
		"branch:$(reboot)":                     " --state branch:NAME",
		"branch:a b":                           " --state branch:NAME",
		"file:/var/lib/symphony/state.json":    " --state file:/var/lib/symphony/state.json",
		"file:.symphony/state.json":            " --state file:.symphony/state.json",
		"file:/var/lib/it's/state.json":        " --state file:PATH",
		"cache:/home/runner/cache":             "none", // nobody reaches the cache of a job
		"branch:" + strings.Repeat("long", 99): " --state branch:NAME",
	} {
		parked := tick(func(t *report.Tick) {
			t.Program, t.State, t.Parked = program, state, []tracker.ID{"ABC-9"}
			addClaim(t, schedule.Claim{Identifier: "ABC-9", Phase: schedule.Parked, Why: question}, schedule.IsParked, question)
		})
		errors, _, _ := report.Of(parked).Notes()
		isParked, isPaused := verdict("ABC-9", "", schedule.Parked, "", schedule.IsParked, question), verdict("ABC-9", "", "", "", schedule.Paused, "paused")
		for place, text := range map[string]string{
			"summary": report.Of(parked).Markdown(links), "text": report.Of(parked).Text(160), "annotation": errors[0].Text, "explain": report.Verdict(isParked, schedule.AnyComments, program, state).Text(400),
		} {
			has := strings.Contains(text, program+" state retry ABC-9"+option)
			if option == "none" {
				has = !strings.Contains(text, "symphony state")
			} else if option == "" {
				has = has && !strings.Contains(text, "--state")
			}
			if !has || !strings.Contains(text, schedule.AnyComments.GoOn()) {
				t.Errorf("%s, with the state %q:\n%s", place, state, text)
			}
		}
		resume := report.Verdict(isPaused, schedule.AnyComments, program, state).Text(400)
		if option != "none" && !strings.Contains(resume, program+" state resume"+option) || option == "none" && !strings.Contains(resume, "/symphony resume in a comment") {
			t.Errorf("with the state %q: %s", state, resume)
		}
	}
}

func TestTheSummaryOfAFleetLeadsToTheJobOfEachShard(t *testing.T) {
	t.Parallel()
	for name, tick := range ticks() {
		if text := report.Of(tick).Markdown(links) + report.Of(tick).Text(160); (strings.Contains(text, "| Shard |") || strings.Contains(text, "SHARD")) != (name == "fleet") {
			t.Errorf("%s: only a fleet has shards:\n%s", name, text)
		}
	}
	inOrder(t, report.Of(fleet()).Markdown(links), "worked on by 6 shards", "| [ABC-1]", "| [1](https://github.com/acme/shop/actions/runs/4711/job/90001) |", "| [ABC-5]", "| 3 |")
	large := many(512)
	for i := range large.Rows {
		large.Rows[i].Shard = 1 + i/2
	}
	if page := report.Of(large).Markdown(links); strings.Count(page, "One of many") != 512 {
		t.Errorf("%d of 512 issues of 256 shards are in the table", strings.Count(page, "One of many"))
	}
}

func TestAnIDThatIsNoneLeadsToNoJob(t *testing.T) {
	t.Parallel()
	if got, want := links.Job("4712", "123"), "https://github.com/acme/shop/actions/runs/4712/job/123"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, id := range []string{"", "12/../..", "1?x", strings.Repeat("1", 21), "https://evil.example"} {
		if got := links.Job("4711", id) + links.Job(id, "123"); got != "" {
			t.Errorf("the id %q leads to %q", id, got)
		}
	}
	if got := (report.Links{Server: "https://github.com"}).Job("4711", "1"); got != "" {
		t.Errorf("without a repository: %q", got)
	}
}

// TestASummaryThatIsTooLongStillSaysWhatAPersonMustDo has agents name the files of refused
// work so that each character takes the most room. GitHub shows 1 MiB, and package action
// leaves out the blocks from the first one that does not fit.
func TestASummaryThatIsTooLongStillSaysWhatAPersonMustDo(t *testing.T) {
	t.Parallel()
	reasons := strings.Repeat("- "+strings.Repeat("$", 195)+"\n", 20)
	page := report.Of(inActions(tick(func(tick *report.Tick) {
		tick.Delivers, tick.Deliveries = true, map[tracker.ID]schedule.Delivery{}
		for n := range 100 {
			why := fmt.Sprintf("%d %s", n, strings.Repeat("$", 490))
			tick.Rows = append(tick.Rows, refusedRow(fmt.Sprintf("GH-%d", n), why, waits(workRefused, end)))
			tick.Rows[n].Refused, tick.Rows[n].Warnings = reasons, []string{why, why}
			parked := schedule.Claim{Identifier: fmt.Sprintf("P-%d", n), Phase: schedule.Parked, Why: why}
			addClaim(tick, parked, schedule.IsParked, why)
			tick.Deliveries[tracker.ID(parked.Identifier)] = schedule.Delivery{Refused: reasons}
			tick.Errors, tick.Warnings, tick.Notices = append(tick.Errors, why), append(tick.Warnings, why), append(tick.Notices, why)
		}
	}))).Markdown(links)
	if len(page) > 1<<20 {
		t.Errorf("it has %d bytes", len(page))
	}
	inOrder(t, page, "#### What needs a person", "its work was refused", "  - ", "- … and ", schedule.AnyComments.GoOn(), "#### Issues", "| [GH-0]", "Warnings: 100")
}
