package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// filesBelow returns the paths of the files below a folder.
func filesBelow(t testing.TB, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheRolloutOfTheThreadIsKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const kept = "sessions/2026/11/21/rollout-2026-11-21T12-00-00-thread-1.jsonl"
	for _, name := range []string{kept, "sessions/2026/11/21/rollout-2026-11-21T12-00-00-thread-2.jsonl", "config.toml", "auth.json", "state_5.sqlite",
		"rules/default.rules", "sessionsold/rollout-thread-1.jsonl"} {
		writeFile(t, filepath.Join(home, name), "x")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(home, "sessions", "link-thread-1.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := cleanHome(home, "thread-1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{kept}, filesBelow(t, home)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Truncate(filepath.Join(home, kept), MaxRollout+1); err != nil {
		t.Fatal(err)
	}
	if err := cleanHome(home, "thread-1"); err != nil {
		t.Fatal(err)
	}
	if left := filesBelow(t, home); len(left) != 0 {
		t.Errorf("a rollout that is too long is kept: %v", left)
	}
}

func TestForgetRemovesWhatOneIssueLeft(t *testing.T) {
	t.Parallel()
	sessionDir := t.TempDir()
	for _, name := range []string{"home/A-1/sessions/x", "tmp/A-1/x/y", "home/A-2/x"} {
		writeFile(t, filepath.Join(sessionDir, name), "x")
	}
	if err := os.Chmod(filepath.Join(sessionDir, "tmp/A-1/x"), 0o500); err != nil { // as Go module caches are
		t.Fatal(err)
	}
	for range 2 {
		if err := Forget(sessionDir, "A-1"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"home/A-2/x"}, filesBelow(t, sessionDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForgetUnusedKeepsWhatIsUsedOrNew(t *testing.T) {
	t.Parallel()
	sessionDir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"home/used/sessions/x": 48 * time.Hour, "home/unused/sessions/x": 48 * time.Hour, "tmp/unused/x/y": 48 * time.Hour,
		"home/running/sessions/x": time.Hour, "tmp/running/x": time.Hour,
	} {
		path := filepath.Join(sessionDir, name)
		writeFile(t, path, "x")
		for ; path != sessionDir; path = filepath.Dir(path) {
			if err := os.Chtimes(path, time.Time{}, now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(filepath.Join(sessionDir, "tmp/unused/x"), 0o500); err != nil {
		t.Fatal(err)
	}
	used := func(key string) bool { return key == "used" }
	for range 2 {
		if err := ForgetUnused(sessionDir, used, now.Add(-24*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"home/running/sessions/x", "home/used/sessions/x", "tmp/running/x"}, filesBelow(t, sessionDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := ForgetUnused(filepath.Join(sessionDir, "none"), used, now); err != nil {
		t.Errorf("without a folder: %v", err)
	}
}

func TestASessionLeavesNoTemporaryFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "- [ ] Run `echo x > made`")
	f.job.SessionDir = f.path("private")
	if got := f.run(t.Context()); got.Class != schedule.Done {
		t.Fatalf("%+v", got)
	}
	if left := filesBelow(t, f.job.SessionDir); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestAKeyWithoutAFolderIsNotUsed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.job.Account.Key = "sk-secret"
	if got := f.run(t.Context()); got.Class != schedule.IssueFailed || len(f.wire()) > 0 {
		t.Errorf("%+v", got)
	}
}

// newCodexFixture returns a fixture with the real Codex, a key, and a model that
// runs a command in each session.
func newCodexFixture(t testing.TB, lanes ...codextest.Lane) (*fixture, *codextest.Model) {
	t.Helper()
	path := os.Getenv("SYMPHONY_TEST_CODEX")
	if path == "" {
		found, err := exec.LookPath("codex")
		if err != nil {
			t.Skip("no codex: npm install @openai/codex@0.169.0 and set SYMPHONY_TEST_CODEX to its absolute path")
		}
		path = found
	}
	command, err := json.Marshal(map[string]string{"cmd": "env; echo the command ran"})
	if err != nil {
		t.Fatal(err)
	}
	run := codextest.Reply{Items: []codextest.Item{codextest.Call{Name: "exec_command", Arguments: string(command)}}}
	done := codextest.Reply{Items: []codextest.Item{codextest.Message{Text: "Done."}}}
	m := codextest.NewModel(append(lanes, codextest.Lane{Replies: []codextest.Reply{run, done}, Loop: true})...)
	t.Cleanup(m.Close)
	f := newFixture(t, "")
	f.job.Codex = codex.Config{Command: "exec " + quote(path) + " app-server", Choice: codex.Choice{Model: "gpt-5.5"}}
	f.job.SessionDir, f.job.Account = f.path("private"), Account{Key: "sk-this-is-the-key", BaseURL: m.URL()}
	f.job.Loopback = runtime.GOOS == "linux"
	f.job.Lookup = func(name string) (string, bool) { return f.path("home"), name == "HOME" }
	return f, m
}

// TestTheKeyReachesTheModelAndNothingElse resumes the thread of its first session on another machine.
func TestTheKeyReachesTheModelAndNothingElse(t *testing.T) {
	t.Parallel()
	f, m := newCodexFixture(t)
	found := map[string]bool{}
	look := func() {
		filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(f.job.Account.Key)) {
					found[path] = true
				}
			}
			return nil // files appear and vanish during the walk
		})
	}
	f.onUpdate = func(Update) { look() }
	first := f.run(t.Context())
	if first.Class != schedule.Done || first.Thread == "" {
		t.Fatalf("%+v\n%s", first, f.readLog())
	}
	home := filepath.Join(f.job.SessionDir, "home", issueName)
	if left := filesBelow(t, home); len(left) != 1 || !strings.HasSuffix(left[0], first.Thread+".jsonl") {
		t.Errorf("the home holds %v", left)
	}
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home: %v, %v", info.Mode(), err)
	}

	// What another machine gets of a home is the rollout alone, under a name of ours.
	rollout, err := OpenRollout(f.job.SessionDir, f.job.Issue.Identifier, first.Thread)
	if err != nil {
		t.Fatal(err)
	}
	defer rollout.Close()
	f.job.SessionDir = f.path("another-machine")
	if err := PlaceRollout(f.job.SessionDir, f.job.Issue.Identifier, first.Thread, rollout); err != nil {
		t.Fatal(err)
	}
	f.job.Thread, f.job.Attempt = first.Thread, 1
	if second := f.run(t.Context()); second.Class != schedule.Done || second.Thread != first.Thread {
		t.Errorf("not resumed: %+v", second)
	}
	if last := m.Requests()[len(m.Requests())-1]; !strings.Contains(string(last.Body), "the command ran") {
		t.Error("the model is not told of the first session")
	}
	look()
	if len(found) > 0 || strings.Contains(f.log.bytes.String(), f.job.Account.Key) {
		t.Errorf("the key is in %v, or in the log", found)
	}
	if text := f.readLog(); !strings.Contains(text, "the command ran") || !strings.Contains(text, "[key]") {
		t.Error("the event log does not tell of the command, or of the login")
	}
	for _, r := range m.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+f.job.Account.Key {
			t.Errorf("a request with %q", got)
		}
	}
}

// TestCodexRunsProgramsOfTheHostAlsoWithAnOldBubblewrap lets the real Codex find a bubblewrap that
// cannot start the sandbox of the turns, which the preflight without our help shows.
func TestCodexRunsProgramsOfTheHostAlsoWithAnOldBubblewrap(t *testing.T) {
	t.Parallel()
	for name, withKey := range map[string]bool{"in a home of its own": true, "in the user's home": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, m := newCodexFixture(t)
			if err := os.WriteFile(f.path("home/.profile"), []byte("PATH="+quote(codextest.OldBubblewrap(t))+`:"$PATH"`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if !withKey {
				f.inUsersHome(m)
			}
			f.job.Denied.Paths = []string{f.path("home/.codex"), f.path("home/it's later")}
			f.openWorkspaces()
			f.job.Preflight = NewPreflightOnce()
			if got := f.run(t.Context()); got.Class != schedule.Done || got.Turns != 1 {
				t.Errorf("%+v\n%s", got, f.readLog())
			}
			if log := f.readLog(); !strings.Contains(log, "the command ran") {
				t.Errorf("the agent's command did not run:\n%s", log)
			}
			f.job.Repository = &Repository{Deliver: func(context.Context, Delivery) (Delivered, error) { return Delivered{}, nil }}
			f.job.Issue.ID, f.job.Issue.Identifier, f.job.EventLog = "preflight", "preflight", nil
			if _, err := preflight(t.Context(), f.job); err != nil {
				t.Error(err)
			}
			if text := f.readText(f.path("home/.codex/config.toml")); strings.Contains(text, "permissions") {
				t.Errorf("the user's own home was changed:\n%s", text)
			}
			command := f.job.Codex.Command
			f.job.Codex.Command = "PATH=${PATH#" + quote(f.path("private/bin/preflight")) + ":} " + command[len("exec "):]
			_, err := preflight(t.Context(), f.job)
			if !errors.Is(err, codex.ErrNoSandbox) || !strings.Contains(err.Error(), "the bubblewrap on the PATH is too old") {
				t.Errorf("without our help: %v, want %v", err, codex.ErrNoSandbox)
			}
			if f.job.Codex.Command = command + "; true"; !withKey {
				if _, err := preflight(t.Context(), f.job); !errors.Is(err, codex.ErrNoExec) {
					t.Errorf("%v, want %v", err, codex.ErrNoExec)
				}
			}
		})
	}
}

func TestPreflightPassesWithAKeyAndFailsWithoutALogin(t *testing.T) {
	t.Parallel()
	f, m := newCodexFixture(t)
	f.job.Issue.ID, f.job.Issue.Identifier = "preflight", "preflight"
	check := func() (string, error) {
		f.openWorkspaces()
		return preflight(t.Context(), f.job)
	}
	if version, err := check(); err != nil || version == "" {
		t.Errorf("with a key: %q, %v", version, err)
	}
	f.job.Codex.Model = "no-such-model"
	_, noModel := check()
	f.job.Account = Account{}
	_, noLogin := check() // an empty home folder is an empty Codex home
	for err, want := range map[error]error{noModel: codex.ErrNoModel, noLogin: codex.ErrNotLoggedIn} {
		if class, _ := classify(err); class != schedule.Systemic || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: %v", class, err)
		}
	}
	if n := len(m.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestTheSkillsThatThePromptNamesAreLookedFor(t *testing.T) {
	t.Parallel()
	f, m := newCodexFixture(t)
	f.hooks.AfterCreate = `mkdir -p .agents/skills/deploy && printf -- '---\nname: deploy\ndescription: Deploys.\n---\nDo it.\n' > .agents/skills/deploy/SKILL.md`
	f.job.Prompt, f.job.Preflight = "Use $deploy, and then $no-such-skill.", NewPreflightOnce()
	if got := f.run(t.Context()); got.Class != schedule.Done {
		t.Fatalf("%+v", got)
	}
	var got []string
	for _, u := range f.updates {
		got = append(got, u.Warnings...)
	}
	if len(got) != 1 || !strings.Contains(got[0], "$no-such-skill:") || !strings.Contains(got[0], "it has deploy,") {
		t.Errorf("warned of %q", got)
	}
	if prompt := string(m.Requests()[0].Body); !strings.Contains(prompt, "Do it.") {
		t.Error("the skill that is there is not told to the model")
	}
	var told []string
	f.job.Warn = func(text string) { told = append(told, text) }
	if _, err := preflight(t.Context(), f.job); err != nil || len(told) != 1 {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestPreflightOfAScriptedAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.openWorkspaces()
	if version, err := preflight(t.Context(), f.job); err != nil || version != "0.169.0" {
		t.Errorf("%q, %v", version, err)
	}
	f.job.Codex.Command = "no-such-codex"
	if _, err := preflight(t.Context(), f.job); err == nil || !strings.HasPrefix(err.Error(), "codex_not_found: no-such-codex is not found where ") || strings.Contains(err.Error(), "port_exit") || strings.Contains(err.Error(), "default_permissions") {
		t.Error(err)
	}
	for command, want := range map[string]string{
		"echo error: no subcommand app-server >&2; exit 2": `codex.command ended before its first answer, with exit status 2; its last output: "error: no subcommand app-server": let it start an app-server, as `,
		"echo not ready >&2": `codex.command ended before its first answer, with exit status 0; its last output: "not ready": let it start an app-server, as `,
		"true":               "codex.command ended before its first answer, with exit status 0: let it start an app-server, as ",
	} {
		f.job.Codex.Command = command
		if _, err := preflight(t.Context(), f.job); !errors.Is(err, codex.ErrPortExit) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}
