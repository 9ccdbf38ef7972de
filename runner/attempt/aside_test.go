package attempt

import (
	"os"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// newAside returns a fixture whose workspace holds work that could not be published: a
// person has pushed to the branch.
func newAside(t *testing.T) *repositoryFixture {
	t.Helper()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n- [ ] Create `b.txt` containing `two`\n")
	f.moves("person.txt")
	if got := f.session(t.Context()); got.Delivered {
		t.Fatalf("%+v", got)
	}
	f.deliver = func(Delivery) error { return nil }
	return f
}

// assertDelivers runs a session, and fails the test unless it leaves the branch of the
// issue with the given files, and nothing to warn of.
func (f *repositoryFixture) assertDelivers(files string) {
	f.t.Helper()
	f.delivers()
	if got, _ := f.published(); strings.Join(got, " ") != files {
		f.t.Errorf("published: %v", got)
	}
}

// moves has a person push to the branch when the next session delivers.
func (f *repositoryFixture) moves(file string) {
	f.t.Helper()
	f.deliver = func(Delivery) error {
		if f.isPublished() {
			f.git("seed", "pull", "-q", f.origin, f.branch.String())
		}
		writeFile(f.t, f.path("seed", file), "by a person\n")
		f.git("seed", "add", "-A")
		f.git("seed", "commit", "-q", "-m", "by a person")
		f.git("seed", "push", "-q", f.origin, "HEAD:refs/heads/"+f.branch.String())
		return os.ErrExist // as a publisher says that the branch has moved
	}
}

// sessionUntil runs a session that is stopped for a reason when its agent says so.
func (f *repositoryFixture) sessionUntil(text string, reason schedule.Reason) schedule.Outcome {
	f.t.Helper()
	grace := f.grace
	f.grace = impatient
	got := f.session(f.stopWhen(text, reason))
	f.grace, f.onUpdate = grace, func(Update) {}
	return got
}

const merge = "- [ ] Run `test ! -e a.txt && test -e person.txt && git merge -q --no-edit unpublished && touch c.txt`\n"

func TestWorkBesideThatOfAPersonStaysUntilItIsMerged(t *testing.T) {
	t.Parallel()
	const hang = "- [ ] Say `ready`\n- [ ] Hang\n"
	for name, end := range map[string]func(f *repositoryFixture){
		"one that changes something and is interrupted": func(f *repositoryFixture) {
			f.setScript("- [ ] Run `touch c.txt`\n" + hang)
			f.sessionUntil("ready", schedule.Interrupted)
			f.setScript("- [ ] Run `rm c.txt`\n" + hang)
			f.sessionUntil("ready", schedule.Interrupted)
		},
		"one without time": func(f *repositoryFixture) {
			f.setScript(hang)
			f.sessionUntil("ready", schedule.DeadlineReached)
		},
		"one without time that publishes": func(f *repositoryFixture) {
			f.setScript("- [ ] Run `touch c.txt`\n" + hang)
			if got := f.sessionUntil("ready", schedule.Stalled); !got.Delivered {
				f.t.Errorf("%+v", got)
			}
		},
		"many of them": func(f *repositoryFixture) {
			f.stopInCheckout()
			for range 2 {
				f.setScript(hang)
				f.sessionUntil("ready", schedule.Interrupted)
			}
		},
		"one that fails": func(f *repositoryFixture) {
			f.setScript("- [ ] Run `touch c.txt`\n- [ ] Fail with `other`\n")
			f.deliver = func(Delivery) error { return os.ErrDeadlineExceeded }
			f.session(f.t.Context())
			f.deliver = func(Delivery) error { return nil }
			f.setScript("- [ ] Run `rm c.txt`\n- [ ] Fail with `other`\n")
			f.session(f.t.Context())
		},
		"one that loses its repository": func(f *repositoryFixture) {
			f.setScript("- [ ] Run `rm -rf .git`\n- [ ] Exit `7`\n")
			f.session(f.t.Context())
			f.setScript(hang)
			f.sessionUntil("ready", schedule.Interrupted) // is told that what was in it is lost
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newAside(t)
			end(f)
			f.setScript(merge)
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
				t.Errorf("%+v", got)
			}
			files, _ := f.published()
			if got := strings.Join(files, " "); got != ".gitignore README.md a.txt b.txt c.txt person.txt" {
				t.Errorf("published: %s", got)
			}
			f.assertNothingAside()
		})
	}
}

// assertNothingAside fails the test unless the next session has nothing to merge.
func (f *repositoryFixture) assertNothingAside() {
	f.t.Helper()
	f.setScript("- [ ] Run `! git rev-parse -q --verify unpublished && mkdir -p cache && touch cache/looked`\n")
	if got := f.session(f.t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
		f.t.Errorf("%+v", got)
	}
	if _, err := os.Stat(f.inWorkspace("cache/looked")); err != nil {
		f.t.Error("there is a branch unpublished")
	}
	if files := filesBelow(f.t, f.path("root", ".symphony", "ABC-1.work")); len(files) > 0 {
		f.t.Errorf("work is saved: %v", files)
	}
}

func TestWorkThatAnAgentDoesNotMergeIsNotOfferedAgain(t *testing.T) {
	t.Parallel()
	f := newAside(t)
	f.setScript("- [ ] Run `touch c.txt`\n")
	f.assertDelivers(".gitignore README.md c.txt person.txt")
	f.assertNothingAside()
}

// Work that a session has merged and could not publish is work of that session.
func TestMergedWorkIsNoLongerAside(t *testing.T) {
	t.Parallel()
	f := newAside(t)
	f.setScript(merge + "- [ ] Say `ready`\n- [ ] Hang\n")
	f.sessionUntil("ready", schedule.Interrupted)
	f.setScript("- [ ] Run `test -e a.txt && test -e c.txt && ! git rev-parse -q --verify unpublished && touch d.txt`\n")
	f.assertDelivers(".gitignore README.md a.txt b.txt c.txt d.txt person.txt")
	f.assertNothingAside()
}

// A person may push again before the work is merged.
func TestWorkOfSeveralSessionsStandsAside(t *testing.T) {
	t.Parallel()
	f := newAside(t)
	f.setScript("- [ ] Run `touch c.txt`\n")
	f.moves("again.txt")
	if got := f.session(t.Context()); got.Delivered {
		t.Fatalf("%+v", got)
	}
	f.deliver = func(Delivery) error { return nil }
	f.setScript("- [ ] Run `test ! -e a.txt && test ! -e c.txt && test -e again.txt && git merge -q --no-edit unpublished && test -e c.txt && git merge -q --no-edit unpublished-2`\n")
	f.logs = f.path("later-logs")
	f.assertDelivers(".gitignore README.md a.txt again.txt b.txt c.txt person.txt")
	if text := f.requests("turn/start")[0].Text; !strings.Contains(text, "on the local branches `unpublished`, `unpublished-2`: merge them") {
		t.Errorf("the agent is told\n%s", text)
	}
	f.assertNothingAside()
}

// The report says of a session that did not come to it that there is work to merge.
func TestASessionSaysThatWorkWasNotMerged(t *testing.T) {
	t.Parallel()
	f := newAside(t)
	f.setScript("- [ ] Say `ready`\n- [ ] Hang\n")
	got := f.sessionUntil("ready", schedule.DeadlineReached)
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "work of an earlier session was not merged: it stays beside the workspace, for the next session") {
		t.Errorf("%+v", got)
	}
}

// A session may be killed when the workspace has its new .git and nothing says so yet: the
// files are those of the last session, and no work of this one.
func TestAKillBehindTheNewRepositoryOfAWorkspaceLosesNothing(t *testing.T) {
	t.Parallel()
	f := newAside(t)
	f.stopInCheckout()
	note := f.path("root", ".symphony", "ABC-1.note")
	text, isFilling := strings.CutSuffix(f.readText(note), " -\n")
	if !isFilling {
		t.Fatalf("the note is %q", f.readText(note))
	}
	writeFile(t, note, text+" saved\n")
	f.setScript(merge)
	f.delivers()
	if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != "A\ta.txt\nA\tb.txt\nA\tc.txt\nA\tperson.txt" {
		t.Errorf("published:\n%s", got)
	}
	f.assertNothingAside()
}
