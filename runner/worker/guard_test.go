package worker

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/internal/sshtest"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// withCodex has the real Codex work, whose model runs a command and then ends its turn.
func (f *fixture) withCodex(command string) *codextest.Model {
	f.t.Helper()
	arguments, err := json.Marshal(map[string]any{"cmd": command, "yield_time_ms": 30000})
	f.check(err)
	m := codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{
		{Items: []codextest.Item{codextest.Call{Name: "exec_command", Arguments: string(arguments)}}},
		{Items: []codextest.Item{codextest.Message{Text: "Done."}}},
	}})
	f.t.Cleanup(m.Close)
	f.job.Codex = codex.Config{Command: "exec " + shell.Word(codextest.Path(f.t)) + " app-server", Choice: codex.Choice{Model: "gpt-5.5"}}
	f.job.Account = attempt.Account{Key: "sk-the-key-of-the-model-0123", BaseURL: m.URL()}
	f.job.MaxTurns, f.job.Loopback = 1, true
	return m
}

// TestRaidOnAWorkerHost has the agent of the real Codex try, on a host with a real sshd, what it must not be
// able to do there. The session can work all the same, and its work is delivered.
func TestRaidOnAWorkerHost(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	host := n.Start(t, sshtest.Options{})
	f := newRepositoryFixture(t, "Look around.\n")
	home := host.Home
	raids := map[string]string{
		"an ssh key":                   "cat " + home + "/.ssh/id_ed25519",
		"the files of symphony":        "ls " + home + "/.local/state/symphony/*/",
		"the packs of another project": "cat " + home + "/.local/state/symphony/other/packs/pack-1.pack",
		"what codex.deny names":        "cat " + home + "/private/notes",
		"another workspace":            "cat " + home + "/work/ABC-2/secret.txt",
		"the key of the model":         "grep -ah sk-the-key-of-the-model /proc/*/environ /proc/*/cmdline " + home + "/.local/state -r",
		"the home":                     "touch " + home + "/planted",
		"the program":                  "touch " + home + "/.cache/symphony/bin/planted",
		"the model":                    "exec 3<>/dev/tcp/127.0.0.1/PORT",
		"the sshd":                     "exec 3<>/dev/tcp/127.0.0.1/" + host.Name[strings.LastIndexByte(host.Name, ':')+1:],
	}
	var script strings.Builder
	for name, raid := range raids {
		script.WriteString("if ( " + raid + " ) >/dev/null 2>&1; then echo RE''ACHED " + name + "; fi\n")
	}
	script.WriteString("echo worked > a.txt && echo the raid is over\n")
	m := f.withCodex("true")
	_, port, _ := strings.Cut(strings.TrimPrefix(m.URL(), "http://"), ":")
	port, _, _ = strings.Cut(port, "/")
	m = f.withCodex(strings.ReplaceAll(script.String(), "PORT", port))
	for name, text := range map[string]string{".ssh/id_ed25519": "a key", "private/notes": "private", "work/ABC-2/secret.txt": "secret", ".local/state/symphony/other/packs/pack-1.pack": "PACK"} {
		path := filepath.Join(home, name)
		f.check(os.MkdirAll(filepath.Dir(path), 0o700))
		f.check(os.WriteFile(path, []byte(text), 0o600))
	}
	f.overSSH(n, host)
	f.job.Codex.Deny = []string{"~/private"}
	got := f.run(t.Context())
	if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 {
		t.Fatalf("%+v\n%s", got, f.log.String())
	}
	seen := ""
	for _, request := range m.Requests() {
		seen += string(request.Body)
	}
	if strings.Count(seen, "the raid is over") < 2 { // the command, and its output
		t.Errorf("the raid was not made: %s", seen)
	}
	for name := range raids {
		if strings.Contains(seen, "REACHED "+name) {
			t.Errorf("the agent has reached %s", name)
		}
	}
	if f.git(f.origin, "show", f.branch.String()+":a.txt") != "worked" {
		t.Error("the work was not delivered")
	}
	if left := host.Left(); len(left) > 0 {
		t.Errorf("left on the host: %q", left)
	}
	if text := readAll(t, home+"/.local") + readAll(t, home+"/work"); strings.Contains(text, f.job.Account.Key) {
		t.Error("the key of the model is in a file of the host")
	}
}

// readAll returns the content of all files below a folder.
func readAll(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestAHostWithoutGitIsNotUsable(t *testing.T) {
	t.Parallel()
	f := newRepositoryFixture(t, "")
	bash, err := exec.LookPath("bash")
	f.check(err)
	f.programs = f.path("programs")
	f.check(os.Mkdir(f.programs, 0o700))
	f.check(os.Symlink(bash, filepath.Join(f.programs, "bash")))
	f.hosts.Trial = f.job
	if _, err := f.hosts.Test(t.Context(), "build1"); !errors.Is(err, git.ErrNoGit) || !strings.HasPrefix(err.Error(), "worker host build1: ") {
		t.Errorf("%v", err)
	}
}

func TestAHostIsTestedWithoutAnIssue(t *testing.T) {
	t.Parallel()
	n := sshtest.New(t)
	host := n.Start(t, sshtest.Options{})
	f := newFixture(t, "")
	f.withCodex("true")
	f.overSSH(n, host)
	f.hosts.Trial = f.job
	version, err := f.hosts.Test(t.Context(), host.Name)
	if err != nil || !strings.HasPrefix(version, "0.") {
		t.Errorf("%q (%v)", version, err)
	}
	f.hosts.Trial.Codex.Command = "no-such-codex app-server"
	if _, err := f.hosts.Test(t.Context(), host.Name); !is[*failure](err) || !strings.Contains(err.Error(), workspace.ErrNotFound.Error()) || !strings.Contains(err.Error(), host.Name) {
		t.Errorf("%v", err)
	}
	if left := host.Left(); len(left) > 0 {
		t.Errorf("left on the host: %q", left)
	}
}
