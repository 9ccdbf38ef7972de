package attempt

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// The real Codex commits, leaves files that are not committed and a program that commits
// for ever, publishes with the tool, and works on.
func TestCodexWorksInARepositoryOfTheHost(t *testing.T) {
	t.Parallel()
	for name, withKey := range map[string]bool{"in a home of its own": true, "in the user's home": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, m := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{
				calls(t, "exec_command", map[string]string{"cmd": "cat prepared && echo one > a.txt && git add a.txt && git commit -qm one && echo two > b.txt; " +
					"(setsid sh -c 'while :; do git commit -q --allow-empty -m again; sleep 0.1; done' >/dev/null 2>&1 &); echo the command ran"}),
				calls(t, "deliver", map[string]string{"title": "Add a and b", "body": "They are there."}),
				calls(t, "exec_command", map[string]string{"cmd": "echo three > c.txt"}),
				{Items: []codextest.Item{codextest.Message{Text: "Done."}}},
			}})
			f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return nil }}
			f.dir = realPath(t, f.dir)
			account := f.job.Account
			f.inRepository()
			f.job.Account = account
			f.job.Denied.Paths = []string{f.path("home/.codex")} // as every list of credentials has it
			if !withKey {
				f.job.Account = Account{}
				f.check(codextest.Home{URL: m.URL()}.Write(f.path("home/.codex")))
			}
			f.job.Repository.Hooks.AfterCreate = "echo prepared > prepared; echo /prepared >> .git/info/exclude; cat ../../stores/*/lock >&2 && exit 1; true"
			f.job.Repository.Verify = "test -e a.txt && test -e prepared && touch x $TMPDIR/x && ! cat " + f.inWorkspace("a.txt")
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
				t.Fatalf("%+v", got)
			}
			f.assertPublished("2", "a.txt", "b.txt", "c.txt")
			if log := f.readLog(); !strings.Contains(log, "the command ran") || strings.Contains(log, "deltaBase64") {
				t.Error("the event log tells of no command, or holds the pack with the work")
			}
			if len(f.deliveries) != 2 || f.deliveries[1].Title != "Add a and b" || f.deliveries[1].Tested != passed {
				t.Errorf("%+v", f.deliveries)
			}
		})
	}
}

// Codex's sandbox keeps the folders of its settings read-only, also for the checkout. The
// workspace does not have them, also when it is kept, and what is published does. An agent
// that commits changes there nevertheless publishes them for the policy to see.
func TestCodexWorksInARepositoryThatHasItsSettings(t *testing.T) {
	t.Parallel()
	settings := []string{".agents/skills/x/SKILL.md", ".aws/config", ".codex/config.toml"}
	for name, test := range map[string]struct {
		paths   []string
		link    bool // .agents is a link
		command string
		want    string // changes
	}{
		"all files":        {nil, false, "true", "A\ta.txt"},
		"a link":           {nil, true, "true", "A\ta.txt"},
		"some files":       {[]string{"app"}, false, "test ! -e lib", "A\ta.txt"},
		"such a folder":    {[]string{".codex", "app"}, true, "test ! -e lib", "A\ta.txt"},
		"commits":          {nil, false, "echo x > app/x && git commit -qam x && git stash -q && git merge -q --no-edit origin/main", "A\ta.txt\nM\tapp/x"},
		"a commit of them": {nil, false, "git update-index --cacheinfo 100644,$(git rev-parse :app/x),.codex/config.toml && git commit -qm x", "M\t.codex/config.toml\nA\ta.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := "test -z \"$(git status --porcelain)\" && git ls-files --error-unmatch " + settings[2] + " && "
			done := codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}}
			of, _ := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{
				calls(t, "exec_command", map[string]string{"cmd": look + test.command + " && echo one > a.txt; echo so far $?"}), done,
				calls(t, "exec_command", map[string]string{"cmd": look + "echo two > a.txt; echo again $?"}), done,
			}})
			f := &repositoryFixture{fixture: of, paths: test.paths}
			failure := errors.New("the remote is away")
			f.deliver = func(Delivery) error { return failure }
			f.dir = realPath(t, f.dir)
			for _, name := range append(settings, "app/x", "lib/x") {
				writeFile(t, f.path("seed", filepath.FromSlash(name)), name)
			}
			if test.link {
				f.check(os.RemoveAll(f.path("seed", ".agents")))
				f.check(os.Symlink("app", f.path("seed", ".agents")))
			}
			account := f.job.Account
			f.inRepository()
			f.job.Account = account
			if got := f.session(t.Context()); got.Class != schedule.IssueFailed || !strings.Contains(got.Why, failure.Error()) {
				t.Errorf("%+v", got)
			}
			if log := f.readLog(); !strings.Contains(log, "so far 0") {
				t.Error("the agent could not work")
			}
			failure = nil
			if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
				t.Errorf("%+v", got)
			}
			if log := f.readLog(); !strings.Contains(log, "again 0") {
				t.Error("the agent could not work again")
			}
			if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != test.want {
				t.Errorf("published:\n%s", got)
			}
		})
	}
}

// Work that could not be published is in the next session's workspace, committed or not.
func TestCodexContinuesWithTheWorkOfItsLastSession(t *testing.T) {
	t.Parallel()
	done := codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}}
	of, _ := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{
		calls(t, "exec_command", map[string]string{"cmd": "echo one > a.txt && git add a.txt && git commit -qm one && echo two > b.txt"}), done, done,
	}})
	failure := errors.New("the remote is away")
	f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return failure }}
	f.dir = realPath(t, f.dir)
	account := f.job.Account
	f.inRepository()
	f.job.Account = account
	f.session(t.Context())
	failure = nil
	if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
	f.assertPublished("1", "a.txt", "b.txt")
}

// What a hostile agent leaves inside Codex's sandbox neither stops the next session nor
// reaches anything outside.
func TestCodexWorksAgainAfterAHostileSession(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"pipes":         "rm -f .git/HEAD; mkfifo .git/HEAD .git/index.lock pipe",
		"links":         "for n in FETCH_HEAD ORIG_HEAD packed-refs HEAD; do rm -f .git/$n; ln -s OUTSIDE/file .git/$n; done; rm -rf .git/objects; ln -s OUTSIDE .git/objects",
		"a repository":  "mv .git/HEAD .git/x; cp -r .git/refs .git/objects .; echo ref: refs/heads/main > HEAD; printf '[core]\\n\\tbare=true\\n\\tfsmonitor=touch OUTSIDE/ran\\n' > config",
		"no repository": "rm -rf .git 2>/dev/null; echo gitdir: OUTSIDE > .git; true",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}}
			of, _ := newCodexFixture(t)
			f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return nil }}
			f.dir = realPath(t, f.dir)
			writeFile(t, f.path("outside", "file"), "mine")
			m := codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{
				calls(t, "exec_command", map[string]string{"cmd": "echo left > left.txt; " + strings.ReplaceAll(leave, "OUTSIDE", f.path("outside")) + "; echo hostile $?"}), done,
				calls(t, "exec_command", map[string]string{"cmd": "git status --porcelain && echo one > a.txt && git add a.txt && git commit -qm one && echo the second worked"}), done,
			}})
			t.Cleanup(m.Close)
			account := f.job.Account
			account.BaseURL = m.URL()
			f.inRepository()
			f.job.Account = account
			f.session(t.Context()) // may fail: git may not be able to read that
			if f.isPublished() {
				f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String())
			}
			if got := f.session(t.Context()); got.Class != schedule.Done || !got.Delivered {
				t.Errorf("%+v", got)
			}
			if log := f.readLog(); !strings.Contains(log, "hostile 0") || !strings.Contains(log, "the second worked") {
				t.Error("the commands did not run")
			}
			if files, _ := f.published(); !slices.Contains(files, "a.txt") {
				t.Errorf("published: %v", files)
			}
			if files := filesBelow(t, f.path("outside")); len(files) != 1 || f.readText(f.path("outside", "file")) != "mine" {
				t.Errorf("outside: %v", files)
			}
		})
	}
}

// calls returns a reply that calls a tool.
func calls[V any](t *testing.T, tool string, arguments map[string]V) codextest.Reply {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return codextest.Reply{Items: []codextest.Item{codextest.Call{Name: tool, Arguments: string(text)}}}
}
