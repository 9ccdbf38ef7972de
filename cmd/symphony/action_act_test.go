package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// symphonyWorkflow is the workflow of a user, besides the last step, which keeps
// the outputs for the test.
const symphonyWorkflow = `on: schedule
concurrency: symphony
jobs:
  tick:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v7
      - id: symphony
        uses: symphony-runner/symphony@v1
        with:
          state: cache
          max-issues: 1
      - if: always()
        run: echo "$OUTPUTS" >"$KEEP"
        env:
          OUTPUTS: ${{ steps.symphony.outputs.work }} ${{ steps.symphony.outputs.dispatched }} ${{ steps.symphony.outputs.completed }} ${{ steps.symphony.outputs.parked }}
`

// TestAnotherRunnerRunsTheActionTwice lets act, which reads action.yml with code of
// its own, do what the driver does elsewhere: so the driver is not the only witness.
func TestAnotherRunnerRunsTheActionTwice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.actRuns(symphonyWorkflow, "true 1 0 1\n", "true 1 1 1\n")
}

// TestTheSampleRunOfTheReadmeRuns copies the workflow as a user does. The second
// run has the issues as they were, for act checks them out anew, and what is parked.
func TestTheSampleRunOfTheReadmeRuns(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	_, keep, _ := strings.Cut(symphonyWorkflow, "      - if: always()")
	text := strings.Replace(readText(t, samplePath("github.yml")), "- "+ownUse, "- id: symphony\n        "+ownUse, 1)
	m.actRuns(text+"      - if: always()"+keep, "true 2 1 1\n", "true 1 1 1\n")
	if page, _ := m.hub.File("symphony-state", "README.md"); !strings.Contains(page, "is kept between runs") {
		t.Errorf("the state branch has the page:\n%s", page)
	}
}

// actRuns lets act run a workflow in the checkout, once for each of the outputs
// that are wanted of it.
func (m *machine) actRuns(workflow string, wanted ...string) {
	t := m.t
	t.Helper()
	act := os.Getenv("SYMPHONY_TEST_ACT")
	if act == "" {
		t.Skip("no act: go install github.com/nektos/act@v0.2.89, and set SYMPHONY_TEST_ACT to its absolute path")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node, which the stand-ins for GitHub's actions are written for")
	}
	m.ownCopy()
	m.write(workflowFile, workflow)
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "."},
		{"-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "--quiet", "--message", "All"},
		{"remote", "add", "origin", "https://github.com/" + m.repository}} {
		if out, err := m.program("git", append([]string{"-C", m.dir}, args...)...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	keep, store := filepath.Join(m.home, "outputs"), filepath.Join(m.home, "store")
	m.writeFile(filepath.Join(m.home, "act", "actrc"), "") // else it asks which image to take
	shims, err := filepath.Abs(filepath.Join("testdata", "action", "act"))
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range wanted {
		args := []string{"schedule", "-P", "ubuntu-latest=-self-hosted", "-P", "ubuntu-24.04=-self-hosted",
			"--cache-server-path", filepath.Join(m.home, "cache-server"), "--cache-server-addr", "127.0.0.1", "--artifact-server-addr", "127.0.0.1",
			"--action-cache-path", filepath.Join(m.home, "actions"),
			"--local-repository", "symphony-runner/symphony@v1=" + m.action,
			"-s", "GITHUB_TOKEN=" + m.token,
			"--env", "GITHUB_API_URL=" + m.api,
			"--env", "GITHUB_RUN_ID=10" + string(rune('1'+run)), "--env", "GITHUB_RUN_ATTEMPT=1",
			"--env", "NPM_CONFIG_REGISTRY=" + m.registry, "--env", "ACT_STORE=" + store, "--env", "KEEP=" + keep}
		for name, folder := range map[string]string{"actions/cache": ".", "actions/setup-go": ".", "actions/upload-artifact": "upload"} {
			args = append(args, "--local-repository", pinned(t, name)+"="+filepath.Join(shims, folder))
		}
		cmd := exec.CommandContext(t.Context(), act, args...)
		cmd.Dir = m.dir
		cmd.Env = []string{"PATH=" + m.path, "HOME=" + m.home, "XDG_CONFIG_HOME=" + m.home, "XDG_CACHE_HOME=" + filepath.Join(m.home, "xdg-cache"), "TMPDIR=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("run %d: %v\n%s", run+1, err, out)
		}
		if got := readText(t, keep); got != want {
			t.Fatalf("run %d: outputs %q, want %q\n%s", run+1, got, want, out)
		}
	}
}

// pinned is the repository of an action at the commit that action.yml names.
func pinned(t testing.TB, name string) string {
	t.Helper()
	for _, s := range readManifest(t).Runs.Steps {
		if action, commit, _ := strings.Cut(s.Uses, "@"); action == name || strings.HasPrefix(action, name+"/") {
			return name + "@" + commit
		}
	}
	t.Fatalf("action.yml does not use %s", name)
	return ""
}
