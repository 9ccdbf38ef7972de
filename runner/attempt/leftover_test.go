package attempt

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// What a session left that was stopped, or refused, is where the next one goes on.
func TestTheNextSessionContinuesWithWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	const work = "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n- [ ] Create `b.txt` containing `two`\n"
	for name, test := range map[string]struct {
		first   string
		between func(f *repositoryFixture)
		warning string
		files   []string
	}{
		"after a stop": {work + "- [ ] Say `ready`\n- [ ] Hang\n", func(*repositoryFixture) {}, "", []string{"a.txt", "b.txt", "c.txt"}},
		"after a refusal": {work + "- [ ] Create `.github/x` containing `no`\n", func(f *repositoryFixture) {
			f.setScript("- [ ] Run `rm -r .github && git add -A && touch c.txt`\n")
		}, "", []string{"a.txt", "b.txt", "c.txt"}},
		"after the base has moved": {work + "- [ ] Say `ready`\n- [ ] Hang\n", func(f *repositoryFixture) {
			f.git("seed", "commit", "-q", "--allow-empty", "-m", "second")
			f.git("seed", "push", "-q", f.origin, "main")
		}, "", []string{"a.txt", "b.txt", "c.txt"}},
		"after a person moved the branch": {work + "- [ ] Say `ready`\n- [ ] Hang\n", func(f *repositoryFixture) {
			writeFile(t, f.path("seed", "README.md"), "by a person\n")
			f.git("seed", "commit", "-q", "-a", "-m", "by a person")
			f.git("seed", "push", "-q", f.origin, "main:"+f.branch.String())
			f.deliver = func(d Delivery) error {
				if d.Work.About().Start != f.there {
					return os.ErrExist // as a publisher says that the branch has moved
				}
				return nil
			}
			f.setScript("- [ ] Run `grep -q person README.md && test ! -e a.txt && git merge -q --no-edit unpublished && touch c.txt`\n")
		}, "", []string{"a.txt", "b.txt", "c.txt"}},
		"not when git cannot read it": {work + "- [ ] Run `rm -rf .git/objects`\n- [ ] Say `ready`\n- [ ] Hang\n", func(*repositoryFixture) {},
			"was not taken along: ", []string{"c.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, test.first)
			if got := f.session(f.stopWhen("ready", schedule.Interrupted)); got.Class == schedule.Done || f.isPublished() {
				t.Fatalf("%+v", got)
			}
			f.onUpdate = func(Update) {}
			f.setScript("- [ ] Create `c.txt` containing `three`\n")
			test.between(f)
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered {
				t.Errorf("%+v", got)
			}
			if test.warning == "" && len(got.Warnings) > 0 || test.warning != "" && (len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], test.warning)) {
				t.Errorf("warned of %q", got.Warnings)
			}
			if text := f.git(f.origin, "show", f.branch.String()+":README.md"); strings.Contains(name, "person") != strings.Contains(text, "person") {
				t.Errorf("README.md is %q", text)
			}
			if files, _ := f.published(); strings.Join(files[2:], " ") != strings.Join(test.files, " ") {
				t.Errorf("published: %v", files)
			}
			f.setScript("- [ ] Run `mkdir -p cache; git status --porcelain > cache/x; test ! -s cache/x`\n")
			if got := f.session(t.Context()); got.Class != schedule.Done || got.Delivered || len(got.Warnings) > 0 {
				t.Errorf("a third session, with nothing left: %+v", got)
			}
		})
	}
}

// A session that is killed in its delivery cannot note that the work is taken. If all of
// it is on the branch, there is nothing to continue with, and nothing is published as
// unfinished.
func TestWhatAKilledSessionHasPushedIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one && mkdir cache && echo kept > cache/x`\n- [ ] Create `b.txt` containing `two`\n")
	f.job.Repository.Deliver = func(ctx context.Context, d Delivery) (Delivered, error) {
		_, err := f.publish(ctx, d)
		return Delivered{}, errors.Join(errors.New("killed"), err)
	}
	if got := f.session(t.Context()); got.Delivered || !f.isPublished() {
		t.Fatalf("%+v", got)
	}
	f.job.Repository.Deliver = f.publish
	f.setScript("- [ ] Run `test -e a.txt && test -e b.txt && test -e cache/x && test -z \"$(git status --porcelain)\"`\n")
	if got := f.session(t.Context()); got.Class != schedule.Done || got.Delivered || len(got.Warnings) > 0 || len(f.deliveries) != 1 {
		t.Errorf("%d deliveries, %+v", len(f.deliveries), got)
	}
	f.setScript("- [ ] Create `c.txt` containing `three`\n")
	f.delivers()
	f.assertPublished("2", "a.txt", "b.txt", "c.txt")
}

func TestASessionGoesOnWithWorkWhoseBranchNobodyElseMoved(t *testing.T) {
	t.Parallel()
	began, left, foreign := git.ObjectID{1}, git.ObjectID{2}, git.ObjectID{3}
	work := leftWork{start: start{from: git.From{Start: began}, head: left}}
	for name, test := range map[string]struct {
		pushed git.ObjectID
		want   bool
	}{
		"nobody has pushed it":      {git.ObjectID{}, true},
		"it is where work began":    {began, true},
		"it is where work has left": {left, true},
		"somebody else has pushed":  {foreign, false},
	} {
		l := newAttempt(Job{Repository: &Repository{Checkout: git.Checkout{Pushed: test.pushed}}}, nil).leftovers
		if got := l.continues(work); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
