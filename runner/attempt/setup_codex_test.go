package attempt

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/setup"
)

// newSetupFixture returns a fixture with the real Codex whose agent runs these commands, one in
// each session, and whose project is prepared by a script.
func newSetupFixture(t *testing.T, script string, commands ...string) *repositoryFixture {
	t.Helper()
	var replies []codextest.Reply
	for _, command := range commands {
		replies = append(replies, calls(t, "exec_command", map[string]string{"cmd": command}), codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}})
	}
	of, _ := newCodexFixture(t, codextest.Lane{Replies: replies})
	f := &repositoryFixture{fixture: of, deliver: func(Delivery) error { return nil }}
	f.dir = realPath(t, f.dir)
	writeFile(t, f.path("seed/package-lock.json"), "{}\n")
	account := f.job.Account
	f.inRepository()
	f.job.Account = account
	f.job.Repository.Setup = &Setup{Config: setup.Config{Run: script, Timeout: forever}, Preparations: NewPreparations(f.path("packs"))}
	return f
}

// packs returns the paths of the packs.
func (f *repositoryFixture) packs() []string {
	f.t.Helper()
	found, err := filepath.Glob(f.path("packs/*"))
	f.check(err)
	return found
}

// TestAProjectIsPreparedOnce prepares a project for two sessions in one workspace and a check of
// the work of each. The files are those of the script, in the place of each workspace.
func TestAProjectIsPreparedOnce(t *testing.T) {
	t.Parallel()
	const script = `test "$(git status --porcelain)" = "" && mkdir cache && date +%s%N > cache/when && printf '#!%s/cache/tool\n' "$PWD" > cache/script &&
ln -s "$PWD/cache/when" cache/link && echo warm > ~/warm && echo not kept > untracked`
	const look = `test "$(cat cache/script)" = "#!$PWD/cache/tool" && test "$(cat cache/link)" = "$(cat cache/when)" && test "$(cat ~/warm)" = warm && test ! -e untracked && test -z "$(git status --porcelain)"`
	f := newSetupFixture(t, script,
		look+` && cp cache/when when && echo changed > cache/when && echo cold > ~/warm && echo so far so good`,
		look+` && test "$(cat cache/when)" = changed && cp cache/when again && echo again so good`)
	f.job.Repository.Verify = look[:strings.Index(look, " && test -z")] + ` && test "$(cat cache/when)" = "$(cat when)"`
	for _, want := range []string{"so far so good", "again so good"} {
		got := f.session(t.Context())
		if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
			t.Fatalf("%+v", got)
		}
		if log := f.readLog(); !strings.Contains(log, want) {
			t.Errorf("the agent's command failed: %.3000s", log)
		}
	}
	f.assertPublished("2", "again", "package-lock.json", "when")
	if len(f.packs()) != 1 {
		t.Errorf("%q", f.packs())
	}
}
