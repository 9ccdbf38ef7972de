package attempt

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// assertPublished checks the files of the issue's branch besides those of the base.
func (f *repositoryFixture) assertPublished(commits string, added ...string) {
	f.t.Helper()
	if !f.isPublished() {
		f.t.Fatal("nothing is published")
	}
	files, n := f.published()
	if diff := cmp.Diff(append([]string{".gitignore", "README.md"}, added...), files); diff != "" || n != commits {
		f.t.Errorf("%s commits, files (-want +got):\n%s", n, diff)
	}
}

func TestTheWorkOfASessionIsPublishedAtItsEnd(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `test \"$(cat README.md)\" = hello && test \"$(git branch --show-current)\" = symphony/ABC-1 && git status --porcelain > ../status`\n"+
		"- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n"+
		"- [ ] Create `b.txt` containing `two`\n- [ ] Run `mkdir cache && touch cache/x`\n")
	f.whole = true
	got := f.session(t.Context())
	if got.Class != schedule.Done || !got.Delivered || got.Idle || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "a.txt", "b.txt")
	if status := f.readText(f.path("root", "status")); status != "" {
		t.Errorf("the agent began with changes: %s", status)
	}
	if log := f.readLog(); strings.Contains(log, "deltaBase64") || !strings.Contains(log, "omitted_bytes") {
		t.Error("the event log holds the pack with the work")
	}
	if len(f.deliveries) != 1 || f.deliveries[0].Unproven || checked(f.deliveries[0]) != "Not checked" {
		t.Errorf("%+v", f.deliveries)
	}
}

func TestWorkIsPublishedDuringTheSession(t *testing.T) {
	t.Parallel()
	const call = "- [ ] Call `deliver` with `{\"title\":\"Add %s\",\"body\":\"It is there.\"}`\n"
	for name, test := range map[string]struct {
		script  string
		commits string
		files   []string
		titles  []string
	}{
		"once": {"- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a"), "1", []string{"a.txt"}, []string{"Add a"}},
		"twice": {"- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a") +
			"- [ ] Create `b.txt` containing `two`\n" + strings.ReplaceAll(call, "%s", "b"), "2", []string{"a.txt", "b.txt"}, []string{"Add a", "Add b"}},
		"twice with the same work": {"- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a") + strings.ReplaceAll(call, "%s", "one"),
			"1", []string{"a.txt"}, []string{"Add a", "Add one"}},
		"twice in the same words": {"- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a") + strings.ReplaceAll(call, "%s", "a"),
			"1", []string{"a.txt"}, []string{"Add a"}},
		"and what follows at the end": {"- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a") +
			"- [ ] Create `b.txt` containing `two`\n", "2", []string{"a.txt", "b.txt"}, []string{"Add a", "Add a"}},
		"after it was refused": {"- [ ] Create `.github/x` containing `one`\n- [ ] Create `a.txt` containing `one`\n" + strings.ReplaceAll(call, "%s", "a") +
			"- [ ] Run `rm -r .github`\n" + strings.ReplaceAll(call, "%s", "b"), "1", []string{"a.txt"}, []string{"Add b"}},
		"after git could not read it": {"- [ ] Create `a.txt` containing `one`\n- [ ] Run `mv .git/HEAD .git/away`\n" + strings.ReplaceAll(call, "%s", "a") +
			"- [ ] Run `mv .git/away .git/HEAD`\n" + strings.ReplaceAll(call, "%s", "b"), "1", []string{"a.txt"}, []string{"Add b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, test.script)
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered {
				t.Errorf("%+v", got)
			}
			f.assertPublished(test.commits, test.files...)
			var titles []string
			for _, d := range f.deliveries {
				titles = append(titles, d.Title)
				if d.Text != "It is there." {
					t.Errorf("the text is %q", d.Text)
				}
			}
			if diff := cmp.Diff(test.titles, titles); diff != "" {
				t.Error(diff)
			}
			log := f.readLog()
			if refused := strings.Contains(name, "refused"); refused != strings.Contains(log, "- .github/x: the path is protected") {
				t.Errorf("the agent is told of the refusal: %v", !refused)
			}
			if !strings.Contains(log, `The work is published: https://example.com/pull/1\nHead: `) {
				t.Error("the agent is not told where the work is")
			}
		})
	}
}

func TestASessionThatMakesNothingPublishesNothing(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Say `hello`\n- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n")
	f.job.Repository.Verify = []string{"false"} // is not run
	got := f.session(t.Context())
	if got.Class != schedule.Done || got.Delivered || !got.Idle || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	if f.isPublished() {
		t.Error("something is published")
	}
	if !strings.Contains(f.readLog(), "There is nothing new to publish. End your turn") {
		t.Error("the agent is not told that there is nothing new")
	}
}

func TestTheAgentIsToldWhereItsWorkIs(t *testing.T) {
	t.Parallel()
	head := git.ObjectID{0xab}
	for want, delivered := range map[string]Delivered{
		"The work is published: https://example.com/pull/1\nHead: " + head.String(): {URL: "https://example.com/pull/1", Head: head},
		"The work is published\nHead: " + head.String():                             {Head: head},
		"The work is published: /patches/ABC-1":                                     {URL: "/patches/ABC-1"},
	} {
		if got := published(delivered); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRefusedWorkFailsTheIssueWithItsReasons(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `one`\n")
	got := f.session(t.Context())
	if got.Class != schedule.IssueFailed || !strings.Contains(got.Why, ".github/x: the path is protected") || got.Delivered || !strings.Contains(got.Refused, ".github/x: the path is protected") {
		t.Errorf("%+v", got)
	}
	if f.isPublished() {
		t.Error("it is published")
	}
}

func TestASessionWhoseWorkWasPublishedBeforeIsIdle(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	if got := f.session(t.Context()); !got.Delivered || got.Idle {
		t.Fatalf("%+v", got)
	}
	f.setScript("- [ ] Run `git commit -q --allow-empty -m again`\n")
	f.job.Repository.Deliver = func(context.Context, Delivery) (Delivered, error) {
		return Delivered{Head: f.there, Unchanged: true}, nil
	}
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered || !got.Idle {
		t.Errorf("%+v", got)
	}
}
