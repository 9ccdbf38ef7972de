package report_test

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/texttest"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

var (
	start = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)
	end   = start.Add(4200 * time.Millisecond)
)

// tick returns a tick that listed its candidates, with some spending before it.
func tick(edit func(*report.Tick)) report.Tick {
	t := report.Tick{
		Started: start, Ended: end, Workflow: "/repo/WORKFLOW.md", Tracker: "linear", Listed: true, Comments: schedule.AnyComments,
		Today:  schedule.Day{Date: "2025-11-21", Sessions: 14, Usage: schedule.Usage{Input: 100_000, Output: 23_400}, Time: 7505 * time.Second},
		Claims: map[tracker.ID]schedule.Claim{},
	}
	edit(&t)
	return t
}

// ended returns how the sample sessions of a class ended.
var ended = map[schedule.Class]schedule.AttemptStatus{
	schedule.Done: schedule.StatusSucceeded, schedule.Stopped: schedule.StatusCanceledByReconciliation,
}

func row(identifier, title string, class schedule.Class, next schedule.Next) report.Row {
	return report.Row{
		ID: tracker.ID(identifier), Identifier: identifier, Title: title, URL: at(identifier), State: "In Progress", Sessions: 1, Class: class, Status: cmp.Or(ended[class], schedule.StatusFailed),
		Turns: 2, Usage: schedule.Usage{Input: 1000, Output: 134}, Took: 1400 * time.Millisecond, Next: next,
	}
}

// at returns the address of an issue.
func at(identifier string) string { return "https://linear.app/acme/issue/" + identifier }

func with(r report.Row, edit func(*report.Row)) report.Row {
	edit(&r)
	return r
}

func verdict(identifier, title string, phase schedule.Phase, action schedule.Action, reason schedule.Reason, detail string) schedule.Verdict {
	return schedule.Verdict{
		Issue: tracker.Issue{ID: tracker.ID(identifier), Identifier: identifier, Title: title, URL: at(identifier), State: "Todo"},
		Phase: phase, Action: action, Why: schedule.Why{Reason: reason, Detail: detail},
	}
}

// addClaim adds a claim that is left at the end of the tick, and the verdict on it.
func addClaim(t *report.Tick, c schedule.Claim, reason schedule.Reason, detail string) {
	c.ID, c.URL = tracker.ID(c.Identifier), at(c.Identifier)
	t.Claims[c.ID] = c
	t.Verdicts = append(t.Verdicts, verdict(c.Identifier, c.Title, c.Phase, "", reason, detail))
}

var (
	done       = schedule.Next{Why: schedule.Why{Reason: schedule.Terminal, Detail: `is "Done", a terminal state`}, Clean: true}
	handedOver = schedule.Next{Why: schedule.Why{Reason: schedule.NotActive, Detail: `is "Review", not an active state`}}
)

func waits(why string, due time.Time) schedule.Next {
	return schedule.Next{Phase: schedule.Waiting, Why: schedule.Why{Reason: schedule.NotDue, Detail: why}, Due: due}
}

func parks(why string) schedule.Next {
	return schedule.Next{Phase: schedule.Parked, Why: schedule.Why{Reason: schedule.IsParked, Detail: why}}
}

const (
	turnFailed  = "run turn 2: turn_failed: other: the model's answer could not be applied: patch does not match src/login/session.go; see the session's log, which has all that the agent tried before it gave up"
	noQuota     = "turn_failed: usageLimitExceeded: You've hit your usage limit; add credits or wait until it resets"
	trackerBad  = "list candidates: tracker_status: POST https://api.linear.app/graphql: 502 Bad Gateway; look at https://status.linear.app, the next tick tries again"
	pushRefused = "hook after_run: hook_failed: exit status 1; its last output: \"[...] Write access to repository not granted. | fatal: unable to access 'https://github.com/acme/shop.git/': The requested URL returned error: 403 | no commit of refs/heads/symphony/ABC-1 was pushed\"; fix hooks.after_run in WORKFLOW.md"

	question = "the agent asks: Which database should the export read, the replica or the primary? (replica / primary)"
)

// ticks returns the ticks of the golden files.
func ticks() map[string]report.Tick {
	return map[string]report.Tick{
		"worked": tick(func(t *report.Tick) {
			t.Rows = []report.Row{
				with(row("ABC-1", "Add a dark mode to the settings page", schedule.Done, handedOver), func(r *report.Row) { r.State = "Review" }),
				with(row("ABC-12", "Remove the deprecated v1 endpoints", schedule.Done, done), func(r *report.Row) { r.State = "Done" }),
				with(row("ABC-7", "Sessions expire while the user is still typing", schedule.IssueFailed, waits(turnFailed, end.Add(10*time.Second))), func(r *report.Row) {
					r.Why, r.Attempt = turnFailed, 1
					r.Log = report.Log{File: "/home/kim/shop/.symphony/sessions/ABC-7/20251121T120003.500Z-2.jsonl", Command: "symphony log ABC-7"}
				}),
			}
			t.Spent, t.Acted = schedule.Spent{Sessions: 3, Usage: schedule.Usage{Input: 3000, Output: 402}, Time: end.Sub(start)}, 3
			addClaim(t, schedule.Claim{Identifier: "ABC-7", Phase: schedule.Waiting, Due: end.Add(10 * time.Second), Why: turnFailed}, schedule.NotDue, "waits")
		}),
		"after-run-failed": tick(func(t *report.Tick) {
			t.Rows = []report.Row{
				with(row("ABC-1", "Add a dark mode to the settings page", schedule.Done, handedOver), func(r *report.Row) {
					r.State, r.Warnings = "Review", []string{pushRefused}
				}),
				with(row("ABC-7", "Sessions expire while the user is still typing", schedule.IssueFailed, waits(turnFailed, end.Add(10*time.Second))), func(r *report.Row) {
					r.Why, r.Attempt, r.Warnings = turnFailed, 1, []string{pushRefused}
				}),
			}
			t.Spent, t.Acted = schedule.Spent{Sessions: 2, Usage: schedule.Usage{Input: 2000, Output: 268}, Time: end.Sub(start)}, 2
			addClaim(t, schedule.Claim{Identifier: "ABC-7", Phase: schedule.Waiting, Due: end.Add(10 * time.Second), Why: turnFailed}, schedule.NotDue, "waits")
		}),
		"delivered": delivered(),
		"refused": tick(func(t *report.Tick) {
			t.Delivers = true
			t.Rows = []report.Row{refusedRow("ABC-3", "Rotate the deployment keys", waits(workRefused, end.Add(10*time.Second)))}
			t.Spent, t.Acted = schedule.Spent{Sessions: 1, Usage: schedule.Usage{Input: 1000, Output: 134}, Time: end.Sub(start)}, 1
			addClaim(t, schedule.Claim{Identifier: "ABC-3", Phase: schedule.Waiting, Due: end.Add(10 * time.Second), Why: workRefused}, schedule.NotDue, "waits")
		}),
		"moved-on": tick(func(t *report.Tick) {
			next := func(reason schedule.Reason, detail string) schedule.Next {
				return schedule.Next{Why: schedule.Why{Reason: reason, Detail: detail}}
			}
			in := func(state string) func(*report.Row) { return func(r *report.Row) { r.State = state } }
			t.Rows = []report.Row{
				with(row("ABC-1", "Overtaken by a poll", schedule.Stopped, handedOver), in("Review")),
				with(row("ABC-2", "Closed by its agent, and overtaken", schedule.Stopped, next(schedule.Terminal, "is terminal")), in("Done")),
				with(row("ABC-3", "The label comes off", schedule.Done, next(schedule.NotRoutable, `lacks the required label "symphony"`)), in("open")),
				with(row("ABC-4", "Taken away before its first turn", schedule.Stopped, handedOver), func(r *report.Row) { r.State, r.Turns = "Backlog", 0 }),
				with(row("ABC-5", "Asked, and moved on", schedule.NeedsInput, handedOver), func(r *report.Row) { r.State, r.Why = "Needs info", question }),
			}
			t.Spent, t.Acted = schedule.Spent{Sessions: 5, Usage: schedule.Usage{Input: 5000, Output: 670}, Time: end.Sub(start)}, 5
		}),
		"all-parked": tick(func(t *report.Tick) {
			t.Comments = schedule.Comments{}
			for _, id := range []string{"ABC-1", "ABC-2", "ABC-3"} {
				why := "3 sessions in a row changed nothing (budget.max_idle_sessions)"
				t.Rows = append(t.Rows, row(id, "Think about it", schedule.Done, parks(why)))
				addClaim(t, schedule.Claim{Identifier: id, Phase: schedule.Parked, Why: why}, schedule.IsParked, why)
				t.Parked = append(t.Parked, tracker.ID(id))
			}
			t.Spent, t.Acted = schedule.Spent{Sessions: 3, Usage: schedule.Usage{Input: 3000, Output: 402}, Time: end.Sub(start)}, 3
		}),
		"everything": everything(),
		"nothing": tick(func(t *report.Tick) {
			t.Pause = schedule.Pause{Why: noQuota, Since: start.Add(-time.Hour), Until: start} // over
			t.Verdicts = []schedule.Verdict{
				verdict("ABC-2", "Export as CSV", "", "", schedule.Blocked, "blocked by ABC-1 (In Progress)"),
				verdict("ABC-3", "Import from CSV", "", "", schedule.Blocked, "blocked by ABC-2 (Todo)"),
				verdict("ABC-4", "Rate limit the API", "", "", schedule.NotRoutable, `lacks the required label "agent"`),
				verdict("ABC-5", "Rotate the keys", "", "", schedule.NotRoutable, `lacks the required label "agent"`),
			}
		}),
		"open-limit": tick(func(t *report.Tick) {
			const full = "3 of 3 pull requests wait for review (delivery.max_open)"
			t.Verdicts = []schedule.Verdict{
				verdict("ABC-2", "Export as CSV", "", "", schedule.OpenLimit, full),
				verdict("ABC-3", "Import from CSV", "", "", schedule.OpenLimit, full),
			}
		}),
		"settled":            tick(func(t *report.Tick) { t.Acted = 2 }),
		"dry-run-takes-over": tick(func(t *report.Tick) { t.DryRun, t.Acted = true, 1 }),
		"no-issues":          tick(func(t *report.Tick) { t.Today = schedule.Day{Date: "2025-11-21"} }),
		"unreadable": tick(func(t *report.Tick) {
			t.Listed, t.Unread, t.Errors = false, trackerBad, []string{trackerBad, trackerBad}
			addClaim(t, schedule.Claim{Identifier: "ABC-7", Title: "Sessions expire", Phase: schedule.Waiting, Due: end.Add(10 * time.Second), Why: turnFailed, Attempt: 1}, schedule.NotKnown, "the tracker could not be asked about it")
		}),
		"state-unreadable": {
			Started: start, Ended: end, Workflow: "/repo/WORKFLOW.md", Tracker: "linear",
			Errors: []string{"load state: state_unreadable: /repo/.symphony/state.json: checksum does not match; restore the file from a backup, or remove it to forget every claim"},
		},
		"paused": tick(func(t *report.Tick) {
			t.Pause = schedule.Pause{Why: noQuota, Since: start.Add(-time.Hour), Until: end.Add(25 * time.Minute)}
			for i := range 14 {
				t.Verdicts = append(t.Verdicts, verdict(fmt.Sprintf("GH-%d", 100+i), "Something", "", "", schedule.Paused, "paused until 12:25"))
			}
		}),
		"systemic": tick(func(t *report.Tick) {
			t.Pause = schedule.Pause{Why: noQuota, Since: end, Until: end.Add(25 * time.Minute)}
			for _, id := range []string{"ABC-1", "ABC-2"} {
				t.Rows = append(t.Rows, with(row(id, "Something to do", schedule.Systemic, waits(noQuota, end)), func(r *report.Row) { r.Why = noQuota }))
				addClaim(t, schedule.Claim{Identifier: id, Phase: schedule.Waiting, Due: end, Why: noQuota}, schedule.Paused, noQuota)
			}
			t.Errors = []string{noQuota, noQuota}
			t.Spent = schedule.Spent{Sessions: 2, Usage: schedule.Usage{Input: 2000, Output: 268}, Paused: true}
			t.Verdicts = append(t.Verdicts, verdict("ABC-3", "Another", "", "", schedule.Paused, noQuota))
		}),
		"deadline": tick(func(t *report.Tick) {
			t.Stopped, t.Ended = "deadline", start.Add(25*time.Minute)
			t.Spent = schedule.Spent{Sessions: 2, Usage: schedule.Usage{Input: 2000, Output: 268}}
			t.Rows = []report.Row{
				with(row("ABC-1", "Add a dark mode to the settings page", schedule.Stopped, waits("the deadline was reached", t.Ended)), func(r *report.Row) { r.Why, r.Took = "stopped: deadline", 25*time.Minute }),
				with(row("ABC-2", "A session that fell silent", schedule.Stopped, waits("silent for 5m0s (codex.stall_timeout_ms)", t.Ended.Add(20*time.Second))), func(r *report.Row) { r.Why = "stopped: stalled" }),
			}
			addClaim(t, schedule.Claim{Identifier: "ABC-1", Phase: schedule.Waiting, Due: t.Ended}, schedule.OutOfTime, "too little time is left before the deadline")
			addClaim(t, schedule.Claim{Identifier: "ABC-2", Phase: schedule.Waiting, Due: t.Ended.Add(20 * time.Second)}, schedule.NotDue, "waits")
			t.Verdicts = append(t.Verdicts, verdict("ABC-3", "Another", "", "", schedule.OutOfTime, "too little time is left before the deadline"))
		}),
		"interrupted": tick(func(t *report.Tick) {
			t.Stopped = "interrupted"
			t.Verdicts = []schedule.Verdict{verdict("ABC-3", "Another", "", schedule.Dispatch, "", "")}
		}),
		"budget": tick(func(t *report.Tick) {
			t.Budget = schedule.Budget{TokensPerTick: 50_000, TokensPerDay: 120_000}
			t.Verdicts = []schedule.Verdict{verdict("ABC-3", "Another", "", "", schedule.DayBudget, "budget.max_tokens_per_day is spent until 2025-11-22T00:00:00Z")}
		}),
		"money": tick(func(t *report.Tick) {
			used := func(model string, input, output int64) schedule.Usage {
				u := schedule.TariffUsage{Tariff: schedule.Tariff{Model: model}, Input: input, Cached: input / 2, Output: output, Reasoning: output / 2}
				return schedule.Usage{Input: input, Output: output, Tariffs: schedule.Tariffs{u}}
			}
			t.Budget = schedule.Budget{
				TokensPerIssue: 2_000_000, USDPerIssue: schedule.MoneyOf(5), USDPerDay: schedule.MoneyOf(20),
				Prices: schedule.Prices{"gpt-6": {Rates: schedule.Rates{Input: 1.25, Cached: 0.125, CacheWrite: 1.25, Output: 10}}},
			}
			known, unknown := used("gpt-6", 400_000, 90_000), used("other", 3000, 100)
			t.Rows = []report.Row{
				with(row("ABC-1", "A model with a price", schedule.Done, waits("continuation", end)), func(r *report.Row) {
					r.Usage, r.Choice = known, report.Choice{Label: "hard", Model: "gpt-6", Effort: "high", ServiceTier: "flex"}
				}),
				with(row("ABC-2", "A model without one", schedule.Stopped, waits("the model other has answered, and budget.prices has no price for it", end)), func(r *report.Row) { r.Usage = unknown }),
			}
			t.Spent = schedule.Spent{Sessions: 2, Usage: known.Plus(unknown), Time: end.Sub(start)}
			t.Today.Usage = t.Today.Usage.Plus(t.Spent.Usage) // a part was counted before tariffs were recorded
			addClaim(t, schedule.Claim{Identifier: "ABC-1", Title: "A model with a price", Phase: schedule.Waiting, Tokens: 490_000, Tariffs: known.Tariffs, Sessions: 1}, schedule.Unpriced, "the model other has answered, and budget.prices has no price for it")
			t.Reserved = schedule.Reserved{Shards: 1, USD: schedule.MoneyOf(1.5)}
		}),
		"fleet": fleet(),
		"assigned": tick(func(t *report.Tick) {
			t.Assigned, t.Acted = report.Assigned{Issues: 12, Shards: 6}, 12
			t.Warnings = []string{"agent.runs_on: no label of an issue is gpu"}
		}),
		"dry-run":         dryRun(),
		"dry-run-nothing": tick(func(t *report.Tick) { t.DryRun = true }),
		"hostile":         hostile(),
		"many":            many(150),
	}
}

// refusal and workRefused are what the policy says about a work, and what the claim
// of its issue keeps of that.
const (
	refusal = "- .github/workflows/deploy.yml: the path is protected (.github/**); leave it as it is on the base branch\n" +
		"- \"docs/a name with spaces.md\": it holds an Azure key; take it out, and out of every commit\n" +
		"- 141 files differ from the base branch, and delivery.max_files is 100; make a smaller change\n"
	workRefused = "deliver the work: git_refused: - .github/workflows/deploy.yml: the path is protected (.github/**); leave it as it is on the base branch - \"docs/a name with spaces.md\": it holds an Azure key; …"
	parkedWork  = "3 failures in a row (budget.max_attempts_per_issue), the last: " + workRefused
	noChecks    = "GitHub starts no checks for what the job's own token pushes."
)

// published returns where the work on an issue is.
func published(identifier string, number int) schedule.Delivery {
	d := schedule.Delivery{Identifier: identifier, Branch: "symphony/" + identifier, Base: "main", Head: strings.Repeat("1f", 20), Number: number, At: end}
	if number > 0 {
		d.URL = fmt.Sprintf("https://github.com/acme/shop/pull/%d", number)
	}
	return d
}

// refusedRow returns an issue whose work was refused and kept.
func refusedRow(identifier, title string, next schedule.Next) report.Row {
	return with(row(identifier, title, schedule.IssueFailed, next), func(r *report.Row) {
		r.Why, r.Refused = workRefused, refusal
		r.Kept = report.Kept{Folder: "logs/refused/" + identifier, Artifact: "symphony-logs-4711", Commands: []string{
			"git fetch work.bundle refs/heads/out:refs/heads/symphony/" + identifier,
			"git diff " + strings.Repeat("0a", 20) + " symphony/" + identifier,
			"git apply --index work.patch",
		}}
	})
}

// delivered returns a tick of a workflow that delivers: what was published in each
// way, what was not, and what was refused.
func delivered() report.Tick {
	return tick(func(t *report.Tick) {
		t.Delivers = true
		worked := func(identifier, title string, next schedule.Next, d schedule.Delivery, pullRequest string) report.Row {
			return with(row(identifier, title, schedule.Done, next), func(r *report.Row) {
				r.State, r.Delivered, r.Delivery, r.PullRequest = "In Review", true, d, pullRequest
			})
		}
		t.Rows = []report.Row{
			worked("ABC-1", "Add a dark mode to the settings page", handedOver, published("ABC-1", 12), "opened"),
			worked("ABC-2", "Sessions expire while the user is still typing", waits("continuation", end), published("ABC-2", 7), "updated"),
			refusedRow("ABC-3", "Rotate the deployment keys", waits(workRefused, end.Add(10*time.Second))),
			refusedRow("ABC-4", "Rotate them again", parks(parkedWork)),
			worked("ABC-5", "A branch and nothing else", done, published("ABC-5", 0), ""),
			worked("ABC-6", "For a folder", done, schedule.Delivery{URL: "/repo/.symphony/patches/ABC-6.patch"}, ""),
			row("ABC-8", "Is there anything to do?", schedule.Done, waits("continuation", end)),
			row("ABC-9", "Moved by hand, with nothing published", schedule.Stopped, handedOver),
			with(row("ABC-10", "Its turn failed after an earlier delivery", schedule.Transient, waits("turn_failed: serverOverloaded", end.Add(20*time.Second))), func(r *report.Row) {
				r.Why = "turn_failed: serverOverloaded"
			}),
			with(row("ABC-11", "A person pushed to its branch meanwhile", schedule.Transient, waits("git_moved", end.Add(20*time.Second))), func(r *report.Row) {
				r.Why, r.Kept = "deliver the work: git_moved", report.Kept{Folder: "/repo/.symphony/refused/ABC-11"}
			}),
		}
		t.Deliveries = map[tracker.ID]schedule.Delivery{
			"ABC-1": published("ABC-1", 12), "ABC-2": published("ABC-2", 7), "ABC-10": published("ABC-10", 3), "ABC-3": {Identifier: "ABC-3", Refused: refusal}, "ABC-4": {Identifier: "ABC-4", Refused: refusal},
		}
		t.Spent, t.Acted, t.Parked = schedule.Spent{Sessions: 9, Usage: schedule.Usage{Input: 9000, Output: 1206}, Time: end.Sub(start)}, 9, []tracker.ID{"ABC-4"}
		addClaim(t, schedule.Claim{Identifier: "ABC-3", Phase: schedule.Waiting, Due: end.Add(10 * time.Second), Why: workRefused}, schedule.NotDue, "waits")
		addClaim(t, schedule.Claim{Identifier: "ABC-4", Phase: schedule.Parked, Why: parkedWork, Sessions: 3, Tokens: 45_100}, schedule.IsParked, parkedWork)
		addClaim(t, schedule.Claim{Identifier: "ABC-11", Phase: schedule.Waiting, Due: end.Add(20 * time.Second), Why: "git_moved"}, schedule.NotDue, "waits")
		for _, id := range []string{"ABC-2", "ABC-8"} {
			addClaim(t, schedule.Claim{Identifier: id, Phase: schedule.Waiting, Due: end, Why: "continuation"}, schedule.NoSlots, "")
		}
		addClaim(t, schedule.Claim{Identifier: "ABC-10", Phase: schedule.Waiting, Due: end.Add(20 * time.Second), Why: "turn_failed: serverOverloaded"}, schedule.NotDue, "waits")
		t.Notices = []string{noChecks}
		t.Checks = map[tracker.ID]schedule.Checks{"ABC-2": schedule.ChecksRunning, "ABC-10": schedule.ChecksRed}
	})
}

// fleet returns the tick that the collector of a fleet reports: with shards that have a job
// and one whose job nobody knows, and a shard that died.
func fleet() report.Tick {
	t := delivered()
	t.Ended = start.Add(47 * time.Minute)
	shards := []int{1, 1, 2, 2, 3, 3, 17, 17, 64, 256}
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Shard = shards[i]
		if r.Shard != 3 {
			r.Job = fmt.Sprint(90_000 + r.Shard)
			r.JobURL = "https://github.com/acme/shop/actions/runs/4711/job/" + r.Job
		}
	}
	died := "shard 64 of run 4711 ended without releasing its claim"
	t.Reserved = schedule.Reserved{Shards: 1, Tokens: 45_000}
	lost := &t.Rows[8]
	lost.Why, lost.Class, lost.Next = died, schedule.IssueFailed, waits(died, t.Ended.Add(20*time.Second))
	lost.Lost, lost.Turns, lost.Usage, lost.Took = true, 0, schedule.Usage{}, 0
	return t
}

func everything() report.Tick {
	return tick(func(t *report.Tick) {
		t.Ended = start.Add(12*time.Minute + 34*time.Second)
		t.Rows = []report.Row{
			with(row("GH-1041", "Add a dark mode to the settings page, with a switch that follows the system", schedule.Done, handedOver), func(r *report.Row) {
				r.State, r.Turns, r.Usage.Input, r.Took = "Human Review", 14, 1_234_567, 11*time.Minute
			}),
			with(row("GH-7", "Sessions expire while the user is still typing", schedule.IssueFailed, waits(turnFailed, t.Ended.Add(40*time.Second))), func(r *report.Row) {
				r.Why, r.Attempt = turnFailed, 3
				r.Log = report.Log{File: "logs/GH-7/20251121T120003.500Z-4.html", Artifact: "symphony-logs-4711"}
			}),
			row("GH-8", "Long work that goes on", schedule.Done, waits("continuation", t.Ended.Add(time.Second))),
			with(row("GH-9", "Export to the warehouse", schedule.NeedsInput, parks(question)), func(r *report.Row) { r.Why = question }),
			with(row("GH-11", "Flaky test in the scheduler", schedule.IssueFailed, parks("10 failures in a row (budget.max_attempts_per_issue), the last: turn_failed: badRequest")), func(r *report.Row) { r.Why = "turn_failed: badRequest" }),
			with(row("GH-13", "Overloaded", schedule.Transient, waits("turn_failed: serverOverloaded", t.Ended.Add(5*time.Hour))), func(r *report.Row) { r.Why = "turn_failed: serverOverloaded: try again later" }),
			with(row("GH-15", "Taken from under us", schedule.Stopped, schedule.Next{Why: schedule.Why{Reason: "not_routable", Detail: `lacks the required label "agent"`}}), func(r *report.Row) { r.Why = "stopped: not_routable" }),
			row("GH-17", "Went on to review while it waited", schedule.Done, waits("continuation", t.Ended)),
		}
		t.Spent = schedule.Spent{Sessions: 9, Usage: schedule.Usage{Input: 1_240_000, Output: 9_300}, Time: 25 * time.Minute}
		t.Acted, t.Parked = 9, []tracker.ID{"GH-9", "GH-11"}
		t.Budget = schedule.Budget{Attempts: 10, IdleSessions: 3, TokensPerIssue: 100_000, TokensPerTick: 2_000_000, TokensPerDay: 10_000_000}
		addClaim(t, schedule.Claim{Identifier: "GH-7", Phase: schedule.Waiting, Due: t.Ended.Add(40 * time.Second)}, schedule.NotDue, "waits")
		addClaim(t, schedule.Claim{Identifier: "GH-8", Phase: schedule.Waiting, Due: t.Ended.Add(time.Second)}, schedule.BatchSpent, "this tick has started its 9 sessions")
		addClaim(t, schedule.Claim{Identifier: "GH-9", Phase: schedule.Parked, Why: question, Tokens: 45_100, Sessions: 3}, schedule.IsParked, question)
		addClaim(t, schedule.Claim{Identifier: "GH-11", Phase: schedule.Parked, Why: "10 failures in a row (budget.max_attempts_per_issue), the last: turn_failed: badRequest", Tokens: 900, Sessions: 10}, schedule.IsParked, "x")
		addClaim(t, schedule.Claim{Identifier: "GH-13", Phase: schedule.Waiting, Due: t.Ended.Add(5 * time.Hour)}, schedule.NotDue, "waits")
		addClaim(t, schedule.Claim{Identifier: "GH-20", Title: "Waits for its time since an earlier tick", Phase: schedule.Waiting, Due: t.Ended.Add(20 * time.Hour), Why: "budget.max_tokens_per_day is spent"}, schedule.NotDue, "waits")
		addClaim(t, schedule.Claim{Identifier: "GH-21", Title: "Is due but finds no room", Phase: schedule.Waiting, Due: start, Why: "turn_failed"}, schedule.BatchSpent, "this tick has started its 9 sessions")
		for i := range 12 {
			t.Verdicts = append(t.Verdicts, verdict(fmt.Sprintf("GH-%d", 30+i), "Blocked", "", "", schedule.Blocked, fmt.Sprintf("blocked by GH-%d (In Progress)", 60+i)))
		}
		for i := range 25 {
			t.Verdicts = append(t.Verdicts, verdict(fmt.Sprintf("GH-%d", 1100+i), "Later", "", "", schedule.BatchSpent, "this tick has started its 9 sessions"))
		}
		t.Verdicts = append(t.Verdicts,
			verdict("GH-50", "Not ours", schedule.Running, "", schedule.InProgress, "a session works on it"),
			verdict("GH-51", "Outsider", "", "", schedule.NotDispatchable, "its author is not a member of the repository; put the label \"safe\" on it after reading it"))
		t.StartedBy = "issue_comment created on #7 by kim"
		t.Notices = []string{noChecks}
		t.Errors = []string{"preflight: sandbox_unavailable: bubblewrap: No permissions to create new namespace; run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"}
		t.Warnings = []string{`agent.max_concurent_agents is unknown: did you mean "agent.max_concurrent_agents"?`, "GH-90: workspace not removed: hook before_remove: exit status 1"}
	})
}

func dryRun() report.Tick {
	return tick(func(t *report.Tick) {
		t.DryRun = true
		t.Claims["ABC-7"] = schedule.Claim{ID: "ABC-7", Failures: 2, Sessions: 2, Why: "turn_failed: other", Tokens: 4000}
		t.Claims["ABC-8"] = schedule.Claim{ID: "ABC-8", Sessions: 1, Why: "continuation"}
		t.Claims["ABC-9"] = schedule.Claim{ID: "ABC-9", Phase: schedule.Parked, Sessions: 3, Tokens: 45_000, Why: question}
		t.Verdicts = []schedule.Verdict{
			verdict("ABC-5", "Finished by hand", schedule.Waiting, schedule.Release, schedule.Terminal, `is "Done", a terminal state`),
			verdict("ABC-6", "A greedy issue", schedule.Waiting, schedule.Park, schedule.IssueBudget, "spent 2100000 tokens of budget.max_tokens_per_issue 2000000"),
			verdict("ABC-7", "Sessions expire while the user is still typing", schedule.Waiting, schedule.Dispatch, "", ""),
			verdict("ABC-8", "Long work that goes on", schedule.Waiting, schedule.Dispatch, "", ""),
			verdict("ABC-9", "Export to the warehouse", schedule.Parked, "", schedule.IsParked, question),
			verdict("ABC-10", "Add a dark mode to the settings page", "", schedule.Dispatch, "", ""),
			verdict("ABC-2", "Export as CSV", "", "", schedule.Blocked, "blocked by ABC-1 (In Progress)"),
			verdict("ABC-11", "Later", "", "", schedule.NoSlots, "no available orchestrator slots"),
		}
	})
}

// addresses holds those that must not become links, and some that may.
var addresses = []string{
	"javascript:alert(1)", "JavaScript://x.example/%0aalert(1)", "data:text/html,x", "//evil.example", "https:evil.example",
	"https://user:pass@evil.example/", "https://github.com@evil.example", "https://g\u0456thub.com/x", "https://[::1]/", "ftp://x.example",
	"https://x.example/) [y](https://evil.example", "https://x.example/a|b`c\"<d>\\*_ \u202e", "http://x.example:8080/?a=1&lt;b", "https://x.example/#@acme",
	" https://x.example", "https://x.example/\n# x", "https://-x.example/", "https://x.example/" + strings.Repeat("y", 1000),
}

func hostile() report.Tick {
	return tick(func(t *report.Tick) {
		for i, text := range texttest.Nasty {
			r := row(fmt.Sprintf("X-%d", i), text, schedule.IssueFailed, waits(text, end.Add(time.Second)))
			r.Why, r.URL = text, addresses[i%len(addresses)]
			r.Delivery = schedule.Delivery{Identifier: text, Branch: text, Head: text, URL: addresses[i%len(addresses)], Number: i % 3}
			r.PullRequest = text
			if i%5 == 0 {
				r.Refused = "- " + text + "\n- ::error::" + text
				r.Kept = report.Kept{Folder: text, Artifact: text, Commands: []string{text, "``` " + text, "::error::" + text}}
			}
			r.Log = report.Log{File: text, Artifact: text, Command: text}
			t.Rows = append(t.Rows, r)
			addClaim(t, schedule.Claim{Identifier: r.Identifier, Phase: schedule.Waiting, Due: end.Add(time.Second)}, schedule.NotDue, text)
			t.Verdicts = append(t.Verdicts, verdict("N-"+text, text, "", "", schedule.NotDispatchable, text))
		}
		t.Verdicts = append(t.Verdicts, verdict("Y-"+texttest.Nasty[13], texttest.Nasty[14], "", "", schedule.Blocked, texttest.Nasty[15]), verdict("Y-1", "", "", "", schedule.Blocked, texttest.Nasty[13]))
		r := row("::error::", "An identifier that is a command", schedule.Done, handedOver)
		r.State = "::set-output name=x::y"
		t.Rows = append(t.Rows, r)
		addClaim(t, schedule.Claim{Identifier: "$(reboot)", Phase: schedule.Parked, Why: "the agent asks: \x1b[2J\n::error::really?", Sessions: 1, Tokens: 5}, schedule.IsParked, "")
		t.Parked = []tracker.ID{"$(reboot)", "unknown"}
		t.Delivers, t.Deliveries = true, map[tracker.ID]schedule.Delivery{"$(reboot)": {Refused: strings.Join(texttest.Nasty, "\n")}}
		t.Notices = []string{texttest.Nasty[15]}
		t.Errors, t.Warnings = append(texttest.Nasty[:3:3], texttest.Nasty[13:]...), []string{"::warning::" + strings.Repeat("x", 100) + " ::error::y"}
	})
}

// many returns a tick over n issues, with as many left alone, parked and waiting.
func many(n int) report.Tick {
	return tick(func(t *report.Tick) {
		for i := range n {
			r := row(fmt.Sprintf("GH-%d", i), "One of many", schedule.Done, done)
			if i%7 == 0 {
				r.Class, r.Why = schedule.IssueFailed, "turn_failed: other"
			}
			t.Rows = append(t.Rows, r)
			t.Verdicts = append(t.Verdicts, verdict(fmt.Sprintf("N-%d", i), "Another", "", "", schedule.BatchSpent, "this tick has started its sessions"))
			addClaim(t, schedule.Claim{Identifier: fmt.Sprintf("P-%d", i), Phase: schedule.Parked, Why: question, Sessions: 1, Tokens: 100}, schedule.IsParked, question)
			addClaim(t, schedule.Claim{Identifier: fmt.Sprintf("W-%d", i), Title: "Waits", Phase: schedule.Waiting, Why: "turn_failed", Due: end.Add(time.Duration(i) * time.Minute)}, schedule.NotDue, "waits")
		}
	})
}

func states() map[string]*schedule.State {
	empty, pastPause := schedule.New(schedule.Owner{}), schedule.New(schedule.Owner{})
	pastPause.Pause = schedule.Pause{Why: noQuota, Since: start.Add(-time.Hour), Until: start}
	full := schedule.New(schedule.Owner{})
	for _, c := range []schedule.Claim{
		{Identifier: "ABC-9", Title: "Export", State: "In Progress", Phase: schedule.Parked, Since: end.Add(-26 * time.Hour), Why: question, Sessions: 3, Tokens: 45_100, Attempt: 1},
		{Identifier: "ABC-1", Title: "Dark mode", State: "In Progress", Phase: schedule.Running, Since: end.Add(-3 * time.Minute), Sessions: 1, Tokens: 1200, Owner: schedule.Owner{Run: "4711", Attempt: 2, Host: "runner-1", PID: 7}, Lease: end.Add(7 * time.Minute)},
		{Identifier: "ABC-2", Title: "On somebody's laptop", State: "Todo", Phase: schedule.Stopping, Since: end, Why: "silent for 5m0s (codex.stall_timeout_ms)", Sessions: 1, Owner: schedule.Owner{Host: "laptop", PID: 7}, Lease: end.Add(9 * time.Minute)},
		{Identifier: "ABC-7", Title: "Sessions", State: "Todo", Phase: schedule.Waiting, Since: end.Add(-time.Minute), Due: end.Add(80 * time.Second), Why: turnFailed, Attempt: 3, Sessions: 3, Failures: 3, Tokens: 1_230_000},
		{Identifier: "ABC-8", Title: "Due", State: "Todo", Phase: schedule.Waiting, Since: end.Add(-time.Minute), Due: end.Add(-time.Second), Why: "continuation", Attempt: 1, Sessions: 1},
	} {
		c.ID, c.URL = tracker.ID(c.Identifier), at(c.Identifier)
		full.Claims[c.ID] = c
	}
	full.Pause = schedule.Pause{Why: noQuota, Since: start, Until: end.Add(25 * time.Minute)}
	waiting, refused := published("ABC-7", 12), schedule.Delivery{Identifier: "ABC-9", Branch: "symphony/ABC-9", Refused: refusal}
	waiting.At = end.Add(-26 * time.Hour)
	begun := schedule.Delivery{Identifier: "ABC-1", Branch: "symphony/ABC-1", Base: "main", Pushing: strings.Repeat("2e", 20)}
	branch := published("ABC-0", 0)
	branch.At = end.Add(-40 * 24 * time.Hour)
	full.Deliveries = map[tracker.ID]schedule.Delivery{
		"ABC-7": waiting, "ABC-9": refused, "ABC-1": begun, "ABC-0": branch,
		"ABC-6": {Identifier: "ABC-6", URL: "/repo/.symphony/patches/ABC-6.patch", At: end.Add(-time.Hour)},
	}
	full.Conversations = map[tracker.ID]schedule.Conversation{"ABC-9": {Posted: "5f"}, "ABC-7": {Checks: schedule.ChecksRed}}
	full.Days = []schedule.Day{
		{Date: "2025-11-20", Sessions: 40, Usage: schedule.Usage{Input: 9_000_000, Output: 400_000}, Time: 40_000 * time.Second},
		{Date: "2025-11-21", Sessions: 3, Usage: schedule.Usage{Input: 1000}, Time: 65 * time.Second},
	}
	full.History = []schedule.TickRecord{
		{Started: start.Add(-26 * time.Hour), Ended: start.Add(-25 * time.Hour), Sessions: 2, Done: 1, Tokens: 1_200_000},
		{Run: "4710", Attempt: 1, Started: start.Add(-time.Hour), Ended: start.Add(-30 * time.Minute), Stopped: "deadline", Sessions: 4, Done: 3, Failed: 2, Parked: 1, Tokens: 45_100},
		{Run: "4711", Attempt: 2, Started: start, Ended: end, Sessions: 1, Done: 1, Tokens: 1200},
	}
	return map[string]*schedule.State{"fleet": fleetState(), "empty": empty, "full": full, "past-pause": pastPause, "hostile": hostileState()}
}

// fleetState returns a state in which two fleets work, one of them outside of Actions, and
// shards of a third have left no result.
func fleetState() *schedule.State {
	s := schedule.New(schedule.Owner{})
	s.Reserves = map[schedule.Owner]schedule.Reserve{}
	fleets := []schedule.Owner{{Run: "4711", Attempt: 1, Limit: 18_000}, {Run: "4712", Attempt: 2, Limit: 18_000}, {Host: "build-7", Limit: 18_000}}
	for i := range 6 {
		owner := fleets[i/2]
		owner.Started, owner.Shard = start.UnixMilli(), 1+i%2
		c := schedule.Claim{Identifier: fmt.Sprintf("ABC-%d", 1+i), Title: "Work for a shard", State: "Todo", Phase: schedule.Running, Since: end.Add(-time.Minute), Sessions: 1, Owner: owner}
		c.ID, c.URL = tracker.ID(c.Identifier), at(c.Identifier)
		s.Claims[c.ID] = c
		s.Reserves[owner] = schedule.Reserve{Since: start, Tokens: 20_000, IDs: []tracker.ID{c.ID}}
	}
	s.Reserves[schedule.Owner{Run: "4710", Attempt: 1, Shard: 3}] = schedule.Reserve{Since: start.Add(-time.Hour), Tokens: 45_000}
	s.Days = []schedule.Day{{Date: "2025-11-21", Sessions: 3, Usage: schedule.Usage{Input: 1000}, Time: 65 * time.Second}}
	return s
}

// hostileState returns a state with the texts and addresses of an attacker.
func hostileState() *schedule.State {
	s := schedule.New(schedule.Owner{})
	s.Deliveries = map[tracker.ID]schedule.Delivery{}
	phases := []schedule.Phase{schedule.Running, schedule.Waiting, schedule.Parked}
	for i, text := range texttest.Nasty {
		id := tracker.ID(fmt.Sprintf("%02d %s", i, text))
		s.Claims[id] = schedule.Claim{
			ID: id, Identifier: text, Title: text, State: text, Why: text, URL: addresses[i%len(addresses)], Phase: phases[i%len(phases)],
			Since: end, Due: end, Owner: schedule.Owner{Run: text, Attempt: i, Host: text, Shard: i % 2},
		}
		s.Deliveries[id] = schedule.Delivery{Identifier: text, Branch: text, Base: text, Head: text, URL: addresses[i%len(addresses)], Number: i % 3, Refused: text}
		s.Days = append(s.Days, schedule.Day{Date: text})
		s.History = append(s.History, schedule.TickRecord{Run: text, Stopped: text, Started: start, Ended: end})
	}
	s.Pause = schedule.Pause{Why: texttest.Nasty[13], Until: end}
	return s
}

// verdicts returns one of each kind.
func verdicts() []schedule.Verdict {
	all := []schedule.Verdict{
		verdict("ABC-1", "", "", schedule.Dispatch, "", ""),
		verdict("ABC-1", "", "", "", "", ""),
		verdict("ABC-1", "", schedule.Running, schedule.Stop, schedule.Terminal, `is "Done", a terminal state`),
		verdict("ABC-1", "", schedule.Parked, schedule.Release, schedule.Changed, "somebody changed the issue"),
		verdict("ABC-1", "", schedule.Waiting, schedule.Park, schedule.IssueBudget, "spent 5 tokens of budget.max_tokens_per_issue 4"),
		verdict("ABC-1", "", "", schedule.Dispatch, schedule.Unanswered, "2 comments by kim, 1 failed check (lint)"),
		verdict("ABC-1", "", "", schedule.Park, schedule.RoundsSpent, "spent 5 sessions of feedback.max_rounds 5 on what people said; unanswered: 1 comment by kim"),
		verdict("ABC-1", "", schedule.Parked, schedule.Free, schedule.Unanswered, "1 comment by kim"),
		verdict("ABC-1", "", schedule.Parked, schedule.Free, schedule.Commanded, "kim wrote /symphony retry"),
		verdict("ABC-1", "", schedule.Running, schedule.Stop, schedule.Commanded, "kim wrote /symphony stop"),
		verdict("ABC-1", "", "", schedule.Park, schedule.Closed, "kim closed the pull request without merging it"),
		verdict("ABC-1", "", schedule.Parked, schedule.Release, schedule.Reopened, "the pull request was opened again"),
		verdict("ABC-1", "", "", schedule.Finish, schedule.Merged, "kim merged the pull request"),
		verdict("ABC-1", "", schedule.Running, "", schedule.InProgress, "a session works on it"),
		verdict("ABC-1", "", schedule.Stopping, "", schedule.InProgress, "the deadline was reached"),
		verdict("ABC-1", "", schedule.Parked, "", schedule.IsParked, question),
		verdict("ABC-1", "", schedule.Parked, "", schedule.NotKnown, "the tracker could not be asked about it"),
		verdict("ABC-1", "", schedule.Waiting, "", schedule.NotDue, "waits until 2025-11-21T12:00:10Z: turn_failed: other"),
		verdict("$(reboot)", "", schedule.Parked, "", schedule.IsParked, "asks"),
	}
	for _, why := range []schedule.Why{
		{Reason: schedule.Incomplete, Detail: "has no title"},
		{Reason: schedule.NotActive, Detail: `is "Backlog", not an active state`},
		{Reason: schedule.Terminal, Detail: `is "Done", a terminal state`},
		{Reason: schedule.NotRoutable, Detail: `lacks the required label "agent"`},
		{Reason: schedule.NotDispatchable, Detail: "its author is not a member of the repository"},
		{Reason: schedule.Blocked, Detail: "blocked by ABC-2 (In Progress)"},
		{Reason: schedule.NotVisible, Detail: "the tracker no longer shows the issue"},
		{Reason: schedule.NoSlots, Detail: "no available orchestrator slots"},
		{Reason: schedule.NoStateSlots, Detail: `all 2 slots of state "Todo" are taken`},
		{Reason: schedule.NoHostSlots, Detail: "all 4 slots of worker hosts are taken"},
		{Reason: schedule.HostsDown, Detail: "no worker host works, and they are left alone: build1 until 2025-11-21T12:25:00Z (ssh: connection refused)"},
		{Reason: schedule.OpenLimit, Detail: "3 of 3 pull requests wait for review (delivery.max_open)"},
		{Reason: schedule.BatchSpent, Detail: "this tick has started its 3 sessions"},
		{Reason: schedule.TickBudget, Detail: "budget.max_tokens_per_tick is spent"},
		{Reason: schedule.DayBudget, Detail: "budget.max_tokens_per_day is spent until 2025-11-22T00:00:00Z"},
		{Reason: schedule.Paused, Detail: "paused until 2025-11-21T12:25:00Z: " + noQuota},
		{Reason: schedule.OnHold, Detail: "WORKFLOW.md is invalid: tracker.kind is missing"},
		{Reason: schedule.OutOfTime, Detail: "too little time is left before the deadline"},
		{Reason: schedule.CommandOnly, Detail: "this run only carries out a command"},
	} {
		all = append(all, verdict("ABC-1", "", "", "", why.Reason, why.Detail))
	}
	return all
}
