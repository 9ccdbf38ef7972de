package schedule_test

import (
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestPeopleAreToldWhereTheirCommentsAreRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		where         schedule.Comments
		goOn, command string
		resume        string
	}{
		{where: schedule.Comments{}, goOn: schedule.GoOnByEdit},
		{
			where:   schedule.Comments{Issues: schedule.OnGitHub, Pulls: true},
			goOn:    "Reply in a comment on the issue or pull request (on GitHub with write access), or write /symphony retry there.",
			command: "write /symphony stop in a comment on the issue or pull request (on GitHub with write access)",
			resume:  "To try at once, write /symphony resume in a comment on an issue that waits (on GitHub with write access)",
		},
		{
			where:   schedule.Comments{Issues: schedule.OnGitHub},
			goOn:    "Reply in a comment on the issue (on GitHub with write access), or write /symphony retry there.",
			command: "write /symphony stop in a comment on the issue (on GitHub with write access)",
			resume:  "To try at once, write /symphony resume in a comment on an issue that waits (on GitHub with write access)",
		},
		{
			where:   schedule.Comments{Issues: schedule.OnTheIssue},
			goOn:    "Reply in a comment on the issue, or write /symphony retry there.",
			command: "write /symphony stop in a comment on the issue",
			resume:  "To try at once, write /symphony resume in a comment on an issue that waits",
		},
		{
			where:   schedule.Comments{Issues: schedule.OnTheIssue, Pulls: true},
			goOn:    "Reply in a comment on the issue or pull request (on GitHub with write access), or write /symphony retry there.",
			command: "write /symphony stop in a comment on the issue or pull request (on GitHub with write access)",
			resume:  "To try at once, write /symphony resume in a comment on an issue that waits",
		},
		{
			where:   schedule.Comments{Issues: schedule.InTheFile},
			goOn:    "Reply in a comment in the file of the issue, or write /symphony retry there.",
			command: "write /symphony stop in a comment in the file of the issue",
			resume:  "To try at once, write /symphony resume in a comment in the file of an issue that waits",
		},
		{
			where:   schedule.Comments{Issues: schedule.InTheFile, Pulls: true},
			goOn:    "Reply in a comment in the file of the issue or on its pull request (on GitHub with write access), or write /symphony retry there.",
			command: "write /symphony stop in a comment in the file of the issue or on its pull request (on GitHub with write access)",
			resume:  "To try at once, write /symphony resume in a comment in the file of an issue that waits",
		},
		{
			where:   schedule.Comments{Pulls: true},
			goOn:    "Reply in a comment on the pull request (on GitHub with write access), or write /symphony retry there.",
			command: "write /symphony stop in a comment on the pull request (on GitHub with write access)",
			resume:  "To try at once, write /symphony resume in a comment on the pull request of an issue that waits (on GitHub with write access)",
		},
	} {
		got := []string{test.where.GoOn(), test.where.Command(schedule.CommandStop), test.where.Resume()}
		want := []string{test.goOn, test.command, test.resume}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%+v: got\n%s\nwant\n%s", test.where, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
