package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Every text about a pause says how to end it, as its reader can.
func TestEveryTextAboutAPauseSaysHowToEndIt(t *testing.T) {
	t.Parallel()
	const comment, command = "/symphony resume", "state resume"
	pause := schedule.Pause{Why: "codex_not_found", Since: end, Until: end.Add(time.Hour)}
	waits := schedule.Verdict{Issue: tracker.Issue{ID: "1", Identifier: "ABC-1"}, Why: schedule.Why{Reason: schedule.Paused, Detail: "paused"}}
	worked := report.Row{ID: "1", Identifier: "ABC-1", Class: schedule.Systemic, Why: "codex_not_found", Sessions: 1}
	for name, test := range map[string]struct {
		comments schedule.Comments
		state    string
		want     []string
	}{
		"comments and a file":   {schedule.AnyComments, "", []string{comment, command}},
		"comments in files":     {schedule.Comments{Issues: schedule.InTheFile}, "", []string{comment + " in a comment in the file of an issue that waits", command}},
		"comments and a branch": {schedule.AnyComments, "branch:symphony-state", []string{comment, command + " --state branch:symphony-state"}},
		"comments alone":        {schedule.AnyComments, "cache:symphony", []string{comment}},
		"a command alone":       {schedule.Comments{}, "file:/srv/state.json", []string{command + " --state file:/srv/state.json"}},
		"neither":               {schedule.Comments{}, "cache:symphony", []string{"One session tries first when the pause ends"}},
	} {
		tick := report.Tick{Listed: true, Ended: end, Pause: pause, Comments: test.comments, State: test.state, Verdicts: []schedule.Verdict{waits}}
		after := tick
		after.Rows, after.Acted = []report.Row{worked}, 1
		state := schedule.New(schedule.Owner{})
		state.Pause = pause
		if test.comments == schedule.AnyComments { // the state itself tells that people are heard
			state.Claims["1"] = schedule.Claim{ID: "1", Phase: schedule.Waiting}
			state.Conversations = map[tracker.ID]schedule.Conversation{"1": {Posted: "x"}}
		}
		texts := map[string]string{}
		for when, t := range map[string]report.Tick{"before a session": tick, "after one": after} {
			all := report.Of(t)
			texts["terminal "+when], texts["summary "+when] = all.Text(200), all.Markdown(report.Links{})
			errors, warnings, _ := all.Notes()
			for _, n := range append(errors, warnings...) {
				texts["annotations "+when] += n.Text + "\n"
			}
		}
		view := report.State(state, end)
		view.Place = test.state
		if test.comments != schedule.AnyComments {
			view.Comments = test.comments
		}
		texts["state"] = view.Text(200)
		if branch, isBranch := strings.CutPrefix(test.state, "branch:"); isBranch { // it is nowhere else
			texts["state page"] = view.Markdown(report.Links{Branch: branch})
		}
		for place, text := range texts {
			text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\\", "")), " ")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s lacks %q:\n%s", name, place, want, text)
				}
			}
			for _, other := range []string{comment, command} {
				if strings.Contains(text, other) && !strings.Contains(strings.Join(test.want, " "), other) {
					t.Errorf("%s, %s has %q:\n%s", name, place, other, text)
				}
			}
		}
	}
}
