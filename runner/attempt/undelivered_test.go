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

// Work that nobody takes stays in the workspace, where the next session goes on with it.
func TestWithoutADeliveryTheWorkStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git add -A && git commit -qm one`\n- [ ] Create `b.txt` containing `two`\n")
	f.job.Repository.Deliver, f.job.Repository.Verify, f.job.Repository.Hooks.AfterRun = nil, []string{"false"}, "touch after"
	for _, idle := range []bool{false, true} {
		f.logs = f.path("events-logs")
		got := f.session(t.Context())
		if got.Class != schedule.Done || got.Delivered || len(got.Warnings) > 0 || got.Turns != 1 || got.Idle != idle {
			t.Errorf("%+v", got)
		}
		for _, name := range []string{"a.txt", "b.txt", "after"} {
			if _, err := os.Stat(f.inWorkspace(name)); err != nil {
				t.Error(err)
			}
		}
		if log := f.readLog(); strings.Contains(log, "`deliver`") || strings.Contains(log, `"deliver"`) {
			t.Error("the agent is told of the tool")
		}
		f.setScript("- [ ] Run `test -e a.txt && test -e b.txt`\n")
	}
}

// A resumed thread knows files that may be gone. What it is told of them is so.
func TestTheFirstPromptIsTrueAboutWhatTheWorkspaceHas(t *testing.T) {
	t.Parallel()
	unpublished := func(f *repositoryFixture) { f.deliver = func(Delivery) error { return git.ErrTimeout } }
	for name, test := range map[string]struct {
		first   string                     // what the agent does in the first session
		before  func(f *repositoryFixture) // called before that; nil does nothing
		between func(f *repositoryFixture) // called after it
		kept    bool
	}{
		"published work":             {"touch a.txt", nil, nil, true},
		"work that stayed":           {"touch a.txt", unpublished, nil, true},
		"work that is lost":          {"touch a.txt; rm -rf .git/objects", unpublished, nil, false},
		"another folder":             {"touch a.txt", nil, func(f *repositoryFixture) { f.check(os.RemoveAll(f.inWorkspace(""))) }, false},
		"a folder of hooks":          {"touch a.txt", nil, func(f *repositoryFixture) { f.check(os.Remove(f.path("root", ".symphony", "ABC-1.note"))) }, false},
		"work beside that of people": {"touch a.txt", unpublished, func(f *repositoryFixture) { f.git("seed", "push", "-q", f.origin, "main:refs/heads/symphony/ABC-1") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Run `"+test.first+"`\n")
			if test.before != nil {
				test.before(f)
			}
			first := f.session(t.Context())
			if test.between != nil {
				f.git("seed", "commit", "-q", "--allow-empty", "-m", "second")
				test.between(f)
			}
			has := map[bool]string{true: "The workspace was kept", false: "The workspace is new"}
			threads := []string{first.Thread}
			if name == "work that is lost" { // of a new thread nothing is lost
				threads = append(threads, "")
			}
			for _, thread := range threads {
				f.job.Thread, f.logs = thread, f.path("later"+thread+"-logs")
				f.job.Prompt = "kept: {{ run.workspace_kept }}, resumed: {{ run.resumed }}"
				f.session(t.Context())
				text := f.requests("turn/start")[0].Text
				want := "kept: false"
				if test.kept || thread == "" { // the folder is there, and nothing more is lost
					want = "kept: true"
				}
				if aside := name == "work beside that of people" && thread != ""; aside != strings.Contains(text, "local branch `unpublished`") {
					t.Errorf("the work is aside: %v", !aside)
				}
				if !strings.Contains(text, want) || thread != "" && (!strings.Contains(text, has[test.kept]) || strings.Contains(text, has[!test.kept])) {
					t.Errorf("the prompt is\n%s", text)
				}
			}
		})
	}
}

// Whatever hangs when a session is stopped, its end has a bound, which a deadline can
// reserve.
func TestTheEndOfAStoppedSessionIsBounded(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(f *repositoryFixture, wait string){
		"after_run outside the sandbox": func(f *repositoryFixture, wait string) {
			f.job.Repository, f.hooks.AfterRun = nil, wait
		},
		"a trusted after_run": func(f *repositoryFixture, wait string) {
			f.job.Repository.TrustedHooks, f.hooks.AfterRun = true, wait
		},
		"after_run in the sandbox": func(f *repositoryFixture, wait string) { f.job.Repository.Hooks.AfterRun = wait },
		"the publication": func(f *repositoryFixture, wait string) {
			f.job.Repository.Deliver = func(ctx context.Context, _ Delivery) (Delivered, error) {
				<-ctx.Done()
				return Delivered{}, context.Cause(ctx)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Say `ready`\n- [ ] Hang\n")
			f.job.stoppedTime = 1 // nanosecond
			f.grace = impatient
			set(f, "sleep 3600")
			ctx := f.stopWhen("ready", schedule.DeadlineReached)
			var got schedule.Outcome
			if f.job.Repository == nil {
				got = f.run(ctx)
			} else {
				got = f.session(ctx)
			}
			if got.Class != schedule.Stopped || got.Delivered || len(got.Warnings) == 0 || !strings.Contains(strings.Join(got.Warnings, "\n"), "the session was stopped") {
				t.Errorf("%+v", got)
			}
			if !errors.Is(context.Cause(ctx), schedule.StopError(schedule.DeadlineReached)) {
				t.Error("it was not stopped")
			}
		})
	}
	if stoppedTime >= StopTime {
		t.Error("no time is left for the turn and the process to end")
	}
}

// What git cannot take along does not keep the rest back, and everybody is told.
func TestWhatGitCannotTakeIsToldToTheAgentAndToPeople(t *testing.T) {
	t.Parallel()
	const list = "nested/ (a repository of its own)"
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Run `git init -q nested && touch nested/x`\n"+callDeliver)
	got := f.session(t.Context())
	if got.Class != schedule.Done || !got.Delivered || got.LeftOut != list {
		t.Errorf("%+v", got)
	}
	if warnings := strings.Join(got.Warnings, "\n"); warnings != "Git cannot take these along, so they are left out: "+list+"." {
		t.Errorf("warnings: %s", warnings)
	}
	if log := f.readLog(); !strings.Contains(log, "left out: "+list+". If the work needs them, make them fit for Git and call deliver again.") {
		t.Error("the answer of the tool does not name the folder")
	}
	f.assertPublished("1", "a.txt")

	f.logs, f.job.LeftOut = f.path("second-logs"), got.LeftOut
	f.setScript("- [ ] Run `git init -q other && touch other/x`\n")
	f.deliver = func(Delivery) error { return git.ErrTimeout }
	got = f.session(t.Context())
	if text := f.requests("turn/start")[0].Text; !strings.Contains(text, "could not take these files of the last session on ABC-1 along, so its work was taken without them:\n\n> "+list+"\n") {
		t.Errorf("the prompt is\n%s", text)
	}
	if got.LeftOut != "other/ (a repository of its own)" || got.Delivered && !got.Idle {
		t.Errorf("nothing but that: %+v", got)
	}
}

// The same holds for a session that was killed: the next one takes its work.
func TestWhatGitCannotTakeOfAKilledSessionIsToldToTheNext(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"beside work": "- [ ] Create `a.txt` containing `one`\n", "alone": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, script+"- [ ] Run `git init -q nested && touch nested/x`\n- [ ] Say `ready`\n- [ ] Hang\n")
			f.grace = impatient
			f.session(f.stopWhen("ready", schedule.Interrupted))
			f.logs = f.path("second-logs")
			f.setScript("- [ ] Say `hello`\n")
			f.session(t.Context())
			if text := f.requests("turn/start")[0].Text; !strings.Contains(text, "\n> nested/ (a repository of its own)\n") {
				t.Errorf("the prompt is\n%s", text)
			}
		})
	}
}
