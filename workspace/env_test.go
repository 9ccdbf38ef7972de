package workspace

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAChildSeesThePlainVariablesAndTheNamedOnes(t *testing.T) {
	env := Env{
		Parent: []string{
			"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "OTHER=1", "NAMED=2", "NAMED2=3", "SSH_AUTH_SOCK=s",
			"CODEX_HOME=/c", "BASH_ENV=/evil", "LD_PRELOAD=/evil", "EMPTY=", "odd",
		},
	}
	want := []string{"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "NAMED=2", "EMPTY=", "SET=a=b"}
	if diff := cmp.Diff(want, env.forChild([]string{"NAMED", "EMPTY", "ABSENT", "SET=a=b"})); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAndTheActionsRuntimeAreKeptFromChildrenEvenWhenNamed(t *testing.T) {
	names := []string{"GITHUB_TOKEN", "GITHUB_ENV", "ACTIONS_RUNTIME_TOKEN", "INPUT_KEY", "RUNNER_TRACKING_ID", "SYMPHONY_SESSION", "LINEAR_API_KEY", "HTTP_PROXY"}
	env := Env{Deny: []string{"LINEAR_API_KEY", "HTTP_PROXY"}}
	extra := append([]string{"LINEAR_API_KEY=again"}, names...)
	for _, name := range names {
		env.Parent = append(env.Parent, name+"=secret")
	}
	if got := env.forChild(extra); len(got) != 0 {
		t.Errorf("children see %q", got)
	}
}

func TestALoginProfileCannotBringASecretBack(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, ".bash_profile"), "export TRACKER_KEY=s3cret GITHUB_TOKEN=s3cret ACTIONS_X=s3cret INPUT_Y=s3cret KEPT=kept\n")
	env := Env{Parent: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, Deny: []string{"TRACKER_KEY", "no name; exit 3"}}
	r, err := Open(Config{Root: filepath.Join(t.TempDir(), "root")}, env, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, lines := start(t, r, "env; echo end")
	var seen []string
	for lines.Scan() && lines.Text() != "end" {
		seen = append(seen, lines.Text())
	}
	all := strings.Join(seen, "\n")
	if !strings.Contains(all, "KEPT=kept") || strings.Contains(all, "s3cret") {
		t.Errorf("the agent sees\n%s", all)
	}
}

// TestOurPathComesBeforeThatOfALoginProfile has a profile that sets PATH, as Debian's does, and
// one that adds to it.
func TestOurPathComesBeforeThatOfALoginProfile(t *testing.T) {
	t.Parallel()
	ours := "/it's/mine:" + os.Getenv("PATH")
	for profile, want := range map[string]string{
		"PATH=/of/profile:/usr/bin:/bin\n": ours + ":/of/profile:/usr/bin:/bin",
		"PATH=$PATH:/of/profile\n":         ours + ":/of/profile",
		"unset PATH\n":                     ours,
	} {
		home := t.TempDir()
		write(t, filepath.Join(home, ".bash_profile"), "PATH='"+strings.ReplaceAll(ours, "'", `'\''`)+"'\n"+profile)
		r, err := Open(Config{Root: filepath.Join(t.TempDir(), "root")}, Env{Parent: []string{"PATH=" + ours, "HOME=" + home}}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got := agentOutput(t, r, `echo "$PATH"`); got != want {
			t.Errorf("%s: PATH is %q, want %q", profile, got, want)
		}
	}
}

func TestTheShellStillBecomesTheAgentAndKeepsItsExitStatus(t *testing.T) {
	t.Parallel()
	r := open(t, Hooks{})
	p, lines := start(t, r, `exec bash -c 'echo $$; exit 7'`)
	if pid := readPID(t, lines); pid != p.PID() {
		t.Errorf("the agent is process %d, and the leader %d", pid, p.PID())
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("it ended with %v", err)
	}
}

// TestTheReadmeOfWorkflowsNamesWhatHooksSee compares the variables that every
// child sees with the document for authors of WORKFLOW.md.
func TestTheReadmeOfWorkflowsNamesWhatHooksSee(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "runner", "workflow", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"SYMPHONY_ISSUE_ID", "SYMPHONY_ISSUE_IDENTIFIER", "SYMPHONY_ATTEMPT"}, alwaysPassed...) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("runner/workflow/README.md does not name %s", name)
		}
	}
}

func TestEachVariableThatHooksDoNotSeeIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	env := Env{Parent: []string{"HOME=/home/x", "OTHER=1", "SHOP=1", "BOTH=1"}, Deny: []string{"SHOP"}}
	names := []string{"HOME", "SHOP", "UNSET", "OTHER", "BOTH"}
	const never = "hooks.env names SHOP, which is never passed on: remove it, or give what it holds a name of its own, such as REPO_TOKEN for a token"
	const unset = "hooks.env names UNSET, which is not set or empty: set it where symphony runs, or remove it from the list"
	const alone = "hooks.env names OTHER, which hooks will not see: they run in the agent's sandbox, and codex.env does not name it; add it to codex.env, so that the agent sees it too, or remove it from hooks.env"
	if diff := cmp.Diff([]string{never, unset, alone}, env.MissingInSandbox(names, []string{"BOTH"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{never, unset}, env.Missing("hooks.env", names)); diff != "" {
		t.Error(diff)
	}
}
