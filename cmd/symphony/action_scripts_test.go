package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/storetest"
)

var unescape = strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n")

// annotations returns the annotations of a kind in what a step printed, each as
// "title: message".
func annotations(kind, said string) []string {
	var all []string
	for _, parts := range regexp.MustCompile(`(?m)^::`+kind+`(?: title=([^:]*))?::(.*)$`).FindAllStringSubmatch(said, -1) {
		all = append(all, strings.TrimPrefix(unescape.Replace(parts[1]+": "+parts[2]), ": "))
	}
	return all
}

func TestBadInputsEndTheActionBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	// What the Action can tell by itself, it refuses before it installs anything.
	const byAction, bySymphony = 1, 2
	cases := []struct {
		steps      int // that are begun
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
		{bySymphony, "command", `the input command is "merge": write one of retry`, []string{"command", "merge", "issue", "EASY-1"}},
		{bySymphony, "command-of-two-lines", `"retry work=true"`, []string{"command", "retry\nwork=true", "issue", "EASY-1"}},
		{bySymphony, "command-without-issue", "without the input issue", []string{"command", "retry"}},
		{bySymphony, "state-branch", `"a..b"`, []string{"state-branch", "a..b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			hub := m.onHub()
			code, said, steps := m.checkAndPlan(c.inputs...)
			problems := annotations("error", said)
			if code != exitUsage || len(steps) != c.steps || len(problems) != 1 || !strings.Contains(problems[0], c.want) {
				t.Errorf("exit status %d of step %d, errors %q, want one of step %d with %q\n%s", code, len(steps), problems, c.steps, c.want, said)
			}
			if flag := regexp.MustCompile(`--(max-issues|deadline|fail-on|state)`).FindString(strings.Join(problems, "\n")); flag != "" {
				t.Errorf("the error speaks of %s, which is no input: %q", flag, problems)
			}
			if asked := hub.Log(); len(asked) > 0 {
				t.Errorf("requests: %v", asked)
			}
		})
	}
}

func TestARunnerThatLacksWhatIsNeededIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, m *machine, want string) {
		t.Helper()
		code, said, steps := m.checkAndPlan()
		if problems := annotations("error", said); code != exitUsage || len(steps) != 1 || len(problems) != 1 || !strings.Contains(problems[0], want) {
			t.Errorf("exit status %d of step %d, errors %q, want one with %q\n%s", code, len(steps), problems, want, said)
		}
	}
	t.Run("windows", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.os = "Windows"
		refused(t, m, "Windows")
	})
	t.Run("bash", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.only(posix...)
		refused(t, m, "No bash on this runner")
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.releases.change("-/codex-0.169.0-"+codexTarget()+".tgz", nil)
		if code, said := m.installCodex("0.169.0"); code != exitUsage || strings.Count(said, "::error title=Codex cannot be installed::") != 1 {
			t.Errorf("exit status %d:\n%s", code, said)
		}
		m.arch = "S390X"
		if code, said := m.installCodex("0.169.0"); code != exitUsage || !strings.HasPrefix(said, "::error title=No Codex for this runner::") {
			t.Errorf("exit status %d:\n%s", code, said)
		}
		m.only(append(posix, "bash", "touch", "mv", "sleep")...)
		m.arch = "X64"
		for _, registry := range []string{"", testRegistry} { // without curl, knowing it is of no use
			m.registry = registry
			if code, said := m.installCodex("0.169.0"); code != exitUsage || !strings.HasPrefix(said, "::error title=No npm on this runner::") {
				t.Errorf("exit status %d:\n%s", code, said)
			}
		}
	})
	t.Run("sudo", func(t *testing.T) {
		t.Parallel()
		kernel, m := newKernel(t)
		m.stub("sudo", "exit 1")
		code, said := m.runScript("namespaces.sh", nil, kernel)
		if code != exitUsage || !strings.HasPrefix(said, "::error title=") || !strings.Contains(said, "sudo") || strings.Count(said, "::error") != 1 {
			t.Errorf("exit status %d:\n%s", code, said)
		}
	})
}

// newKernel returns a folder with the settings of a kernel that allows no user
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

// The plan reads it in the event, or asks the API.
func TestThePlanSaysWhetherTheRepositoryIsPrivate(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"branch": "true", "cache": "unknown"} {
		m := newMachine(t)
		if state == "branch" {
			m.onHub()
		}
		m.writeFile(m.event, `{"schedule":"7 * * * *"}`)
		if code, said, steps := m.checkAndPlan("max-issues", "1", "state", state); code != 0 || steps[1]["private"] != want {
			t.Errorf("%s: exit status %d, outputs %q\n%s", state, code, steps, said)
		}
	}
}

func TestLogsAndSessionsOfAPublicRepositoryAreKeptOnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, c := range map[string]struct {
		private        string
		inputs         []string // of keep.sh, as an environment
		sessions, logs string
		texts          string
		warns          string // empty: of nothing
		notes          string
	}{
		"public":                 {"false", nil, "false", "false", "false", "", "This repository is public"},
		"public, on purpose":     {"false", []string{"UPLOAD_LOGS=true", "CACHE_SESSIONS=true"}, "true", "true", "true", "upload-logs, cache-sessions", ""},
		"public, half":           {"false", []string{"UPLOAD_LOGS=true"}, "false", "true", "true", "true all the same: upload-logs.", "cache-sessions"},
		"public, refused":        {"false", []string{"UPLOAD_LOGS=false", "CACHE_SESSIONS=false"}, "false", "false", "false", "", ""},
		"private":                {"true", nil, "true", "true", "true", "", ""},
		"private, refused":       {"true", []string{"UPLOAD_LOGS=false"}, "true", "false", "false", "", ""},
		"nobody says":            {"unknown", nil, "false", "false", "false", "", "It is not known whether this repository is public"},
		"workspaces, on purpose": {"false", []string{"CACHE_WORKSPACES=true"}, "false", "false", "false", "true all the same: cache-workspaces.", "This repository is public"},
	} {
		m.writeFile(filepath.Join(m.home, "output"), "")
		code, said := m.runScript("keep.sh", append([]string{"PRIVATE=" + c.private, "UPLOAD_LOGS=", "CACHE_SESSIONS=", "CACHE_WORKSPACES=false", "LOG_FOLDER=logs"}, c.inputs...))
		kept := readPairs(t, filepath.Join(m.home, "output"))
		if code != 0 || kept["sessions"] != c.sessions || kept["logs"] != c.logs || kept["texts"] != c.texts {
			t.Errorf("%s: exit status %d, kept %v, want sessions %s, logs %s and texts %s\n%s", name, code, kept, c.sessions, c.logs, c.texts, said)
		}
		for kind, want := range map[string]string{"warning": c.warns, "notice": c.notes} {
			got := annotations(kind, said)
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
				t.Errorf("%s: %ss: %q, want %q", name, kind, got, want)
			}
		}
	}
}

func TestLogsAreNotUploadedWhereTheServerTakesNone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.server = "https://git.example.org"
	m.writeFile(filepath.Join(m.home, "output"), "")
	code, said := m.runScript("keep.sh", []string{"PRIVATE=true", "UPLOAD_LOGS=true", "CACHE_SESSIONS=", "CACHE_WORKSPACES=false", "LOG_FOLDER=logs"})
	kept := readPairs(t, filepath.Join(m.home, "output"))
	if warned := annotations("warning", said); code != 0 || len(warned) != 1 || !strings.Contains(warned[0], "upload-logs is true") || kept["logs"] != "false" || kept["texts"] != "true" {
		t.Errorf("exit status %d:\n%s", code, said)
	}
}

func TestAPlanWithNothingToDoAsksLittle(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]struct {
		ops  []storetest.Op
		most int
	}{"branch": {[]storetest.Op{storetest.Repository, storetest.Ref, storetest.Contents}, 5}, "cache": {nil, 0}} {
		m := newMachine(t)
		hub := m.onHub()
		m.issues(nil)
		code, said, steps := m.checkAndPlan("state", state)
		if code != 0 || steps[1]["work"] != "false" {
			t.Fatalf("exit status %d:\n%s", code, said)
		}
		asked := 0
		for op, n := range hub.Asked() {
			asked += n
			if !slices.Contains(want.ops, op) {
				t.Errorf("%s: %d × %s", state, n, op)
			}
		}
		if asked > want.most {
			t.Errorf("%s: %d requests, want at most %d", state, asked, want.most)
		}
	}
}

func TestAnEmptyInputIsItsDefault(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	var inputs []string
	for name := range readManifest(t).Inputs {
		inputs = append(inputs, name, "")
	}
	code, said, steps := m.checkAndPlan(inputs...)
	if code != 0 || steps[1]["work"] != "true" || steps[0]["state"] != "branch:symphony-state" {
		t.Fatalf("exit status %d, outputs %v\n%s", code, steps, said)
	}
	script := readText(t, "../../.github/action/check.sh")
	for name, input := range readManifest(t).Inputs {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		found := regexp.MustCompile(`\$\{`+variable+`:-([^}]*)\}`).FindAllStringSubmatch(script, -1)
		for _, value := range found {
			if value[1] != input.Default && name != "state-branch" { // whose default the description names
				t.Errorf("check.sh takes %q for an empty %s, whose default is %q", value[1], name, input.Default)
			}
		}
		if len(found) == 0 && input.Default != "" && name != "github-token" {
			t.Errorf("check.sh has no default for %s", name)
		}
	}
}

func TestAReadOnlyTokenIsFoundByThePlan(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	hub.Deny("contents: write")
	code, said, _ := m.checkAndPlan()
	if problems := annotations("error", said); code != exitUsage || len(problems) != 1 || !strings.Contains(problems[0], "permissions: {contents: write}") {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	if code, said, steps := m.checkAndPlan("dry-run", "true"); code != 0 || steps[1]["work"] != "true" { // which needs to write nothing
		t.Errorf("exit status %d of a dry run:\n%s", code, said)
	}
	if n := hub.Asked()[storetest.Tree]; n != 1 {
		t.Errorf("%d trees were asked for, want that of the first plan", n)
	}
}

// TestAPlanLeavesWhatItSaysToItsRun also has the dry run of a user, which no run
// follows, say everything once.
func TestAPlanLeavesWhatItSaysToItsRun(t *testing.T) {
	t.Parallel()
	for dryRun, want := range map[string]int{"false": 0, "true": 1} {
		m := newMachine(t)
		m.onHub()
		m.replace("agent:", "agents: {}\nagent:") // a key that is not known
		m.writeFile(filepath.Join(m.home, "summary"), "")
		code, said, _ := m.checkAndPlan("dry-run", dryRun)
		n := strings.Count(strings.Join(annotations("warning", said), "\n"), "agents")
		if summary := m.logged("summary"); code != 0 || n != want || strings.Contains(summary, "Would start") != (want == 1) {
			t.Errorf("dry-run %s: exit status %d, %d warnings, summary:\n%s", dryRun, code, n, summary)
		}
	}
}

// A superuser needs no permissions, so the test looks at them as well.
func TestAFolderThatAnAgentLocksKeepsNoWorkspaceFromTheCache(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	root, kept := filepath.Join(m.home, "root"), filepath.Join(m.dir, ".symphony", "workspaces")
	env := []string{"KEPT=.symphony/workspaces", "ROOT=" + root}
	lock := func(folder string) (locked []string) {
		file := filepath.Join(folder, "A-1", "outer", "inner", "file")
		m.writeFile(file, "work")
		for path := file; path != folder; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			locked = append(locked, path)
		}
		return locked
	}
	lock(kept) // as the cache had it
	m.writeFile(filepath.Join(root, "A-2", "file"), "ours")
	if code, said := m.runScript("workspaces.sh", env, "restore"); code != 0 {
		t.Errorf("restore: exit status %d:\n%s", code, said)
	}
	if err := os.Symlink(m.home, filepath.Join(root, "A-2", "link")); err != nil {
		t.Fatal(err)
	}
	locked := lock(root)
	if code, said := m.runScript("workspaces.sh", env, "gather"); code != 0 {
		t.Errorf("gather: exit status %d:\n%s", code, said)
	}
	for _, path := range slices.Backward(locked) {
		info, err := os.Lstat(strings.Replace(path, root, kept, 1))
		if err != nil || info.Mode().Perm()&0o400 == 0 || info.IsDir() && info.Mode().Perm() != 0o700 {
			t.Errorf("the cache cannot read %s: %v, %v", path, info, err)
		}
	}
}

func TestAFileOfZerosWithoutEndKeepsOnlyItsOwnWorkspaceFromTheCache(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	kept := filepath.Join(m.dir, ".symphony", "workspaces")
	for name, root := range map[string]string{"beside the cache": filepath.Join(m.home, "root"), "in the cache": kept} {
		env := []string{"KEPT=.symphony/workspaces", "ROOT=" + root}
		small, large := filepath.Join(root, "A-1", "file"), filepath.Join(root, "A-2", "file")
		m.writeFile(small, "ours")
		m.writeFile(large, "")
		if err := os.Truncate(large, 20<<30); err != nil {
			t.Skip(err) // a file system without holes
		}
		code, said := m.runScript("workspaces.sh", env, "gather")
		if code != 0 || !strings.Contains(said, "::warning title=A workspace is not cached::The workspaces have more than 10 GB, that of A-2 20 GB") || !strings.HasSuffix(m.logged("output"), "there=true\n") {
			t.Errorf("%s: exit status %d:\n%s\n%s", name, code, said, m.logged("output"))
		}
		if readText(t, filepath.Join(kept, "A-1", "file")) != "ours" {
			t.Errorf("%s: the other workspace is not cached", name)
		}
		if _, err := os.Lstat(filepath.Join(kept, "A-2")); err == nil {
			t.Errorf("%s: the large workspace is cached", name)
		}
		if code, said := m.runScript("workspaces.sh", env, "return"); code != 0 || readText(t, small) != "ours" {
			t.Errorf("%s: exit status %d:\n%s", name, code, said)
		}
		if err := os.Remove(large); err != nil {
			t.Errorf("%s: the large workspace was not put back: %v", name, err)
		}
	}
}

func TestAWorkspaceThatAKilledJobSetAsideIsPutBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	root := filepath.Join(m.home, "root")
	m.writeFile(filepath.Join(root+".not-cached", "A-2", "file"), "large")
	m.write(".symphony/workspaces/A-1/file", "of the cache")
	code, said := m.runScript("workspaces.sh", []string{"KEPT=.symphony/workspaces", "ROOT=" + root}, "restore")
	if code != 0 || readText(t, filepath.Join(root, "A-2", "file")) != "large" {
		t.Errorf("exit status %d:\n%s", code, said)
	}
}

func TestWorkspacesThatAreThereAlreadyAreLeftAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	root := filepath.Join(m.home, "root")
	env := []string{"KEPT=.symphony/workspaces", "ROOT=" + root}
	m.writeFile(filepath.Join(root, "A-1", "file"), "ours")
	m.write(".symphony/workspaces/A-1/file", "of the cache")
	if code, said := m.runScript("workspaces.sh", env, "restore"); code != 0 || readText(t, filepath.Join(root, "A-1", "file")) != "ours" {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	for _, step := range []string{"gather", "return"} {
		if code, said := m.runScript("workspaces.sh", env, step); code != 0 {
			t.Errorf("%s: exit status %d:\n%s", step, code, said)
		}
	}
	if readText(t, filepath.Join(root, "A-1", "file")) != "ours" {
		t.Error("the workspaces were not put back")
	}
	code, said := m.runScript("workspaces.sh", []string{"KEPT=.symphony/workspaces", "ROOT=" + m.dir}, "gather")
	if code != exitUsage || !strings.Contains(said, "::error title=Workspaces cannot be cached::") {
		t.Errorf("a root around the checkout: exit status %d:\n%s", code, said)
	}
}
