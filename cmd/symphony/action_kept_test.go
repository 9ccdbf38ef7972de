package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

func TestLogsAndSessionsOfAPublicRepositoryAreKeptOnlyIfAskedFor(t *testing.T) {
	t.Parallel()
	const public, private, unsaid = `{"repository":{"private":false,"visibility":"public"}}`, `{"repository":{"private":true,"visibility":"internal"}}`, `{"schedule":"7 * * * *"}`
	const sessions, logs = "actions/cache/save", "actions/upload-artifact"
	for name, c := range map[string]struct {
		event  string
		hub    bool
		inputs []string
		uses   []string
		warns  string // empty: of nothing
		notes  string
	}{
		"public":                 {public, true, nil, nil, "", "This repository is public"},
		"public, on purpose":     {public, true, []string{"upload-logs", "true", "cache-sessions", "true"}, []string{sessions, logs}, "upload-logs, cache-sessions", ""},
		"public, half":           {public, true, []string{"upload-logs", "true"}, []string{logs}, "true all the same: upload-logs.", "cache-sessions"},
		"public, refused":        {public, true, []string{"upload-logs", "false", "cache-sessions", "false"}, nil, "", ""},
		"private":                {private, true, nil, []string{sessions, logs}, "", ""},
		"private, refused":       {private, true, []string{"upload-logs", "false"}, []string{sessions}, "", ""},
		"the API says private":   {unsaid, true, nil, []string{sessions, logs}, "", ""},
		"nobody says":            {unsaid, false, nil, nil, "", "It is not known whether this repository is public"},
		"workspaces, on purpose": {public, true, []string{"cache-workspaces", "true"}, []string{sessions}, "true all the same: cache-workspaces.", "This repository is public"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			inputs := append(slices.Clone(c.inputs), "max-issues", "1")
			if c.hub {
				m.onHub()
			} else {
				inputs = append(inputs, "state", "cache")
			}
			m.writeFile(m.event, c.event)
			o := m.job(inputs...).perform()
			o.want(t, "success", "dispatched", "1")
			var used []string
			for _, use := range m.uses {
				if use == logs || use == sessions && c.hub && !slices.Contains(used, sessions) {
					used = append(used, use)
				}
			}
			if !slices.Equal(used, c.uses) {
				t.Errorf("used %v, want %v", used, c.uses)
			}
			for _, said := range []struct {
				kind string
				got  []string
				want string
			}{{"warnings", o.others(), c.warns}, {"notices", o.notices, c.notes}} {
				if said.want == "" && len(said.got) > 0 || said.want != "" && (len(said.got) != 1 || !strings.Contains(said.got[0], said.want)) {
					t.Errorf("%s: %q, want %q", said.kind, said.got, said.want)
				}
			}
		})
	}
}

// others returns the warnings without the one about issues in the checkout, which
// the sample has.
func (o outcome) others() []string {
	return slices.DeleteFunc(slices.Clone(o.warnings), func(w string) bool { return strings.HasPrefix(w, "file tracker: ") })
}

func TestNothingIsAskedAboutTheRepositoryWhenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	m.issues(nil)
	if err := os.Mkdir(filepath.Join(m.dir, "issues"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.job("state", "cache").perform().want(t, "success", "work", "false")
	if asked := hub.Log(); len(asked) > 0 {
		t.Errorf("requests: %v", asked)
	}
}

func TestAnEmptyInputIsItsDefault(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	var inputs []string
	for name := range readManifest(t).Inputs {
		inputs = append(inputs, name, "")
	}
	o := m.job(inputs...).perform()
	o.want(t, "success", "dispatched", "2", "parked", "1")
	if _, ok := hub.File("symphony-state", "state.json"); !ok {
		t.Error("there is no state branch")
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

func TestWhatIsCachedIsFoundByARunnerWithAnotherTemporaryFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.replace("codex:", "hooks:\n  after_create: echo made >>'"+m.home+"/made.log'\n  after_run: echo run >>ran.log; cp ran.log '"+m.home+"'\ncodex:")
	m.issues(map[string]string{"FAIL-1": "---\ntitle: Fail\nstate: Todo\n---\n- [ ] Run §false§\n"})
	inputs := []string{"max-issues", "1", "cache-workspaces", "true"}
	m.job(inputs...).perform().want(t, "success", "dispatched", "1", "failed", "1")
	m.fresh()
	if err := os.RemoveAll(m.temp); err != nil {
		t.Fatal(err)
	}
	m.temp = filepath.Join(m.home, "_temp-of-another-runner")
	m.touch("FAIL-1") // which makes it due
	m.job(inputs...).perform().want(t, "success", "dispatched", "1")
	if got := m.logged("made.log"); got != "made\n" {
		t.Errorf("the workspace was made %d times", strings.Count(got, "made"))
	}
	if got := m.logged("ran.log"); got != "run\nrun\n" {
		t.Errorf("the workspace had the runs %q", got)
	}
	if left, err := os.ReadDir(filepath.Join(m.temp, "symphony_workspaces")); err != nil || len(left) == 0 {
		t.Errorf("the workspaces are not where they were: %v %v", left, err)
	}
}

// touch has an issue tried again at once.
func (m *machine) touch(issue string) {
	m.t.Helper()
	id := regexp.MustCompile(`[^A-Za-z0-9-]`).ReplaceAllString(issue, "")
	j := m.job()
	env := []string{"PATH=" + m.path, "HOME=" + m.home, "GITHUB_REPOSITORY=" + m.repository, "GITHUB_API_URL=" + m.api, "GITHUB_TOKEN=" + j.token}
	cmd := m.command(m.t.Context(), "state", "retry", id, "--state", "branch:symphony-state")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%v\n%s", err, out)
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
	if code != 2 || !strings.Contains(said, "::error title=Workspaces cannot be cached::") {
		t.Errorf("a root around the checkout: exit status %d:\n%s", code, said)
	}
}

func TestABinaryOfTheCacheThatIsNotWhatWasBuiltIsNotRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, c := range map[string]struct{ binary, digest, want string }{
		"as it was built": {"binary", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd", "taken=true"},
		"changed":         {"another", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd", "taken=false"},
		"cut off":         {"bin", "", "taken=false"},
		"nothing":         {"", "", "taken=false"},
	} {
		built, binary := filepath.Join(t.TempDir(), "built"), filepath.Join(t.TempDir(), "symphony")
		m.writeFile(filepath.Join(m.home, "output"), "")
		if c.binary != "" {
			m.writeFile(filepath.Join(built, "symphony"), c.binary)
		}
		if c.digest != "" {
			m.writeFile(filepath.Join(built, "sha256"), c.digest+"\n")
		}
		code, said := m.runScript("build.sh", []string{"BUILT=" + built, "SYMPHONY=" + binary}, "take")
		_, err := os.Stat(binary)
		if got := strings.TrimSpace(m.logged("output")); code != 0 || got != c.want || (err == nil) != (c.want == "taken=true") {
			t.Errorf("%s: exit status %d, output %q, want %q, binary: %v\n%s", name, code, got, c.want, err, said)
		}
	}
}

func TestAReadOnlyTokenIsFoundBeforeCodexIsInstalled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	hub.Deny("contents: write")
	m.replace(mustJSON(t, m.agent()), "codex app-server")
	o := m.job("openai-api-key", "sk-0123456789abcdefghij").perform()
	refused(t, m, o, "permissions: {contents: write}")
	if o.steps["Start to install Codex"] != "skipped" {
		t.Errorf("steps: %v", o.steps)
	}
	dry := m.job("dry-run", "true", "openai-api-key", "sk-0123456789abcdefghij").perform() // which needs to write nothing
	dry.want(t, "success", "work", "true")
	if n := hub.Asked()[storetest.Tree]; n != 1 {
		t.Errorf("%d trees were asked for, want that of the first plan", n)
	}
}

func TestAPlanAndItsRunSayAThingOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.replace("agent:", "agents: {}\nagent:") // a key that is not known
	with := m.job("max-issues", "1").perform()
	with.want(t, "success", "work", "true")
	dry := m.job("dry-run", "true").perform()
	dry.want(t, "success", "work", "true")
	for name, o := range map[string]outcome{"a run": with, "a dry run": dry} {
		n := 0
		for _, w := range o.warnings {
			n += strings.Count(w, "agents")
		}
		if n != 1 || strings.Count(o.summary, "# ") == 0 {
			t.Errorf("%s: %d warnings %q, summary:\n%s", name, n, o.warnings, o.summary)
		}
	}
	if strings.Contains(with.summary, "Would start") {
		t.Errorf("the summary of a run holds that of its plan:\n%s", with.summary)
	}
}

// gitea is a server that has the repository, but neither artifacts nor the API
// of git that GitHub has.
func (m *machine) gitea() {
	m.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/repos/"+m.repository {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"id": 1, "full_name": "` + m.repository + `", "private": true, "default_branch": "main"}`))
	}))
	m.t.Cleanup(server.Close)
	m.server, m.api = "https://git.example.org", server.URL+"/api/v1"
	m.os, m.arch = strings.ToLower(m.os), strings.ToLower(m.arch)
}

func TestTheActionRunsOnAServerThatIsNotGitHub(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.gitea()
	j := m.job("state", "cache", "max-issues", "1")
	j.env = append(j.env, "GITHUB_WORKFLOW_REF=")
	o := j.perform()
	o.want(t, "success", "dispatched", "1", "parked", "1")
	if slices.Contains(m.uses, "actions/upload-artifact") || !slices.Contains(m.uses, "actions/cache/save") {
		t.Errorf("used %v", m.uses)
	}
	if !strings.Contains(o.log, "Installed symphony v1.2.3") || !strings.Contains(o.log, "Event logs are not uploaded") {
		t.Errorf("log:\n%s", o.log)
	}
	if w := o.others(); len(w) != 1 || !strings.Contains(w[0], "set the input deadline") {
		t.Errorf("warnings %q, want one about the deadline", w)
	}
	branch := m.job().perform()
	if branch.code == 0 || len(branch.errors) != 1 || !strings.Contains(branch.errors[0], "lacks GitHub's git API: use `state: cache`") {
		t.Errorf("exit status %d, errors %q", branch.code, branch.errors)
	}
	asked := newMachine(t)
	asked.gitea()
	o = asked.job("state", "cache", "max-issues", "1", "upload-logs", "true").perform()
	if !slices.ContainsFunc(o.warnings, func(w string) bool { return strings.Contains(w, "upload-logs is true") }) {
		t.Errorf("warnings: %q", o.warnings)
	}
}
