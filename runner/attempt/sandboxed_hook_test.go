package attempt

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/schedule"
)

func TestHooksOfARepositoryRunInTheSandboxInOrder(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Run `echo agent >> cache/order`\n- [ ] Create `a.txt` containing `one`\n")
	hook := func(name string) string {
		// Exec hides the key from the programs that it runs, and gives them TMPDIR.
		return `echo ` + name + ` $SYMPHONY_ISSUE_IDENTIFIER $(git branch --show-current) ${CODEX_HOME-none} $(basename "$TMPDIR") >> cache/order`
	}
	f.job.Repository.Hooks.AfterCreate = "mkdir cache; " + hook("after_create")
	f.job.Repository.Hooks.BeforeRun = hook("before_run")
	f.job.Repository.Hooks.AfterRun = hook("after_run") + "; touch made.txt"
	if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "a.txt", "made.txt")
	if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	const of = " ABC-1 symphony/ABC-1 none ABC-1\n"
	want := "after_create" + of + "before_run" + of + "agent\nafter_run" + of + "before_run" + of + "agent\nafter_run" + of
	if diff := cmp.Diff(want, f.readText(f.inWorkspace("cache/order"))); diff != "" {
		t.Error(diff)
	}
}

func TestAHookThatFailsInTheSandbox(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set     func(*Repository)
		class   schedule.Class
		why     string
		fault   string
		warning string
		kept    bool // whether the new workspace stays
	}{
		"after_create": {func(r *Repository) { r.Hooks.AfterCreate = "echo no; echo disk >&2; exit 3" }, schedule.IssueFailed,
			`hook after_create: hook_failed: exit status 3; its last output: "no | disk"; fix hooks.after_create`, "hook after_create: hook_failed: exit status 3", "", false},
		"before_run": {func(r *Repository) { r.Hooks.BeforeRun = "exit 4" }, schedule.IssueFailed,
			"hook before_run: hook_failed: exit status 4", "hook before_run: hook_failed: exit status 4", "", true},
		"before_run takes too long": {func(r *Repository) { r.Hooks.BeforeRun, r.Hooks.Timeout = "sleep 3600", 50*time.Millisecond }, schedule.IssueFailed,
			"hook before_run: hook_timeout: it ran longer than hooks.timeout_ms (50)", "hook before_run: hook_timeout: it ran longer than hooks.timeout_ms (50)", "", true},
		"after_run": {func(r *Repository) { r.Hooks.AfterRun = "exit 5" }, schedule.Done, "", "", "hook after_run: hook_failed: exit status 5", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
			test.set(f.job.Repository)
			got := f.session(t.Context())
			if got.Class != test.class || !strings.HasPrefix(got.Why, test.why) || got.Fault != test.fault || (got.Turns == 1) != (test.class == schedule.Done) {
				t.Errorf("%+v", got)
			}
			if test.warning != "" && (len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], test.warning)) {
				t.Errorf("warned of %q", got.Warnings)
			}
			if kept := f.readText(f.inWorkspace("README.md")) != ""; kept != test.kept {
				t.Errorf("the workspace stays: %v", kept)
			}
		})
	}
}
