package report_test

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// parkedEverywhere returns everything that tells people of one parked issue.
func parkedEverywhere(comments schedule.Comments) map[string]string {
	claim := schedule.Claim{Identifier: "ABC-9", Phase: schedule.Parked, Why: question}
	t := tick(func(t *report.Tick) {
		t.Comments, t.Parked = comments, []tracker.ID{"ABC-9"}
		addClaim(t, claim, schedule.IsParked, question)
	})
	s := schedule.New(schedule.Owner{})
	claim.ID = "ABC-9"
	s.Claims[claim.ID] = claim
	errors, _, _ := report.Of(t).Notes()
	v := verdict("ABC-9", "", schedule.Parked, "", schedule.IsParked, question)
	spent := verdict("ABC-9", "", schedule.Parked, "", schedule.RoundsSpent, "spent 5 sessions of feedback.max_rounds 5")
	stopped := verdict("ABC-9", "", schedule.Parked, schedule.Park, schedule.Commanded, "kim wrote /symphony stop")
	kept := report.State(s, end)
	kept.Comments = comments
	return map[string]string{
		"summary": report.Of(t).Markdown(links), "text": report.Of(t).Text(80), "annotation": errors[0].Text,
		"state page": kept.Markdown(links), "state show": kept.Text(80),
		"explain": report.Verdict(v, comments, "", "").Text(80), "explain spent rounds": report.Verdict(spent, comments, "", "").Text(80),
		"explain a stop": report.Verdict(stopped, comments, "", "").Text(80),
	}
}

func TestOneSentenceSaysEverywhereHowAParkedIssueGoesOn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		comments    schedule.Comments
		want, never string
	}{
		{schedule.AnyComments, schedule.AnyComments.GoOn(), schedule.GoOnByEdit},
		{schedule.Comments{Issues: schedule.InTheFile}, "Reply in a comment in the file of the issue, or write /symphony retry there.", "GitHub"},
		{schedule.Comments{}, schedule.GoOnByEdit, "comment"}, // nobody reads one there
	} {
		for place, text := range parkedEverywhere(row.comments) {
			text = strings.Join(strings.Fields(text), " ")
			before, after, said := strings.Cut(text, row.want)
			if !said || strings.Contains(after, row.want) || strings.Contains(text, row.never) {
				t.Errorf("%s (%+v) says\n%s\nnot once %q", place, row.comments, text, row.want)
			}
			after = strings.NewReplacer("`", "", ":", "").Replace(after)
			if !strings.HasPrefix(after, " Or run symphony state retry ABC-9") || strings.Contains(before, "symphony state retry") {
				t.Errorf("%s: the command does not follow the sentence: %s", place, text)
			}
		}
	}
}

func TestAnAnnotationSaysHowToGoOnHoweverLongTheReasonIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the agent asks and asks ", 200)
	parked := tick(func(t *report.Tick) {
		t.Parked = []tracker.ID{"ABC-9"}
		addClaim(t, schedule.Claim{Identifier: "ABC-9", Phase: schedule.Parked, Why: long}, schedule.IsParked, long)
	})
	errors, _, _ := report.Of(parked).Notes()
	if !strings.HasSuffix(errors[0].Text, "symphony state retry ABC-9") || !strings.Contains(errors[0].Text, schedule.AnyComments.GoOn()) {
		t.Errorf("the annotation is\n%s", errors[0].Text)
	}
}

func TestTheReportBeginsWithWhatStartedTheRun(t *testing.T) {
	t.Parallel()
	started := tick(func(t *report.Tick) { t.StartedBy = "issue_comment created on #7 by kim\n::error::*x*" })
	for name, text := range map[string]string{"summary": report.Of(started).Markdown(links), "text": report.Of(started).Text(160)} {
		if !strings.Contains(strings.SplitN(text, "\n\n", 3)[1], "Started by issue") || strings.Contains(text, "\n::error") || strings.Contains(text, "*x*") && name == "summary" && !strings.Contains(text, `\*x`) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	started.StartedBy = ""
	if text := report.Of(started).Markdown(links); strings.Contains(text, "Started by") {
		t.Errorf("outside Actions:\n%s", text)
	}
}
