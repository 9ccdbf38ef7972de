package attempt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
)

// newPreparedFixture returns a fixture with the scripted agent, which runs no sandbox, whose
// project is prepared by a script.
func newPreparedFixture(t *testing.T, agent, script string) *repositoryFixture {
	t.Helper()
	f := newRepositoryFixture(t, agent)
	f.job.Repository.Setup = &Setup{Config: setup.Config{Run: script, Timeout: forever}, Preparations: NewPreparations(f.path("packs"))}
	return f
}

// pushBase commits files on the base.
func (f *repositoryFixture) pushBase(files map[string]string) {
	f.t.Helper()
	for name, text := range files {
		writeFile(f.t, f.path("seed", name), text)
	}
	f.git("seed", "add", "-A")
	f.git("seed", "commit", "-q", "-m", "more")
	f.git("seed", "push", "-q", f.origin, "main")
}

// TestAPreparationThatFailsIsTheFaultOfNoIssue says what failed and what to do, keeps nothing,
// and starts no agent.
func TestAPreparationThatFailsIsTheFaultOfNoIssue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		change func(*Setup)
		want   string
	}{
		"a failure":        {"echo npm error 404; exit 7", nil, "setup.run failed: exit status 7: npm error 404"},
		"a file of git's":  {"true", func(s *Setup) { s.Keep = []string{"README.md"} }, "setup.keep names files that git tracks: README.md"},
		"a secret":         {`echo "token=$REGISTRY" > kept`, func(s *Setup) { s.Env, s.Keep = []string{"REGISTRY"}, []string{"kept"} }, `"kept" holds the value of a variable of setup.env`},
		"a secret encoded": {`printf 'user:%s' "$REGISTRY" | base64 > kept`, func(s *Setup) { s.Env, s.Keep = []string{"REGISTRY"}, []string{"kept"} }, `"kept" holds the value of a variable of setup.env`},
		"a secret at home": {`echo "$REGISTRY" > ~/.npmrc`, func(s *Setup) { s.Env = []string{"REGISTRY"} }, `".npmrc" holds the value of a variable of setup.env`},
		"its own tar":      {`rm -rf .git/symphony-tmp && ln -s "$PWD" .git/symphony-tmp`, nil, "what it made cannot be kept"},
		"asks for input":   {`read answer || exit 9`, nil, "exit status 9"},
		"takes too long":   {"exec sleep 1000", func(s *Setup) { s.Timeout = time.Second / 2 }, "setup.timeout_ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newPreparedFixture(t, "- [ ] Say `hello`\n", test.script)
			f.job.Lookup = func(name string) (string, bool) { return "npm_0123456789abcdef", name == "REGISTRY" }
			f.environment = append(f.environment, "REGISTRY=npm_0123456789abcdef")
			if test.change != nil {
				test.change(f.job.Repository.Setup)
			}
			got := f.session(t.Context())
			if got.Class != schedule.Systemic || got.Cause != schedule.CauseSetup || got.Fault != "" || got.Turns != 0 || !strings.Contains(got.Why, test.want) || !strings.Contains(got.Why, "symphony setup --again") {
				t.Errorf("%+v", got)
			}
			if len(f.packs()) != 0 {
				t.Errorf("%q", f.packs())
			}
		})
	}
}

// TestAnotherBasePreparesAgain changes a file of the base that counts, and one that does not.
func TestAnotherBasePreparesAgain(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/lock cache/old* > a.txt`\n", `mkdir cache && cp go.sum cache/lock && touch cache/old-$(cat go.sum)`)
	fail := func(Delivery) error { return context.DeadlineExceeded } // so that the workspace is kept
	var got []string
	for _, files := range []map[string]string{{"go.sum": "one"}, {"README.md": "again"}, {"go.sum": "two"}} {
		f.pushBase(files)
		f.deliver = fail
		f.session(t.Context())
		entries, err := os.ReadDir(f.path("root", issueName, "cache"))
		f.check(err)
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		got = append(got, strings.Join(names, " "))
	}
	if want := []string{"lock old-one", "lock old-one", "lock old-two"}; !slices.Equal(got, want) || len(f.packs()) != 2 {
		t.Errorf("%q, and %d packs", got, len(f.packs()))
	}
}

// TestADamagedPackIsMadeAgain changes a byte of it.
func TestADamagedPackIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/x > a.txt`\n", "mkdir cache && echo one > cache/x")
	for range 2 {
		if got := f.session(t.Context()); got.Class != schedule.Done {
			t.Fatalf("%+v", got)
		}
		text, err := os.ReadFile(f.packs()[0])
		f.check(err)
		text[len(text)-1] ^= 1
		writeFile(t, f.packs()[0], string(text))
		f.check(os.RemoveAll(f.path("root", issueName)))
	}
}

// TestWorkThatNeedsAnotherPreparationIsCheckedWithIt has the agent change what counts, with the
// tool and without.
func TestWorkThatNeedsAnotherPreparationIsCheckedWithIt(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"- [ ] Run `echo two > go.sum`\n": "two",
		"- [ ] Run `echo two > go.sum`\n- [ ] Call `setup` with `{}`\n- [ ] Run `grep two cache/lock`\n": "two",
		"- [ ] Run `echo bad > go.sum`\n": "",
	} {
		f := newPreparedFixture(t, agent, `grep -q bad go.sum && { echo no such module; exit 3; }; mkdir -p cache && cp go.sum cache/lock`)
		f.pushBase(map[string]string{"go.sum": "one\n"})
		f.job.Repository.Verify = []string{"cmp go.sum cache/lock"}
		got := f.session(t.Context())
		switch {
		case want != "" && (got.Class != schedule.Done || len(got.Warnings) > 0 || f.deliveries[0].Unproven):
			t.Errorf("%s: %+v", agent, got)
		case want == "" && (len(f.deliveries) == 0 || !f.deliveries[0].Unproven || !strings.Contains(f.deliveries[0].Receipt.Markdown(), "setup.run, which prepares it, failed: exit status 3")):
			t.Errorf("%s: %+v %+v", agent, got, f.deliveries)
		}
	}
}

// TestTheToolSetupSaysWhatFailed calls it on a tree that cannot be prepared.
func TestTheToolSetupSaysWhatFailed(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `echo bad > go.sum`\n- [ ] Call `setup` with `{}`\n", `if [ -e go.sum ]; then echo no such module; exit 3; fi`)
	f.session(t.Context())
	log := f.readLog()
	for _, want := range []string{"no such module", "setup.run failed: exit status 3"} {
		if !strings.Contains(log, want) {
			t.Errorf("the answer does not say %q", want)
		}
	}
}

// TestTrustedHooksRunInAPreparedWorkspace runs them outside of the sandbox.
func TestTrustedHooksRunInAPreparedWorkspace(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cat cache/x $TMPDIR/home/x cache/hook > a.txt`\n", "mkdir cache && echo one > cache/x && echo two > ~/x")
	f.job.Repository.TrustedHooks = true
	f.hooks.AfterCreate = "cp cache/x cache/hook"
	f.delivers()
	if text := f.git(f.origin, "show", f.branch.String()+":a.txt"); text != "one\ntwo\none" {
		t.Errorf("%q", text)
	}
}

// TestKeptFilesAreNotDelivered keeps a folder that git does not ignore.
func TestKeptFilesAreNotDelivered(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Run `cp vendor/x a.txt && test -z \"$(git status --porcelain vendor)\" && git add -A && git commit -qm one`\n", "mkdir -p vendor other && echo one | tee vendor/x > other/x; echo changed > README.md")
	f.job.Repository.Setup.Keep = []string{"vendor", "not/there"}
	got := f.session(t.Context())
	if got.Class != schedule.Done || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "setup.run has changed files that git tracks, and these changes are not kept: README.md") {
		t.Fatalf("%+v", got)
	}
	f.assertPublished("1", "a.txt")
}

// TestAStoppedPreparationLeavesNothing stops the session while the script runs.
func TestAStoppedPreparationLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newPreparedFixture(t, "- [ ] Say `hello`\n", "touch "+filepath.Join(t.TempDir(), "x")+"; exec sleep 1000")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	f.onUpdate = func(u Update) {
		if strings.Contains(u.Doing, "preparing the project") {
			cancel(schedule.StopError(schedule.DeadlineReached))
		}
	}
	got := f.session(ctx)
	if got.Class != schedule.Stopped || len(f.packs()) != 0 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the preparation of the project was not done when the session was stopped") {
		t.Errorf("%+v %q", got, f.packs())
	}
}
