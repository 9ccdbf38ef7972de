package attempt

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// newTrustedFixture returns a fixture whose hooks run outside the sandbox. Each leaves a
// trace, and another one if it runs beside the agent's process.
func newTrustedFixture(t *testing.T, script string) *repositoryFixture {
	t.Helper()
	f := newRepositoryFixture(t, script)
	f.job.Codex.Command = f.trace("agent") + "\n" + f.job.Codex.Command
	hook := func(name string) string {
		return f.trace(name) + "\nif test -e " + quote(f.path("agent.pid")) + " && kill -0 $(cat " + quote(f.path("agent.pid")) + "); then " + f.trace("alive") + "; fi\n" +
			"test -e README.md && test \"$(git branch --show-current)\" = symphony/ABC-1 && test -z \"$(git status --porcelain)\" && "
	}
	f.hooks = workspace.Hooks{
		AfterCreate: hook("after_create") + "mkdir cache", BeforeRun: hook("before_run") + "test -e cache",
		AfterRun: hook("after_run") + "touch after_run.txt", BeforeRemove: f.trace("before_remove"),
		Timeout: forever, GuardGit: true,
	}
	f.job.Repository.Hooks, f.job.Repository.TrustedHooks = f.hooks, true
	return f
}

func TestATrustedHookNeverRunsBesideTheAgent(t *testing.T) {
	t.Parallel()
	f := newTrustedFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n")
	for i, want := range [][]string{
		{"agent", "after_create", "before_run", "agent", "after_run"},
		{"agent", "before_run", "agent", "after_run"},
	} {
		f.check(os.RemoveAll(f.path("order")))
		got := f.session(t.Context())
		if got.Class != schedule.Done || got.Delivered != (i == 0) || len(got.Warnings) > 0 || got.Usage.Total() == 0 {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(want, f.traces()); diff != "" {
			t.Error(diff)
		}
		f.setScript("- [ ] Run `test -e a.txt && test ! -e after_run.txt && test -e cache`\n")
	}
	f.assertPublished("1", "a.txt")
}

func TestATrustedHookThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set    func(h *workspace.Hooks)
		class  schedule.Class
		traces []string
		stays  bool // the workspace
	}{
		"in after_create": {func(h *workspace.Hooks) { h.AfterCreate += "; exit 3" }, schedule.IssueFailed, []string{"agent", "after_create", "before_remove"}, false},
		"in before_run":   {func(h *workspace.Hooks) { h.BeforeRun += "; exit 3" }, schedule.IssueFailed, []string{"agent", "after_create", "before_run", "after_run"}, true},
		"in after_run":    {func(h *workspace.Hooks) { h.AfterRun += "; exit 3" }, schedule.Done, []string{"agent", "after_create", "before_run", "agent", "after_run"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTrustedFixture(t, "- [ ] Create `a.txt` containing `one`\n")
			f.hooks.AfterRun = f.trace("after_run")
			test.set(&f.hooks)
			f.job.Repository.Hooks = f.hooks
			got := f.session(t.Context())
			said := got.Why + strings.Join(got.Warnings, "")
			if got.Class != test.class || !strings.Contains(said, "hook "+strings.TrimPrefix(name, "in ")+": hook_failed: exit status 3") {
				t.Errorf("%+v", got)
			}
			if diff := cmp.Diff(test.traces, f.traces()); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Stat(f.inWorkspace("")); (err == nil) != test.stays {
				t.Errorf("the workspace: %v", err)
			}
		})
	}
}

// What a hostile agent leaves as .git stops the hook that would use it, and nothing else:
// the next session has a new one. Package workspace has the forms of such a .git.
func TestATrustedHookDoesNotRunOnWhatAHostileAgentLeft(t *testing.T) {
	t.Parallel()
	f := newTrustedFixture(t, "")
	writeFile(t, f.path("outside", "file"), "mine")
	f.setScript("- [ ] Run `mv .git " + f.path("outside", "git") + "; echo gitdir: " + f.path("outside", "git") + " > .git`\n")
	got := f.session(t.Context())
	if len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0], "hook after_run: not started: ") || !strings.Contains(got.Warnings[0], "git must not run there") {
		t.Errorf("%+v", got)
	}
	f.logs = f.path("second-logs")
	f.setScript("- [ ] Create `a.txt` containing `one`\n")
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"agent", "after_create", "before_run", "agent", "agent", "before_run", "agent", "after_run"}, f.traces()); diff != "" {
		t.Error(diff)
	}
	if f.readText(f.path("outside", "file")) != "mine" {
		t.Error("outside has changed")
	}
}
