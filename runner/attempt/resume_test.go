package attempt

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// twoParts is a script for two sessions of one turn.
const twoParts = "- [ ] Create `one.txt` containing `1`\n## Next turn\n- [ ] Create `two.txt` containing `2`\n"

func TestALaterSessionContinuesTheThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, twoParts)
	first := f.run(t.Context())
	if first.Class != schedule.Done || first.Thread == "" || f.readText(f.inWorkspace("two.txt")) != "" {
		t.Fatalf("%+v", first)
	}
	f.job.Thread, f.job.Issue, f.job.Attempt = first.Thread, *first.Issue, 1
	f.logs = f.path("second-logs")
	second := f.run(t.Context())

	// Tokens that the thread used before are not counted again.
	want := schedule.Outcome{
		Class: schedule.Done, Status: schedule.StatusSucceeded, Issue: f.readIssue(), Thread: first.Thread, Turns: 1,
		Usage: scriptedUsage(100, 20),
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Error(diff)
	}
	if turns := f.requests("turn/start"); len(turns) != 1 || turns[0].Thread != first.Thread {
		t.Errorf("turns: %+v", turns)
	}
	if f.readText(f.inWorkspace("two.txt")) != "2\n" {
		t.Error("the second part is not done")
	}
	if f.logged(slog.LevelInfo, `"turn 1 started"`, `"resumed":true`) != 1 || f.logged(slog.LevelInfo, `"turn 1 started"`, `"resumed":false`) != 1 {
		t.Errorf("the log does not tell the two sessions apart:\n%s", f.log.bytes.String())
	}
}

func TestAResumedThreadIsGivenThePromptOfTheNewAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose bool // whether the workspace is lost
		says string
	}{
		"in the workspace that was kept": {false, "The workspace was kept"},
		"in a new workspace":             {true, "The workspace is new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, twoParts)
			f.job.Prompt = "{{ issue.description }}\n{{ attempt }} {{ run.resumed }} {{ run.workspace_kept }}"
			first := f.run(t.Context())
			if text := f.requests("turn/start")[0].Text; text != twoParts+" false false" {
				t.Fatalf("the first prompt: %q", text)
			}
			if test.lose {
				if err := os.RemoveAll(f.inWorkspace("")); err != nil {
					t.Fatal(err)
				}
			}
			f.setScript("The issue was edited.\n")
			f.job.Thread, f.job.Attempt, f.job.MaxTurns = first.Thread, 1, 2
			f.job.Prompt = "The prompt was edited. {{ issue.description }} {{ attempt }} {{ run.resumed }} {{ run.workspace_kept }}"
			f.logs = f.path("second-logs")
			second := f.run(t.Context())
			turns := f.requests("turn/start")
			if len(turns) != 2 || turns[0].Thread != first.Thread || turns[1].Thread != first.Thread {
				t.Fatalf("turns: %+v", turns)
			}
			preamble, text, _ := strings.Cut(turns[0].Text, "\n\nThe prompt was edited. ")
			if want := fmt.Sprint("The issue was edited. 1 true ", !test.lose); text != want {
				t.Errorf("the prompt is %q and not %q", text, want)
			}
			if !strings.Contains(preamble, "This thread continues") || !strings.Contains(preamble, test.says) {
				t.Errorf("before the prompt it is told:\n%s", preamble)
			}
			if diff := cmp.Diff(prompt.Continuation(*second.Issue, 2, 2, false), turns[1].Text); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASessionWhoseThreadCannotBeResumedStartsANewOne(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fixture) error{
		"the rollouts are gone": func(f *fixture) error { return os.RemoveAll(f.path("home", "sessions")) },
		"the thread is unknown": func(f *fixture) error { f.job.Thread = "0199a213-81c0-7800-8aa1-bbab2a035a53"; return nil },
		"the rollout is broken": func(f *fixture) error {
			return os.WriteFile(onlyFile(f.t, f.path("home", "sessions")), []byte("{}\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, twoParts)
			f.job.Prompt = "{{ issue.description }}\n{{ run.resumed }}"
			first := f.run(t.Context())
			text := f.requests("turn/start")[0].Text
			f.job.Thread = first.Thread
			if err := lose(f); err != nil {
				t.Fatal(err)
			}
			f.logs = f.path("second-logs")
			got := f.run(t.Context())
			if got.Class != schedule.Done || got.Thread == "" || got.Thread == first.Thread || got.Thread == f.job.Thread {
				t.Errorf("%+v", got)
			}
			if len(f.requests("thread/resume")) != 1 {
				t.Error("the old thread was not asked for")
			}
			if diff := cmp.Diff([]agentRequest{{got.Thread, text}}, f.requests("turn/start")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// onlyFile returns the only file below a folder.
func onlyFile(t testing.TB, folder string) string {
	t.Helper()
	for {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 1 {
			t.Fatalf("%v in %s (%v)", entries, folder, err)
		}
		folder += "/" + entries[0].Name()
		if !entries[0].IsDir() {
			return folder
		}
	}
}
