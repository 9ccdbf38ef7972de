package attempt

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
)

// TestAFolderOfPacksThatCannotBeUsedIsTheFaultOfNoIssue has a file in its place, and has the folder
// taken away while the script runs. The advice is about the folder and not about the script.
func TestAFolderOfPacksThatCannotBeUsedIsTheFaultOfNoIssue(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Say `hello`\n", "true")
	later := newPreparedFixture(t, "- [ ] Say `hello`\n", "true")
	later.job.Repository.Setup.Run = "rm -rf " + quote(later.path("packs")) + "; echo > " + quote(later.path("packs"))
	writeFile(t, f.path("packs"), "")
	for name, f := range map[string]*repositoryFixture{"at the start": f, "while the script runs": later} {
		got := f.session(t.Context())
		if got.Class != schedule.Systemic || got.Cause != schedule.CauseSetup || got.Fault != "" || got.Turns != 0 ||
			!strings.Contains(got.Why, f.path("packs")) || !strings.Contains(got.Why, folderAdvice) || strings.Contains(got.Why, "--again") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAReadOnlyDiskForPacksIsTheFaultOfNoIssue judges the error of a save there: it does not go away
// by itself, though the disk of the workspaces can be written.
func TestAReadOnlyDiskForPacksIsTheFaultOfNoIssue(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.ENOSPC} {
		f := newPreparedFixture(t, "", "true")
		f.job.Test = func(context.Context, schedule.Cause) error { return nil }
		var got schedule.Outcome
		newAttempt(f.job, func(Update) {}).judge(t.Context(), &got, setupFailed(fmt.Errorf("%w: mkdir /packs: %w", setup.ErrFolder, cause)))
		if got.Class != schedule.Systemic || got.Cause != schedule.CauseSetup || got.Fault != "" || !strings.Contains(got.Why, folderAdvice) {
			t.Errorf("%v: %+v", cause, got)
		}
	}
}

// TestAPackThatIsRemovedWhileASessionRunsIsNotMissed has the agent's own command stand for another
// run that removes it, before the work is checked.
func TestAPackThatIsRemovedWhileASessionRunsIsNotMissed(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/x > a.txt`\n", "mkdir cache && echo one > cache/x")
	f.onUpdate = func(u Update) {
		if u.Turns > 0 {
			for _, pack := range f.packs() {
				_ = os.Remove(pack)
			}
		}
	}
	f.job.Repository.Verify = []string{"test $(cat cache/x) = one"}
	got := f.session(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) > 0 || len(f.packs()) > 0 || len(f.deliveries) != 1 || f.deliveries[0].Unproven {
		t.Errorf("%+v, packs %q, deliveries %+v", got, f.packs(), f.deliveries)
	}
}

// TestLockFilesThatGitIgnoresDoNotCount has the script make its own: the preparation depends on what
// git has, and the file is in each workspace.
func TestLockFilesThatGitIgnoresDoNotCount(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/package-lock.json > a.txt`\n", "mkdir cache && echo {} > cache/package-lock.json")
	for range 2 {
		if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 || len(f.packs()) != 1 {
			t.Errorf("%+v %q", got, f.packs())
		}
		if err := os.RemoveAll(f.path("root", issueName)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnotherToolchainPreparesAgain changes a program of the PATH between two runs.
func TestAnotherToolchainPreparesAgain(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/x > a.txt`\n", "mkdir cache && echo one > cache/x")
	node := f.path("tools", "node")
	f.job.Lookup = func(name string) (string, bool) { return f.path("tools"), name == "PATH" }
	for i := range 2 {
		writeFile(t, node, strings.Repeat("#", i+1))
		if err := os.Chmod(node, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := f.session(t.Context()); got.Class != schedule.Done || len(f.packs()) != i+1 {
			t.Errorf("%+v %q", got, f.packs())
		}
	}
}
