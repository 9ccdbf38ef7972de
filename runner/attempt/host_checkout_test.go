package attempt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// olderCodex has no permission profiles, and runs no program of the host.
const olderCodex = " permissionProfile/list command/exec command/exec/terminate thread/backgroundTerminals/clean"

// newUnprofiledFixture returns a fixture whose server runs no programs of the host, and
// whose work stays in the workspace.
func newUnprofiledFixture(t testing.TB, script string) *repositoryFixture {
	t.Helper()
	f := newRepositoryFixture(t, script)
	f.job.Codex.Command += olderCodex
	f.job.Repository.Deliver = nil
	return f
}

// warnings returns those of the last run's updates, each once.
func (f *fixture) warnings() []string {
	var all []string
	for _, u := range f.updates {
		all = append(all, u.Warnings...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const beginsClean = "- [ ] Run `test \"$(cat README.md)\" = hello && test \"$(git branch --show-current)\" = symphony/ABC-1 && git status --porcelain > ../status`\n"

func TestAServerWithoutProgramsOfTheHostLeavesItsWorkInTheWorkspace(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *repositoryFixture){
		"an older Codex": func(*repositoryFixture) {},
		"another program, which takes no options": func(f *repositoryFixture) {
			f.job.Account = Account{}
			f.job.Codex.Command = f.agent() + olderCodex
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newUnprofiledFixture(t, beginsClean+"- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n")
			f.job.Preflight = NewPreflightOnce()
			change(f)
			got := f.session(t.Context())
			if got.Class != schedule.Done || got.Turns != 1 || got.Idle || got.Delivered || len(got.Warnings) > 0 {
				t.Errorf("%+v", got)
			}
			if status := f.readText(f.path("root", "status")); status != "" {
				t.Errorf("the agent began with changes: %s", status)
			}
			if f.readText(f.inWorkspace("a.txt")) != "one\n" || f.isPublished() {
				t.Error("the work is not in the workspace, or elsewhere")
			}
			if said := f.warnings(); len(said) != 1 || !strings.Contains(said[0], "as changes that are not committed: exec_unavailable: ") {
				t.Errorf("the warnings are %q", said)
			}
		})
	}
}

// The base moves between the sessions: the agent's work is still compared with the commit
// where it began.
func TestTheNextSessionOfSuchAServerGoesOnInTheWorkspace(t *testing.T) {
	t.Parallel()
	f := newUnprofiledFixture(t, "- [ ] Run `mkdir cache && touch cache/x && git rm -q README.md && echo one > a.txt && git add -A && git commit -qm one && echo two > b.txt`\n\n"+
		"## Next turn\n\n- [ ] Run `test -e cache/x && test \"$(git rev-parse HEAD)\" = \"$(git rev-parse origin/main^)\" && test \"$(git show origin/main:new.txt)\" = new && git status --porcelain > ../status`\n")
	f.job.Thread = f.session(t.Context()).Thread
	writeFile(t, f.path("seed", "new.txt"), "new\n")
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "second")
	f.git("seed", "push", "-q", f.origin, "main")
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Idle {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(f.readLog(), "what they changed is not committed") {
		t.Error("the agent is not told")
	}
	if status := f.readText(f.path("root", "status")); status != " D README.md\n?? a.txt\n?? b.txt\n" {
		t.Errorf("the agent goes on with\n%s", status)
	}
}

// A Codex that runs programs of the host takes up the work.
func TestWorkOfSuchAServerIsPublishedByABetterOne(t *testing.T) {
	t.Parallel()
	f := newUnprofiledFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n")
	f.session(t.Context())
	f.job.Codex.Command = strings.TrimSuffix(f.job.Codex.Command, olderCodex)
	f.job.Repository.Deliver = f.publish
	f.setScript("- [ ] Create `b.txt` containing `two`\n")
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "a.txt", "b.txt")
}

// The program that the agent's git would start, and the links that lead out, are gone
// with the old .git, which nothing has opened.
func TestAHostileWorkspaceOfSuchAServerIsNotObeyed(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"no .git":      "rm -rf .git",
		"a file":       "rm -rf .git; echo gitdir: $OUTSIDE > .git",
		"a link":       "rm -rf .git; ln -s $OUTSIDE .git",
		"pipes":        "rm .git/HEAD; mkfifo .git/HEAD .git/index.lock",
		"a program":    "git config core.fsmonitor 'touch '$OUTSIDE/ran",
		"a filter":     "git config filter.x.clean 'touch '$OUTSIDE/ran; git config filter.x.smudge 'touch '$OUTSIDE/ran; echo '* filter=x' > .gitattributes",
		"a hook":       "printf '#!/bin/sh\\ntouch '$OUTSIDE/ran > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
		"a repository": "mv .git/HEAD .git/x; cp -r .git/refs .git/objects .; echo ref: refs/heads/main > HEAD; printf '[core]\\n\\tbare=true\\n\\tfsmonitor=touch %s/ran\\n' $OUTSIDE > config",
		"links":        "rm -rf README.md; ln -s $OUTSIDE/file README.md; rm -rf .git/objects; ln -s $OUTSIDE .git/objects",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newUnprofiledFixture(t, "")
			outside := f.path("outside")
			writeFile(t, filepath.Join(outside, "file"), "mine")
			f.setScript("- [ ] Run `echo left > left.txt; export OUTSIDE=" + outside + "; " + leave + "`\n")
			f.session(t.Context())
			os.Remove(filepath.Join(outside, "ran"))

			f.setScript("- [ ] Run `test \"$(cat left.txt)\" = left && test \"$(git rev-parse --git-dir)\" = .git && ! git config --local --get-regexp 'fsmonitor|filter' && git status --porcelain`\n")
			if got := f.session(t.Context()); got.Class != schedule.Done {
				t.Errorf("%+v", got)
			}
			if files := filesBelow(t, outside); len(files) != 1 || f.readText(filepath.Join(outside, "file")) != "mine" {
				t.Errorf("outside: %v", files)
			}
		})
	}
}

func TestATrustedHookRunsWhereTheHostHasCheckedOut(t *testing.T) {
	t.Parallel()
	f := newTrustedFixture(t, "- [ ] Create `cache/a.txt` containing `one`\n")
	f.job.Codex.Command += olderCodex
	f.job.Repository.Deliver = nil
	f.hooks.AfterRun = f.trace("after_run")
	for _, want := range [][]string{
		{"agent", "after_create", "before_run", "agent", "after_run"},
		{"agent", "before_run", "agent", "after_run"},
	} {
		f.check(os.RemoveAll(f.path("order")))
		if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(want, f.traces()); diff != "" {
			t.Error(diff)
		}
	}
}

// What cannot be done without programs of the host is said before anything starts.
func TestWhatNeedsProgramsOfTheHostDoesNotBeginWithoutThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(f *repositoryFixture)
		want   string
	}{
		"a delivery":   {func(f *repositoryFixture) { f.job.Repository.Deliver = f.publish }, "or write delivery.kind none: exec_unavailable: this server cannot run programs of the host in its sandbox: install Codex 0.169 or later: permissionProfile/list: "},
		"submodules":   {func(f *repositoryFixture) { f.job.Repository.Submodules = true }, "or remove repository.submodules: exec_unavailable: "},
		"after_create": {func(f *repositoryFixture) { f.job.Repository.Hooks.AfterCreate = "true" }, "or write hooks.sandboxed: false and hooks.trusted: true: exec_unavailable: "},
		"before_run":   {func(f *repositoryFixture) { f.job.Repository.Hooks.BeforeRun = "true" }, "hooks run in the agent's sandbox"},
		"after_run":    {func(f *repositoryFixture) { f.job.Repository.Hooks.AfterRun = "true" }, "hooks run in the agent's sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newUnprofiledFixture(t, "- [ ] Create `a.txt` containing `one`\n")
			test.change(f)
			if got := f.session(t.Context()); got.Class != schedule.Systemic || got.Turns != 0 || !strings.Contains(got.Why, test.want) {
				t.Errorf("%+v", got)
			}
			if _, err := os.Lstat(f.inWorkspace("")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the workspace: %v", err)
			}
			f.job.Issue.ID, f.job.Issue.Identifier = "preflight", "preflight"
			if _, err := Preflight(t.Context(), f.job); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

func TestTheCheckOfAServerWithoutProgramsOfTheHostWarns(t *testing.T) {
	t.Parallel()
	f := newUnprofiledFixture(t, "")
	f.openWorkspaces()
	f.job.Issue.ID, f.job.Issue.Identifier = "preflight", "preflight"
	var said []string
	f.job.Warn = func(text string) { said = append(said, text) }
	if _, err := Preflight(t.Context(), f.job); err != nil || len(said) != 1 || !strings.Contains(said[0], "install Codex 0.169 or later") {
		t.Errorf("%v, warnings %q", err, said)
	}
}

// A session that fails or whose files cannot be made leaves no half of anything.
func TestASessionOfSuchAServerThatFails(t *testing.T) {
	t.Parallel()
	f := newUnprofiledFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Fail with `other`\n")
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || got.Turns != 1 || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	if f.readText(f.inWorkspace("a.txt")) != "one\n" {
		t.Error("the work is gone")
	}

	f = newUnprofiledFixture(t, "")
	f.fetch()
	f.job.Repository.Checkout.BaseHead[0]++
	got := f.run(t.Context())
	if got.Class != schedule.Systemic || got.Turns != 0 || !strings.Contains(got.Why, "git_store_unusable: it does not have this commit; fetch first") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(f.inWorkspace("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace: %v", err)
	}
	f.assertNothingIsLeft()
}

// A base that somebody has rewritten does not have the commit where the work began.
func TestABaseThatWasRewrittenStopsNoSessionOfSuchAServer(t *testing.T) {
	t.Parallel()
	f := newUnprofiledFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.session(t.Context())
	f.fetch()
	note := f.job.Workspaces.Note(workspaceOf(f))
	f.check(f.job.Workspaces.SaveNote(workspaceOf(f), strings.Repeat("1", 40)+" "+strings.Repeat("1", 40)+" main all\n"))
	f.setScript("- [ ] Run `test -e a.txt && git status --porcelain > ../status`\n")
	got := f.session(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "compared with the base as it is now") {
		t.Errorf("%+v\n%s", got, note)
	}
	if status := f.readText(f.path("root", "status")); status != "?? a.txt\n" {
		t.Errorf("the agent goes on with\n%s", status)
	}
}

// workspaceOf returns the workspace of the issue.
func workspaceOf(f *repositoryFixture) workspace.Workspace {
	return workspace.Workspace{Issue: workspace.Issue{ID: issueName, Identifier: issueName}, Key: issueName, Path: f.inWorkspace("")}
}
