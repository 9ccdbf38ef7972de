package report_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// A shell gets the commands below a table as they are printed at every width.
func TestTheCommandOfALogWorksAsPrintedOnAnyTerminal(t *testing.T) {
	t.Parallel()
	commands := map[string]string{
		`symphony log ABC-7`: "<log><ABC-7>",
		`symphony log DEMO-3 /tmp/symphony-demo-2735491207/WORKFLOW.md`:                                "<log><DEMO-3></tmp/symphony-demo-2735491207/WORKFLOW.md>",
		`symphony log --logs '/tmp/it'\''s a folder with a long name/of  logs' -- '-7' /w/WORKFLOW.md`: "<log><--logs></tmp/it's a folder with a long name/of  logs><--><-7></w/WORKFLOW.md>",
		`symphony log X-1 '` + strings.Repeat(`'\''`, 40) + `'`:                                        "<log><X-1><" + strings.Repeat("'", 40) + ">",
		`symphony log X-1 ` + strings.Repeat(`/deep`, 40):                                              "<log><X-1><" + strings.Repeat("/deep", 40) + ">",
	}
	script, want := "symphony() { printf '<%s>' \"$@\"; echo; }\n", ""
	for command, words := range commands {
		for width := 40; width <= 170; width++ {
			tick := tick(func(t *report.Tick) {
				t.Rows = []report.Row{with(row("ABC-7", "Title", schedule.IssueFailed, waits("x", end)), func(r *report.Row) {
					r.Log = report.Log{File: "/home/kim/1.jsonl", Command: command}
				})}
			})
			_, printed, found := strings.Cut(report.Of(tick).Text(width), "\n    The session's log:\n")
			if printed, _, _ = strings.Cut(printed, "\n\n"); !found {
				t.Fatalf("%d columns do not show %s", width, command)
			}
			script += fmt.Sprintf("echo %d\n%s\n", width, printed)
			want += fmt.Sprintf("%d\n%s\n", width, words)
		}
	}
	got, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
