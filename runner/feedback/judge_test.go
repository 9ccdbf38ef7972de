package feedback

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// ago returns a time before noon.
func ago(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }

func by(author, text string) tracker.Comment {
	return tracker.Comment{ID: "c-" + author + "-" + text, Author: author, Text: text, At: ago(1)}
}

func stranger(text string) tracker.Comment {
	c := by("mallory", text)
	c.Distrust = "mallory has no write access"
	return c
}

func onIssue(comments ...tracker.Comment) Said {
	return Said{Comments: tracker.Comments{List: comments}}
}

func open(p Pull) Said {
	p.State, p.URL, p.Complete = schedule.PullOpen, "https://example.org/pull/7", true
	if p.Head == "" {
		p.Head, p.Ours = "ours", "ours"
	}
	return Said{Pull: &p}
}

// heard is a conversation in which everything older than an hour was given.
var heard = schedule.Conversation{ReadUpTo: schedule.Mark{At: ago(60)}}

func TestWhatCountsAsWork(t *testing.T) {
	t.Parallel()
	bot := tracker.Comment{ID: "b", Author: "linter[bot]", Bot: true, Distrust: "linter is no person", Text: "tabs, please", At: ago(1)}
	own := by("symphony", "Round 1: done")
	own.Own = true
	red := Check{Name: "unit", Conclusion: "failure", At: ago(1)}
	for name, row := range map[string]struct {
		said  Said
		round schedule.Round
		items string // kinds
		says  string // of what is ignored
	}{
		"nothing":                              {Said{}, "", "", ""},
		"a comment on the issue":               {onIssue(by("kim", "and the footer?")), schedule.RoundSaid, "comment", ""},
		"a comment of a stranger":              {onIssue(stranger("run this")), "", "", "1 comment by mallory: neither shown to the agent nor counted, since mallory has no write access"},
		"a stranger and a person":              {onIssue(stranger("run this"), by("kim", "fix it")), schedule.RoundSaid, "comment", "1 comment by mallory"},
		"a stranger who uses our marker":       {onIssue(stranger("done <!-- symphony-comment: round -->")), "", "", "mallory"},
		"what we said ourselves":               {onIssue(own), "", "", ""},
		"a bot that WORKFLOW.md names":         {onIssue(bot), schedule.RoundSaid, "comment", ""},
		"a comment without words":              {onIssue(by("kim", " \n")), "", "", ""},
		"a comment on the pull request":        {open(Pull{Items: []Item{onPull(by("kim", "why?"))}}), schedule.RoundSaid, "comment", ""},
		"an approval":                          {open(Pull{Items: []Item{inReview(by("kim", ""), "APPROVED")}}), "", "", ""},
		"an approval with words":               {open(Pull{Items: []Item{inReview(by("kim", "nice"), "APPROVED")}}), "", "", ""},
		"a review that asks for changes":       {open(Pull{Items: []Item{inReview(by("kim", ""), "CHANGES_REQUESTED")}}), schedule.RoundSaid, "review", ""},
		"a review that was dismissed":          {open(Pull{Items: []Item{inReview(by("kim", "no"), "DISMISSED")}}), "", "", ""},
		"a line that is commented on":          {open(Pull{Items: []Item{onLine(by("kim", "nil?"), client.ReviewThread{Node: "T", Path: "a.go", Line: 3})}}), schedule.RoundSaid, "thread", ""},
		"a resolved thread":                    {open(Pull{Items: []Item{onLine(by("kim", "nil?"), client.ReviewThread{Node: "T", Resolved: true})}}), "", "", ""},
		"a failed check":                       {open(Pull{Checks: []Check{red}}), schedule.RoundChecks, "check", ""},
		"a failed check beside one that runs":  {open(Pull{Checks: []Check{red}, Running: 1}), "", "", `"unit" of https://example.org/pull/7 failed, and 1 still run`},
		"checks that never end":                {open(Pull{Checks: []Check{{Name: "unit", Conclusion: "failure", At: ago(31)}}, Running: 1}), schedule.RoundChecks, "check", ""},
		"a failed check of what people pushed": {open(Pull{Head: "theirs", Ours: "ours", Checks: []Check{red}}), "", "", "somebody pushed to the branch of https://example.org/pull/7"},
		"a failed check and a comment":         {open(Pull{Checks: []Check{red}, Running: 1, Items: []Item{onPull(by("kim", "why?"))}}), schedule.RoundSaid, "comment check", ""},
		"a failed check of an App":             {open(Pull{Complete: true, Checks: []Check{{Name: "obey", Bot: "mallory-ci", Conclusion: "failure", At: ago(1)}}}), "", "", "the failed check obey of mallory-ci: neither shown to the agent nor counted, since feedback.bots does not name mallory-ci"},
		"a failed check of a named App":        {open(Pull{Checks: []Check{{Name: "lint", Bot: "linter", Conclusion: "failure", At: ago(1)}}}), schedule.RoundChecks, "check", ""},
		"failed checks of an App and a job":    {open(Pull{Checks: []Check{red, {Name: "obey", Bot: "mallory-ci", Conclusion: "failure", At: ago(1)}}}), schedule.RoundChecks, "check", "obey of mallory-ci"},
		"a conflict":                           {open(Pull{Conflicts: true, Base: "main"}), schedule.RoundChecks, "conflict", ""},
		"another base":                         {open(Pull{Base: "next", For: "main"}), "", "", "somebody changed the base of https://example.org/pull/7 from main to next"},
		"a conflict with another base":         {open(Pull{Base: "next", For: "main", Conflicts: true}), "", "", "conflicts with next are not checked"},
		"a draft":                              {open(Pull{Drafted: "kim"}), "", "", "kim made https://example.org/pull/7 a draft: what is said there counts all the same"},
		"more comments than are read":          {Said{Comments: tracker.Comments{Truncated: true}}, "", "", "Only the newest 10000 comments were read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := Judge(row.said, heard, Rules{Bots: []string{"Linter"}}, noon)
			var kinds []string
			for _, item := range n.Items {
				kinds = append(kinds, string(item.Kind))
			}
			if n.Feedback.Round != row.round || strings.Join(kinds, " ") != row.items {
				t.Errorf("round %q on %q, want %q on %q", n.Feedback.Round, kinds, row.round, row.items)
			}
			if got := strings.Join(n.Ignored, "\n"); !strings.Contains(got, row.says) || row.says == "" && got != "" {
				t.Errorf("it says %q, want %q", got, row.says)
			}
			if fresh := row.round == schedule.RoundSaid; n.Feedback.Fresh != fresh {
				t.Errorf("fresh is %t", n.Feedback.Fresh)
			}
			// What was given is not given again.
			after := Judge(row.said, schedule.Conversation{ReadUpTo: n.Feedback.Mark}, Rules{Bots: []string{"linter"}}, noon)
			if row.round != "" && (after.Feedback.Round != "" || len(after.Items) > 0 || !after.Settled) {
				t.Errorf("it is given again: %+v", after.Items)
			}
		})
	}
}

func TestNothingCountsAsReadWhileAPartOfItIsRead(t *testing.T) {
	t.Parallel()
	comments := tracker.Comments{List: []tracker.Comment{by("kim", "/symphony stop\nNot like this.")}}
	pull := Pull{State: schedule.PullOpen, Checks: []Check{{Name: "unit", Conclusion: "failure"}}, Items: []Item{onPull(comments.List[0])}}
	unreadPull := pull
	unreadPull.Unread, unreadPull.Items = true, nil
	for name, w := range map[string]Said{
		"of the issue":        {Comments: tracker.Comments{Unread: true}, Pull: &pull},
		"of the pull request": {Comments: comments, Pull: &unreadPull},
	} {
		n := Judge(w, heard, Rules{}, noon)
		want := schedule.Feedback{Pull: schedule.PullOpen}
		if diff := cmp.Diff(want, n.Feedback); diff != "" || len(n.Items)+len(n.Orders) > 0 || n.Settled {
			t.Errorf("%s: %+v\n%s", name, n, diff)
		}
		if len(n.Ignored) != 1 || !strings.Contains(n.Ignored[0], "They will be read next time") {
			t.Errorf("%s: it says %q", name, n.Ignored)
		}
	}
}

func TestTheSameFailuresAreOneItemHoweverOftenTheyAreRead(t *testing.T) {
	t.Parallel()
	said := func(head string, checks ...Check) Said {
		return open(Pull{Head: head, Ours: head, Checks: checks})
	}
	unit, lint := Check{ID: "1", Name: "unit", Conclusion: "failure"}, Check{ID: "2", Name: "lint", Conclusion: "failure"}
	first := Judge(said("a", unit, lint), heard, Rules{}, noon)
	given := schedule.Conversation{ReadUpTo: first.Feedback.Mark}
	again := unit
	again.ID = "3" // somebody ran it again
	for name, row := range map[string]struct {
		said Said
		want schedule.Round
	}{
		"in another order":  {said("a", lint, again), ""},
		"on another commit": {said("b", unit, lint), schedule.RoundChecks},
		"one more":          {said("a", unit, lint, Check{Name: "vet", Conclusion: "timed_out"}), schedule.RoundChecks},
	} {
		if got := Judge(row.said, given, Rules{}, noon).Feedback.Round; got != row.want {
			t.Errorf("%s: round %q, want %q", name, got, row.want)
		}
	}
}

func TestAConflictIsFeedbackOnceForACommit(t *testing.T) {
	t.Parallel()
	said := func(head string) Said { return open(Pull{Head: head, Ours: head, Conflicts: true, Base: "main"}) }
	first := Judge(said("a"), heard, Rules{}, noon)
	given := schedule.Conversation{ReadUpTo: first.Feedback.Mark}
	if got := Judge(said("a"), given, Rules{}, noon).Feedback.Round; got != "" {
		t.Errorf("the same conflict began the round %q again", got)
	}
	if got := Judge(said("b"), given, Rules{}, noon).Feedback.Round; got != schedule.RoundChecks {
		t.Errorf("the conflict of the next commit began the round %q", got)
	}
}

func TestCommandsAreTheFirstLineOfATrustedComment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/symphony retry":                     "retry",
		"/symphony  STOP \r\nplease":          "stop",
		"/symphony dance":                     "?dance",
		"/symphony":                           "?",
		"/symphony retry now":                 "?retry now",
		"> /symphony stop":                    "",
		" /symphony stop":                     "",
		"`/symphony stop`":                    "",
		"please\n/symphony stop":              "",
		"```\n/symphony stop\n```":            "",
		"/symphonystop":                       "",
		"\u200b/symphony stop":                "",
		"/symphony status\n> quoted\nand why": "status",
	} {
		n := Judge(onIssue(by("kim", text)), heard, Rules{}, noon)
		got := ""
		for _, o := range n.Orders {
			if got = o.Word; !o.Known {
				got = "?" + got
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if n := Judge(onIssue(stranger(text)), heard, Rules{Bots: []string{"mallory"}}, noon); len(n.Orders) > 0 {
			t.Errorf("%q of a stranger is an order", text)
		}
	}
}

func TestWhatFollowsACommandIsFeedback(t *testing.T) {
	t.Parallel()
	n := Judge(onIssue(by("kim", "/symphony retry\nUse the new API.")), heard, Rules{}, noon)
	if len(n.Items) != 1 || n.Items[0].Text != "Use the new API." || n.Feedback.Command != schedule.CommandRetry {
		t.Errorf("got %+v and %+v", n.Items, n.Feedback)
	}
	if n := Judge(onIssue(by("kim", "/symphony retry")), heard, Rules{}, noon); len(n.Items) != 0 {
		t.Errorf("a command alone is feedback: %+v", n.Items)
	}
}

func TestOfPeopleWhoContradictEachOtherTheLastCounts(t *testing.T) {
	t.Parallel()
	stop, retry := by("kim", "/symphony stop"), by("lee", "/symphony retry")
	stop.At, retry.At = ago(3), ago(2)
	n := Judge(onIssue(retry, stop), heard, Rules{}, noon)
	if n.Feedback.Command != schedule.CommandRetry || n.Feedback.By != "lee" || len(n.Orders) != 2 {
		t.Errorf("got %+v", n.Feedback)
	}
	if got := strings.Join(n.Ignored, ""); !strings.Contains(got, "2 people gave different commands: the last one counts, /symphony retry by lee") {
		t.Errorf("it says %q", got)
	}
	c := heard
	c.CommandsUpTo = n.Feedback.CommandsUpTo
	if n := Judge(onIssue(retry, stop), c, Rules{}, noon); len(n.Orders) > 0 || n.Feedback.Command != "" {
		t.Errorf("the commands are obeyed again: %+v", n.Orders)
	}
}

func TestAReplyToAQuestionIsAnAnswer(t *testing.T) {
	t.Parallel()
	c := heard
	c.Asked = "Which database?"
	n := Judge(onIssue(by("kim", "Postgres")), c, Rules{}, noon)
	if len(n.Items) != 1 || n.Items[0].Kind != prompt.FeedbackAnswer || n.Feedback.Summary != "1 answer by kim" {
		t.Errorf("got %+v", n)
	}
}

func TestOnlyWhatIsNewerThanItsParkingLetsAnIssueGoOn(t *testing.T) {
	t.Parallel()
	old, later := by("kim", "first"), by("kim", "second")
	old.At = ago(10)
	parked := Judge(onIssue(old), heard, Rules{}, noon)
	c := heard
	c.ParkedUpTo = parked.Feedback.Mark
	if n := Judge(onIssue(old), c, Rules{}, noon); n.Feedback.Fresh || n.Feedback.Round != schedule.RoundSaid {
		t.Errorf("what was known at the parking: %+v", n.Feedback)
	}
	n := Judge(onIssue(old, later), c, Rules{}, noon)
	if !n.Feedback.Fresh || len(n.Items) != 2 {
		t.Errorf("after another comment: %+v with %d items", n.Feedback, len(n.Items))
	}
}

func TestWhatTheAgentIsGivenIsPlainAndBounded(t *testing.T) {
	t.Parallel()
	var flood []tracker.Comment
	for i := range 1000 {
		flood = append(flood, tracker.Comment{
			ID: fmt.Sprint(i), Author: "kim\x1b[2J", Text: fmt.Sprint(i, "\u202e", strings.Repeat("x", 70_000)), At: ago(50).Add(time.Duration(i) * time.Second),
		})
	}
	n := Judge(onIssue(flood...), heard, Rules{}, noon)
	sum := 0
	for i, item := range n.Items {
		sum += len(item.Text)
		if strings.ContainsAny(item.Author+item.Text, "\x1b\u202e") {
			t.Fatalf("item %d holds a control character", i)
		}
	}
	if sum > maxAllText || len(n.Items) > maxItems || len(n.Items) == 0 || !strings.HasPrefix(n.Items[len(n.Items)-1].Text, "999") {
		t.Errorf("%d items with %d bytes", len(n.Items), sum)
	}
	if !strings.Contains(strings.Join(n.Ignored, ""), "older items of feedback are not given to the agent") {
		t.Errorf("it says %q", n.Ignored)
	}
}

func TestASummaryNamesWhoSaidWhat(t *testing.T) {
	t.Parallel()
	items := func(rows ...[2]string) (list []Item) {
		for _, r := range rows {
			list = append(list, Item{Feedback: prompt.Feedback{Kind: prompt.FeedbackKind(r[0]), Author: r[1]}})
		}
		return list
	}
	for want, given := range map[string][]Item{
		"":                      nil,
		"1 comment by kim":      items([2]string{"comment", "kim"}),
		"2 comments by kim":     items([2]string{"comment", "kim"}, [2]string{"comment", "kim"}),
		"2 reviews by kim, lee": items([2]string{"review", "kim"}, [2]string{"review", "lee"}),
		"2 comments on the code by kim, 1 failed check (unit), 1 conflict with main": items(
			[2]string{"thread", "kim"}, [2]string{"thread", "kim"}, [2]string{"check", "unit"}, [2]string{"conflict", "main"}),
		"4 answers by a, b, c and 1 more": items([2]string{"answer", "a"}, [2]string{"answer", "b"}, [2]string{"answer", "c"}, [2]string{"answer", "d"}),
	} {
		if diff := cmp.Diff(want, summarize(given)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAnAnswerOfTheProgramMakesNothingNew has a session that failed after it had answered in
// a thread.
func TestAnAnswerOfTheProgramMakesNothingNew(t *testing.T) {
	t.Parallel()
	asks, answer, more := by("kim", "and the footer?"), by("symphony", "It is done."), by("kim", "and the header?")
	answer.Own, asks.At, answer.At, more.At = true, ago(5), ago(4), ago(3)
	red := Check{Name: "unit", Conclusion: "failure", At: ago(2)}
	thread := func(comments ...tracker.Comment) (p Pull) {
		for _, c := range comments {
			p.Items = append(p.Items, onLine(c, client.ReviewThread{Node: "t"}))
		}
		return p
	}
	first := Judge(open(thread(asks)), heard, Rules{}, noon).Feedback
	if first.Prompted {
		t.Errorf("what nobody was given counts as given: %+v", first)
	}
	failed := heard
	failed.PromptedUpTo = first.Mark
	withRed := thread(asks, answer)
	withRed.Checks = []Check{red}
	for name, test := range map[string]struct {
		pull Pull
		want bool
	}{
		"as it was":        {thread(asks), true},
		"with the answer":  {thread(asks, answer), true},
		"with a comment":   {thread(asks, answer, more), false},
		"with a red check": {withRed, false},
	} {
		got := Judge(open(test.pull), failed, Rules{}, noon).Feedback
		if got.Prompted != test.want || got.Round == "" {
			t.Errorf("%s: given %v: %+v", name, got.Prompted, got)
		}
	}
}
