package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/receipt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

func TestASessionWithNothingNewSettlesWhatAnEarlierOneLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer    Delivered
		err       error
		class     schedule.Class
		delivered bool
		refused   string
		why       string
	}{
		"there is nothing":     {class: schedule.Done},
		"it is published":      {answer: Delivered{URL: "https://example.com/pull/1", Head: git.ObjectID{1}}, class: schedule.Done, delivered: true},
		"a branch is there":    {answer: Delivered{Head: git.ObjectID{1}}, class: schedule.Done, delivered: true},
		"it is refused":        {answer: Delivered{Refused: "- a: no\n"}, class: schedule.IssueFailed, refused: "- a: no", why: "- a: no"},
		"a person closed it":   {err: fmt.Errorf("%w: pull request 1 was closed", ErrPerson), class: schedule.NeedsInput, why: "pull request 1 was closed"},
		"GitHub is not there":  {err: fmt.Errorf("%w: no answer", git.ErrUnavailable), class: schedule.Systemic, why: "no answer"},
		"something else fails": {err: errors.New("odd"), class: schedule.IssueFailed, why: "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Run `mkdir cache && touch cache/x`\n")
			calls := 0
			f.job.Repository.Settle = func(context.Context, receipt.Receipt) (Delivered, error) {
				calls++
				return test.answer, test.err
			}
			got := f.session(t.Context())
			if got.Class != test.class || got.Delivered != test.delivered || got.Refused != test.refused || !strings.Contains(got.Why, test.why) || !got.Idle || calls != 1 {
				t.Errorf("%d calls: %+v", calls, got)
			}
		})
	}
}

func TestASessionWithWorkOrAFailureSettlesNothing(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"something is new": "- [ ] Create `a.txt` containing `one`\n",
		"it was published": "- [ ] Create `a.txt` containing `one`\n- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n",
		"the turn fails":   "- [ ] Fail with `other`\n",
		"a question":       "- [ ] Ask `Which colour?`\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, script)
			f.job.Repository.Settle = func(context.Context, receipt.Receipt) (Delivered, error) {
				t.Error("it is called")
				return Delivered{}, nil
			}
			f.session(t.Context())
		})
	}
}

// A session whose work is on the branch leaves the rest to one without an agent, unless the
// work itself is the reason.
func TestWhatIsLeftOfAPublicationNeedsNoAgent(t *testing.T) {
	t.Parallel()
	there := Delivered{Head: git.ObjectID{1}, URL: "https://example.com/pull/1"}
	for name, test := range map[string]struct {
		err       error
		there     bool // the branch has the work
		verify    string
		unsettled bool
	}{
		"GitHub asks to wait":  {fmt.Errorf("%w: in an hour", git.ErrTimeout), true, "", true},
		"GitHub is not there":  {fmt.Errorf("%w: no answer", git.ErrUnavailable), true, "", true},
		"a check has passed":   {fmt.Errorf("%w: in an hour", git.ErrTimeout), true, "true", true},
		"a check has failed":   {fmt.Errorf("%w: in an hour", git.ErrTimeout), true, "false", false},
		"nothing was pushed":   {fmt.Errorf("%w: no answer", git.ErrUnavailable), false, "", false},
		"a person decides":     {fmt.Errorf("%w: it was closed", ErrPerson), true, "", false},
		"it is the work":       {errors.New("odd"), true, "", false},
		"nothing has happened": {nil, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
			if test.verify != "" {
				f.job.Repository.Verify = []string{test.verify}
			}
			deliveries := 0
			f.job.Repository.Deliver = func(context.Context, Delivery) (Delivered, error) {
				deliveries++
				return Delivered{Published: test.there}, test.err
			}
			first := f.session(t.Context())
			if first.Unsettled != test.unsettled || test.unsettled && deliveries != 1 {
				t.Fatalf("%d deliveries: %+v", deliveries, first)
			}
			if !test.unsettled {
				return
			}
			f.job.Unsettled = true
			turns := len(f.requests("turn/start"))
			var tested string
			answer, err := Delivered{}, test.err
			f.job.Repository.Settle = func(_ context.Context, told receipt.Receipt) (Delivered, error) {
				_, tested = told.Checked()
				return answer, err
			}
			if got := f.session(t.Context()); got.Class != first.Class || !got.Unsettled || got.Turns != 0 {
				t.Errorf("when it fails again: %+v", got)
			}
			answer, err = there, nil
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || got.Unsettled || got.Idle || got.Issue == nil || got.Turns != 0 || len(f.requests("turn/start")) != turns {
				t.Errorf("when it succeeds: %+v", got)
			}
			if passed := strings.Contains(tested, "passed"); passed != (test.verify != "") {
				t.Errorf("it is said of tests: %s", tested)
			}
			answer = Delivered{}
			if got := f.session(t.Context()); got.Turns == 0 {
				t.Errorf("when nothing is published: %+v", got)
			}
		})
	}
}

// What a person decided about the pull request is a question to people, not a failure of
// the agent.
func TestWorkThatAPersonMustDecideAboutParksTheIssue(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n")
	f.deliver = func(Delivery) error { return fmt.Errorf("%w: pull request 1 was closed", ErrPerson) }
	got := f.session(t.Context())
	if got.Class != schedule.NeedsInput || !strings.Contains(got.Why, "pull request 1 was closed") || got.Delivered || !got.Idle {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(f.readLog(), "A person has to decide: end your turn.") {
		t.Error("the agent is told to try again")
	}
	f.deliver = func(Delivery) error { return nil }
	f.setScript("- [ ] Say `hello`\n")
	f.delivers()
	f.assertPublished("1", "a.txt")
}

func TestTheNextSessionIsToldWhyTheWorkWasRefused(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `one`\n## Next turn\n- [ ] Run `git mv .github/x x`\n")
	first := f.session(t.Context())
	f.job.Refused, f.job.Thread = first.Refused, first.Thread
	f.job.Redact = strings.NewReplacer("protected", "[hidden]").Replace
	f.logs = f.path("second-logs")
	got := f.session(t.Context())
	if got.Class != schedule.Done || !got.Delivered || got.Refused != "" {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "x")
	text := f.requests("turn/start")[0].Text
	if !strings.HasPrefix(text, "The work of the last session on ABC-1 was refused and not published, for these reasons:\n\n> - .github/x: the path is [hidden]\n\nThat work is still in the workspace.") {
		t.Errorf("the prompt is\n%s", text)
	}
}

// Refused work of a session that did not end well is known to the next one as well.
func TestTheReasonsOfARefusalOutliveAFailedTurn(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `one`\n- [ ] Fail with `other`\n")
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || got.Refused != "- .github/x: the path is protected" || !strings.Contains(got.Why, "other") {
		t.Errorf("%+v", got)
	}
}

func TestWorkThatWasRefusedAndThenPublishedIsNotRefused(t *testing.T) {
	t.Parallel()
	const call = "- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n"
	for name, test := range map[string]struct {
		then      string
		delivered bool
	}{
		"it is fixed":   {"- [ ] Run `git mv -f .github/x x || mv .github/x x`\n", true},
		"it is removed": {"- [ ] Run `rm -r .github`\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, "- [ ] Create `.github/x` containing `one`\n"+call+test.then)
			if got := f.session(t.Context()); got.Class != schedule.Done || got.Delivered != test.delivered || got.Refused != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Work that was published and grew afterwards is not published as a whole.
func TestWorkWhoseLatestPartIsRefusedIsNotDelivered(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n- [ ] Create `.github/x` containing `one`\n")
	if got := f.session(t.Context()); got.Class != schedule.IssueFailed || got.Delivered || got.Refused == "" || got.Idle {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "a.txt")
}

// The issue stays open until the host hands it over, so the agent says when it is done:
// by the tool, or by a turn in which it does nothing although it was asked to go on.
func TestASessionEndsAfterTheTurnThatPublishes(t *testing.T) {
	t.Parallel()
	const call = "- [ ] Call `deliver` with `{\"title\":\"a\",\"body\":\"b\"}`\n"
	for name, test := range map[string]struct {
		script string
		turns  int
	}{
		"the first":           {"- [ ] Create `a.txt` containing `one`\n" + call, 1},
		"with nothing":        {call, 1},
		"the second":          {"- [ ] Create `a.txt` containing `one`\n## Next turn\n" + call, 2},
		"none":                {"- [ ] Create `a.txt` containing `one`\n", 2},
		"none of three":       {"- [ ] Create `a.txt` containing `one`\n## Next turn\n- [ ] Create `b.txt` containing `one`\n", 3},
		"not one it refuses":  {"- [ ] Create `.github/x` containing `one`\n" + call + "## Next turn\n- [ ] Run `rm -r .github`\n", 3},
		"not one it mistakes": {"- [ ] Call `deliver` with `{}`\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepositoryFixture(t, test.script)
			f.job.MaxTurns = 4
			if got := f.session(t.Context()); got.Class != schedule.Done || got.Turns != test.turns {
				t.Errorf("%+v", got)
			}
			for _, turn := range f.requests("turn/start") {
				if !strings.Contains(turn.Text, "call the tool `deliver`") {
					t.Errorf("a turn does not say how it ends:\n%s", turn.Text)
				}
			}
		})
	}
}

// Codex drops the end of what a program has printed if the machine is too busy to read it.
func TestAHarvestWithoutItsEndIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	shell, err := exec.LookPath("sh")
	f.check(err)
	writeFile(t, f.path("bin", "sh"), "#!"+shell+"\ncase $2 in\n*symphony-pack*) "+shell+` "$@" | head -c 150`+" ;;\n*) exec "+shell+` "$@" ;;`+"\nesac\n")
	f.check(os.Chmod(f.path("bin", "sh"), 0o755))
	whole := f.job.Repository.Host
	f.job.Repository.Host, err = git.Open(t.Context(), git.Config{
		Dir: f.path("stores"), Workspaces: f.path("root"), Env: []string{"PATH=" + f.path("bin") + ":" + os.Getenv("PATH")}, Log: slog.New(slog.DiscardHandler),
	})
	f.check(err)
	got := f.session(t.Context())
	if got.Class != schedule.Transient || !strings.Contains(got.Why, "dropped the end of the output") || got.Delivered {
		t.Errorf("%+v", got)
	}
	f.job.Repository.Host = whole
	f.delivers()
	f.assertPublished("1", "a.txt")
}
