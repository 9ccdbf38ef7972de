package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// refused checks that a job ended with exit status 2 and one error, before
// anything was done.
func refused(t *testing.T, m *machine, o outcome, want string) {
	t.Helper()
	if o.code != 2 || o.status != "failure" {
		t.Errorf("exit status %d, the job ended with %s", o.code, o.status)
	}
	if len(o.errors) != 1 || !strings.Contains(o.errors[0], want) {
		t.Errorf("errors %q, want one with %q\n%s", o.errors, want, o.log)
	}
	if o.steps["Run"] != "skipped" || len(m.artifacts) > 0 || len(m.cache) > 0 {
		t.Errorf("steps %v, artifacts %v", o.steps, m.artifacts)
	}
	for _, issue := range []string{"EASY-1", "EASY-2"} {
		if !strings.Contains(m.read("issues/"+issue+".md"), "state: Todo") {
			t.Errorf("%s was worked on", issue)
		}
	}
}

func TestBadInputsEndTheActionBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	// What the Action can tell by itself, it refuses before it installs anything.
	const byAction, bySymphony = true, false
	cases := []struct {
		early      bool
		name, want string
		inputs     []string
	}{
		{byAction, "state", `"file:x"`, []string{"state", "file:x"}},
		{byAction, "state-branch-of-a-cache", "state-branch", []string{"state", "cache", "state-branch", "ours"}},
		{byAction, "state-branch-of-two-lines", "state-branch", []string{"state-branch", "a\nwork=true"}},
		{byAction, "dry-run", "dry-run", []string{"dry-run", "yes"}},
		{byAction, "dry-run-in-capitals", "dry-run", []string{"dry-run", "TRUE"}},
		{byAction, "cache-sessions", "cache-sessions", []string{"cache-sessions", "on"}},
		{byAction, "cache-workspaces", "cache-workspaces", []string{"cache-workspaces", "1"}},
		{byAction, "upload-logs", "upload-logs", []string{"upload-logs", "maybe"}},
		{byAction, "codex-version", "codex-version", []string{"codex-version", "latest"}},
		{byAction, "codex-version-of-two-lines", "codex-version", []string{"codex-version", "1.2.3\n--registry"}},
		{byAction, "workflow-outside", "workflow", []string{"workflow", "../WORKFLOW.md"}},
		{byAction, "workflow-pattern", "workflow", []string{"workflow", "a*/WORKFLOW.md"}},
		{byAction, "workflow-that-would-be-an-output", "workflow", []string{"workflow", "W\nstate=file:x"}},
		{byAction, "a-command-in-a-value", "::error::mine%0A", []string{"state", "\n::error::mine%0A"}},
		{bySymphony, "workflow-missing", "nothing.md", []string{"workflow", "nothing.md"}},
		{bySymphony, "workflow-like-a-flag", "--help", []string{"workflow", "--help"}},
		{bySymphony, "max-issues", "max-issues", []string{"max-issues", "many"}},
		{bySymphony, "max-issues-negative", "max-issues", []string{"max-issues", "-1"}},
		{bySymphony, "deadline", "deadline", []string{"deadline", "soon"}},
		{bySymphony, "fail-on", "fail-on", []string{"fail-on", "everything"}},
		{bySymphony, "state-branch", `"a..b"`, []string{"state-branch", "a..b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			hub := m.onHub()
			o := m.job(c.inputs...).perform()
			refused(t, m, o, c.want)
			if flag := regexp.MustCompile(`--(max-issues|deadline|fail-on|state)`).FindString(strings.Join(o.errors, "\n")); flag != "" {
				t.Errorf("the error speaks of %s, which is no input: %q", flag, o.errors)
			}
			if early := o.steps["Install symphony"] == "skipped"; early != c.early {
				t.Errorf("refused before anything was installed: %v", early)
			}
			if asked := hub.Log(); len(asked) > 0 {
				t.Errorf("requests: %v", asked)
			}
		})
	}
}

func TestARunnerThatLacksWhatIsNeededIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("windows", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.os = "Windows"
		o := m.job().perform()
		refused(t, m, o, "Windows")
		if o.steps["Install symphony"] != "skipped" {
			t.Error("it was installed first")
		}
	})
	t.Run("bash", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.only(posix...)
		refused(t, m, m.job().perform(), "No bash on this runner")
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.onHub()
		m.replace(mustJSON(t, m.agent()), "codex app-server")
		refused(t, m, m.job("openai-api-key", "sk-0123456789abcdefghij").perform(), "Codex cannot be installed")
		m.arch = "S390X"
		if code, said := m.installCodex("0.169.0"); code != 2 || !strings.HasPrefix(said, "::error title=No Codex for this runner::") {
			t.Errorf("exit status %d:\n%s", code, said)
		}
		m.only(append(posix, "bash", "touch", "mv", "sleep")...)
		m.arch = "X64"
		for _, registry := range []string{"", testRegistry} { // without curl, knowing it is of no use
			m.registry = registry
			if code, said := m.installCodex("0.169.0"); code != 2 || !strings.HasPrefix(said, "::error title=No npm on this runner::") {
				t.Errorf("exit status %d:\n%s", code, said)
			}
		}
	})
	t.Run("sudo", func(t *testing.T) {
		t.Parallel()
		kernel, m := newKernel(t)
		m.stub("sudo", "exit 1")
		code, said := m.runScript("namespaces.sh", nil, kernel)
		if code != 2 || !strings.HasPrefix(said, "::error title=") || !strings.Contains(said, "sudo") || strings.Count(said, "::error") != 1 {
			t.Errorf("exit status %d:\n%s", code, said)
		}
	})
}

func TestAPullRequestOfAForkIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.eventName = "pull_request_target"
	m.writeFile(m.event, `{"pull_request": {"head": {"repo": {"full_name": "mallory/state-keeper", "fork": true}}, "base": {"repo": {"full_name": "octo/state-keeper"}}}}`)
	refused(t, m, m.job().perform(), "fork")
}

// newKernel is a folder with the settings of a kernel that allows no user
// namespaces, and a machine whose user is not root.
func newKernel(t *testing.T) (string, *machine) {
	m := newMachine(t)
	kernel := t.TempDir()
	m.writeFile(filepath.Join(kernel, "apparmor_restrict_unprivileged_userns"), "1\n")
	m.writeFile(filepath.Join(kernel, "unprivileged_userns_clone"), "0\n")
	m.stub("id", "echo 1001")
	return kernel, m
}

func TestUserNamespacesAreSwitchedOnOnlyWhereTheyAreOff(t *testing.T) {
	t.Parallel()
	kernel, m := newKernel(t)
	m.stub("sudo", `echo "$*" >>"$HOME/sudo.log"; shift; exec "$@"`)
	for range 2 { // the second time, nothing is left to do
		if code, said := m.runScript("namespaces.sh", nil, kernel); code != 0 {
			t.Fatalf("exit status %d:\n%s", code, said)
		}
	}
	if got := m.logged("sudo.log"); strings.Count(got, "tee") != 2 {
		t.Errorf("sudo was asked for:\n%s", got)
	}
	for name, want := range map[string]string{"apparmor_restrict_unprivileged_userns": "0\n", "unprivileged_userns_clone": "1\n"} {
		if got, err := os.ReadFile(filepath.Join(kernel, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q %v", name, got, err)
		}
	}
	if code, said := m.runScript("namespaces.sh", nil, t.TempDir()); code != 0 || said != "" {
		t.Errorf("where there are no such settings: exit status %d:\n%s", code, said)
	}
}
