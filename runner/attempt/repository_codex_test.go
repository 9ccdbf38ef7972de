package attempt

import (
	"errors"
	"fmt"
	"maps"
	"os"
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
	for name, login := range map[string]func(*fixture, *codextest.Model){
		"in a home of its own":          nil,
		"in the user's home":            (*fixture).inUsersHome,
		"in a server that runs already": func(f *fixture, m *codextest.Model) { f.onServer(m) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := []codextest.Reply{
				runs(t, "cat prepared && echo one > a.txt && git add a.txt && git commit -qm one && echo two > b.txt; "+
					"(setsid sh -c 'while :; do git commit -q --allow-empty -m again; sleep 0.1; done' >/dev/null 2>&1 &); echo the command ran"),
				calls(t, "deliver", map[string]string{"title": "Add a and b", "body": "They are there."}),
				runs(t, "echo three > c.txt"), done,
			}
			f := newCodexRepository(t, nil, replies...)
			f.job.Denied.Paths = []string{f.path("home/.codex")} // as every list of credentials has it
			if login != nil {
				m := codextest.NewModel(codextest.Lane{Replies: replies})
				t.Cleanup(m.Close)
				login(f.fixture, m)
			}
			f.job.Repository.Hooks.AfterCreate = "echo prepared > prepared; echo /prepared >> .git/info/exclude; cat ../../stores/*/lock >&2 && exit 1; true"
			f.job.Repository.Verify = []string{"test -e a.txt && test -e prepared && touch x $TMPDIR/x && ! cat " + f.inWorkspace("a.txt")}
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
				t.Fatalf("%+v", got)
			}
			f.assertPublished("2", "a.txt", "b.txt", "c.txt")
			if log := f.readLog(); !strings.Contains(log, "the command ran") || strings.Contains(log, "deltaBase64") {
				t.Error("the event log tells of no command, or holds the pack with the work")
			}
			if len(f.deliveries) != 2 || f.deliveries[1].Title != "Add a and b" || checked(f.deliveries[1]) != passed {
				t.Errorf("%+v", f.deliveries)
			}
		})
	}
}

// Codex's sandbox keeps the folders of its settings read-only, also for the checkout. The
// workspace does not have them, also when it is kept with work that could not be published, and
// what is published does. An agent that commits changes there nevertheless publishes them for the
// policy to see.
func TestCodexWorksInARepositoryThatHasItsSettings(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".agents/skills/x/SKILL.md": "skill", ".aws/config": "aws", ".codex/config.toml": "# codex", "app/x": "x", "lib/x": "x",
	}
	for name, test := range map[string]struct {
		paths   []string
		link    bool // .agents is a link
		command string
		want    string // changes
	}{
		"all files and a link": {nil, true, "echo x > app/x && git commit -qam x && git stash -q && git merge -q --no-edit origin/main", "A\ta.txt\nM\tapp/x"},
		"some files":           {[]string{".codex", "app"}, true, "test ! -e lib", "A\ta.txt"},
		"a commit of them":     {nil, false, "git update-index --cacheinfo 100644,$(git rev-parse :app/x),.codex/config.toml && git commit -qm x", "M\t.codex/config.toml\nA\ta.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const look = "test -z \"$(git status --porcelain)\" && git ls-files --error-unmatch .codex/config.toml && "
			of := maps.Clone(files)
			if test.link {
				delete(of, ".agents/skills/x/SKILL.md")
			}
			f := newCodexRepository(t, of, runs(t, look+test.command+" && echo one > a.txt; echo so far $?"), done, runs(t, look+"echo two > a.txt; echo again $?"), done)
			if test.link {
				f.check(os.Symlink("app", f.path("seed", ".agents")))
				f.pushBase(nil)
			}
			f.paths = test.paths
			failure := errors.New("the remote is away")
			f.deliver = func(Delivery) error { return failure }
			if got := f.session(t.Context()); got.Class != schedule.IssueFailed || !strings.Contains(got.Why, failure.Error()) {
				t.Errorf("%+v", got)
			}
			if log := f.readLog(); !strings.Contains(log, "so far 0") {
				t.Error("the agent could not work")
			}
			failure = nil
			f.delivers()
			if log := f.readLog(); !strings.Contains(log, "again 0") {
				t.Error("the agent could not work again")
			}
			if got := f.git(f.origin, "diff", "--name-status", "main", f.branch.String()); got != test.want {
				t.Errorf("published:\n%s", got)
			}
		})
	}
}

// What a hostile agent leaves inside Codex's sandbox neither stops the next session, which leaves
// something else, nor reaches anything outside.
func TestCodexWorksAgainAfterAHostileSession(t *testing.T) {
	t.Parallel()
	left := []string{
		"rm -f .git/HEAD; mkfifo .git/HEAD .git/index.lock pipe",
		"for n in FETCH_HEAD ORIG_HEAD packed-refs HEAD; do rm -f .git/$n; ln -s $OUTSIDE/file .git/$n; done; rm -rf .git/objects; ln -s $OUTSIDE .git/objects",
		"mv .git/HEAD .git/x; cp -r .git/refs .git/objects .; echo ref: refs/heads/main > HEAD; printf \"[core]\\n\\tbare=true\\n\\tfsmonitor=touch $OUTSIDE/ran\\n\" > config",
		"rm -rf .git 2>/dev/null; echo gitdir: $OUTSIDE > .git; true",
		"git add a.txt && git commit -qm one",
	}
	var replies []codextest.Reply
	for i, leave := range left {
		replies = append(replies, runs(t, fmt.Sprintf(". ./outside; git status --porcelain && test ! -e HEAD && echo one > a.txt; echo session %d works $?; %s", i, leave)), done)
	}
	f := newCodexRepository(t, nil, replies...)
	writeFile(t, f.path("outside", "file"), "mine")
	f.pushBase(map[string]string{"outside": "OUTSIDE=" + f.path("outside") + "\n"})
	for i := range left {
		got := f.session(t.Context()) // may fail: git may not be able to read what is left
		if log := f.readLog(); !strings.Contains(log, fmt.Sprintf("session %d works 0", i)) {
			t.Fatalf("session %d does not work: %+v", i, got)
		}
		switch last := i == len(left)-1; {
		case last && (got.Class != schedule.Done || !got.Delivered):
			t.Errorf("%+v", got)
		case !last && f.isPublished():
			f.git(f.origin, "update-ref", "-d", "refs/heads/"+f.branch.String())
		}
	}
	if files, _ := f.published(); !slices.Contains(files, "a.txt") {
		t.Errorf("published: %v", files)
	}
	if files := filesBelow(t, f.path("outside")); len(files) != 1 || f.readText(f.path("outside", "file")) != "mine" {
		t.Errorf("outside: %v", files)
	}
}
