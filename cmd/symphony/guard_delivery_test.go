package main

import (
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"path/filepath"

	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// These tests let hostile agents work on issues of a repository, let the whole program
// continue with what they leave, and look at the world outside: the refs of the remote,
// a folder of the user's files, processes, and where the token is. First they show that
// a host that runs git in the agent's folder falls for each trap.

// raid is a project whose issues are worked on in a repository at GitHub.
type raid struct {
	*project
	hub     *githubtest.GitHub
	token   string            // of the program; no agent has it
	refs    map[string]string // of the remote, before any agent worked
	outside []string          // the folder of the user, before
}

// newRaid returns a project with a repository that has main, branches of other people
// and a tag. The agent's command follows the line "command:". An agent finds
// INSIDE in its environment: where that is missing, a program of the host runs.
func newRaid(t *testing.T, settings, command string) *raid {
	t.Helper()
	token := "ghs_" + rand.Text() // which no process of another test has
	r := &raid{project: emptyProject(t), token: token, hub: githubtest.New(t, storetest.Config{Repo: "acme/shop", Token: token})}
	r.exe = program(t)
	files := map[string]string{
		"README.md": "hello\n", ".gitignore": "cache/\n", "src/main.go": "package main\n", "docs/ci.yml": "on: push\n", ".github/CODEOWNERS": "* @kim\n",
		".github/workflows/old.yml": "on: push\n", // which somebody removed because it was dangerous
	}
	r.hub.Commit("main", files)
	delete(files, ".github/workflows/old.yml")
	r.hub.Commit("main", files)
	main := r.hub.Head("main")
	for _, ref := range []string{"refs/heads/gh-pages", "refs/heads/symphony-state", "refs/heads/symphony/OTHER-1", "refs/heads/release/1", "refs/tags/v1"} {
		r.hub.Git("update-ref", ref, main)
	}
	r.write("outside/file", "mine\n")
	r.write("outside/folder/file", "mine\n")
	r.write(".gitconfig", gitConfig)
	r.write("ran.sh", ranScript)
	r.env = append(append(r.env, r.hub.Env()...), "GIT_CONFIG_NOSYSTEM=1", "CODEX_API_KEY=sk-a-key-of-the-provider")
	r.write("WORKFLOW.md", `---
tracker: {kind: file}
workspace: {root: workspaces}
repository: {url: `+r.hub.CloneURL()+`}
delivery: {kind: pull_request, hand_over: {state: Review}}
agent: {max_turns: 1, max_retry_backoff_ms: 1, max_concurrent_agents: 4, max_issues_per_tick: 100}
`+settings+`codex:
  command: `+mustJSON(t, command)+`
---
You are working on {{ issue.identifier }}: {{ issue.title }}.

{{ issue.description }}
`)
	r.refs, r.outside = r.allRefs(), snapshot(t, filepath.Join(r.dir, "outside"), nil)
	return r
}

// raider returns the command of the scripted agent, which marks its programs.
func raider(t *testing.T) string {
	t.Helper()
	program, _, _ := strings.Cut(scripted(t, ""), " --home")
	return "export INSIDE=1; " + program + ` --home "$CODEX_HOME"`
}

// allRefs returns the refs of the remote with their objects.
func (r *raid) allRefs() map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(r.hub.Git("for-each-ref", "--format=%(refname) %(objectname)")) {
		name, object, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = object
	}
	return refs
}

// assign gives an issue to the agents, with what they have to do in their first session
// and in those after it.
func (r *raid) assign(key string, scripts ...string) {
	text := "---\ntitle: " + key + "\nstate: Todo\n---\n"
	for i, script := range scripts {
		if i > 0 {
			text += "\n## Next turn\n\n"
		}
		text += "- [ ] Run:\n\n  ```\n  " + strings.ReplaceAll(script, "\n", "\n  ") + "\n  ```\n"
	}
	r.write("issues/"+key+".md", text)
}

// tick lets the program make one tick, as soon as all issues are due.
func (r *raid) tick(t *testing.T) result {
	t.Helper()
	if _, err := os.Stat(filepath.Join(r.dir, ".symphony", "state.json")); err == nil {
		waitFor(t, "the issues to fall due", func() bool {
			for _, c := range r.claims() {
				if c.Phase == schedule.Waiting && time.Now().Before(c.Due) {
					return false
				}
			}
			return true
		})
	}
	return r.ok("--once", "--logs", "logs")
}

// intact fails the test unless the world outside is as it was, except for the branches of
// these issues.
func (r *raid) intact(t *testing.T, after string, keys ...string) {
	t.Helper()
	refs := r.allRefs()
	for _, key := range keys {
		delete(refs, "refs/heads/symphony/"+key)
	}
	if diff := cmp.Diff(r.refs, refs); diff != "" {
		t.Errorf("after %s the remote has other refs (-before +after):\n%s", after, diff)
	}
	if diff := cmp.Diff(r.outside, snapshot(t, filepath.Join(r.dir, "outside"), nil)); diff != "" {
		t.Errorf("after %s the files outside are others (-before +after):\n%s", after, diff)
	}
	seen := map[string]bool{}
	look(r.dir, r.token, 0, seen)
	if len(seen) > 0 {
		t.Errorf("after %s the token is in %v", after, slices.Sorted(maps.Keys(seen)))
	}
	r.noProcessLeft()
}

// published returns the files on the branch of an issue that differ from main; none if
// the branch does not exist.
func (r *raid) published(key string) []string {
	branch := "symphony/" + key
	if r.hub.Head(branch) == "" {
		return nil
	}
	return strings.Fields(r.hub.Git("diff", "--name-only", "--no-renames", "main", branch))
}

// trap is what an agent leaves in its workspace. OUTSIDE is the folder of the user, and
// RAN a command that shows whether a program of the host runs it.
type trap struct {
	leave string
	naive bool   // whether a naive host falls for it
	pipe  string // in the workspace, for which a naive host waits; empty for none
}

// script returns what the agent does. OUTSIDE stays.
func (t trap) script() string { return strings.ReplaceAll(t.leave, "RAN", "sh OUTSIDE/../ran.sh") }

// ranScript leaves a file outside if a program of the host runs it.
const ranScript = "test -n \"$INSIDE\" || touch \"$(dirname \"$0\")/outside/ran\"\n"

// gitConfig is the user's configuration of git.
const gitConfig = "[user]\n\tname = a\n\temail = a@b\n"

// naiveHost does what hooks did before the program made the workspaces itself: it clones
// the repository, lets an agent work there, and takes the work out with git in that
// folder. It returns what the agent reached beyond its branch.
func (r *raid) naiveHost(t *testing.T, trap trap) (reached string) {
	t.Helper()
	dir := t.TempDir()
	origin, outside, folder := filepath.Join(dir, "origin.git"), filepath.Join(dir, "outside"), filepath.Join(dir, "workspace")
	if err := os.CopyFS(outside, os.DirFS(filepath.Join(r.dir, "outside"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".gitconfig": gitConfig, "ran.sh": ranScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "clone", "-q", "--mirror", r.hub.GitDir(), origin)
	runGit(t, dir, "clone", "-q", origin, folder)
	runGit(t, folder, "switch", "-q", "-c", "symphony/A-1")
	start := func(script string, env ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
		cmd.Dir = folder
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+dir, "GIT_CONFIG_NOSYSTEM=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	world := func() (all []string) {
		for line := range strings.Lines(runGit(t, origin, "for-each-ref", "--format=%(refname) %(objectname)")) {
			if !strings.HasPrefix(line, "refs/heads/symphony/A-1 ") {
				all = append(all, line)
			}
		}
		return append(all, snapshot(t, outside, nil)...)
	}
	_ = start(strings.ReplaceAll(trap.script(), "OUTSIDE", outside), "INSIDE=1").Wait() // what it left is looked at
	before := world()
	host := start(naiveHooks)
	if trap.pipe != "" {
		waitFor(t, "git to open the pipe", func() bool {
			end, err := os.OpenFile(filepath.Join(folder, trap.pipe), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				return false
			}
			reached = "it waits for the pipe"
			_ = syscall.Kill(-host.Process.Pid, syscall.SIGKILL)
			_ = end.Close()
			return true
		})
	}
	_ = host.Wait() // a hook that fails is what some traps want
	return reached + cmp.Diff(before, world())
}

// naiveHooks are hooks of a host that trusts the folder.
const naiveHooks = `
git fetch -q origin
git add -A && git commit -q -m Work
git push -q origin refs/heads/symphony/A-1
git push -q origin HEAD
git worktree prune --expire=now
true`

// outputOf returns what a program printed; empty if it failed.
func outputOf(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
