package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheSecondRunOfTheActionGoesOnWithWhatTheFirstLeft(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"branch", "cache"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.onHub()
			first := m.job("state", place, "max-issues", "1").perform()
			first.want(t, "success", "work", "true", "dispatched", "1", "completed", "0", "parked", "1")
			if !strings.Contains(m.read("issues/EASY-2.md"), "state: Todo") {
				t.Error("the batch is one issue, but the second was worked on as well")
			}
			if n := strings.Count(strings.Join(first.warnings, "\n"), "file tracker: "); n != 1 {
				t.Errorf("warnings %q of the plan and the run, want that of the tracker once", first.warnings)
			}
			if first.stateBranch != (place == "branch") {
				t.Errorf("a state branch exists: %v", first.stateBranch)
			}
			second := m.job("state", place, "max-issues", "1").perform()
			second.want(t, "success", "work", "true", "dispatched", "1", "completed", "1", "parked", "1")
			if !strings.Contains(m.read("issues/EASY-2.md"), "state: Review") {
				t.Error("the second issue was not handed over")
			}
			if states := m.stored("symphony-state-*"); len(states) != map[string]int{"branch": 0, "cache": 2}[place] {
				t.Errorf("states in the cache: %v", states)
			}
			if sessions := m.stored("symphony-sessions-*"); len(sessions) != 2 {
				t.Errorf("sessions in the cache: %v, want those of the two runs with work", sessions)
			}
			artifacts := m.stored("symphony-10?-*")
			if len(artifacts) != 2 {
				t.Errorf("artifacts: %v, want those of the two runs with work", artifacts)
			}
			for _, name := range artifacts {
				logs, pages := m.stored(name+"/logs/EASY-*/*.jsonl"), m.stored(name+"/logs/EASY-*/*.html")
				if len(logs) == 0 || len(pages) != len(logs) || len(m.stored(name+"/report.json")) != 1 {
					t.Errorf("artifact %s holds the logs %v and the pages %v", name, logs, pages)
				}
			}
		})
	}
}

// workflowOfSample returns a sample workflow, whose step has a name for tests.
func workflowOfSample(t *testing.T, name string) string {
	t.Helper()
	return strings.Replace(readText(t, samplePath(name)), "- "+ownUse, "- id: symphony\n        "+ownUse, 1)
}

const twoTurns = `---
title: Count in two sittings
state: Todo
---
- [ ] Create §count.txt§ containing §one§

## Next turn

- [ ] Append §two§ to §count.txt§
- [ ] Move this issue to §Review§
`

// TestAThreadAndItsWorkspaceAreCarriedToTheNextRun has the second run in another
// temporary folder, as act gives each run one of its own.
func TestAThreadAndItsWorkspaceAreCarriedToTheNextRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.replace("max_turns: 2", "max_turns: 1")
	m.issues(map[string]string{"COUNT": twoTurns})
	m.replace("codex:", "hooks:\n  after_create: pwd >>'"+m.home+"/made.log'\n  after_run: cp -f count.txt '"+m.home+"' || true; pwd >>'"+m.home+"/ran.log'\ncodex:")
	inputs := []string{"max-issues", "1", "cache-workspaces", "true"}
	first := m.job(inputs...).perform()
	first.want(t, "success", "dispatched", "1", "retrying", "1")
	due, err := time.Parse(time.RFC3339, first.outputs["next-due-at"])
	if err != nil {
		t.Fatalf("next-due-at: %v", err)
	}
	waitFor(t, "the continuation to fall due", func() bool { return time.Now().After(due) })
	m.job(inputs...).perform().want(t, "success", "dispatched", "1", "retrying", "0", "next-due-at", "", "pull-requests", "[]")
	if got, want := m.logged("count.txt"), "one\ntwo\n"; got != want {
		t.Errorf("count.txt holds %q, want %q", got, want)
	}
	if made := strings.Count(m.logged("made.log"), "\n"); made != 1 {
		t.Errorf("the workspace was made %d times", made)
	}
	ran := strings.Fields(m.logged("ran.log"))
	if len(ran) != 2 || ran[0] == ran[1] {
		t.Errorf("the sessions ran in %q, want two folders", ran)
	}
}

func TestAnInterruptedRunKeepsItsClaimAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	started, released := filepath.Join(m.home, "started"), filepath.Join(m.home, "released")
	m.issues(map[string]string{"LONG-1": "---\ntitle: Wait\nstate: Todo\n---\n- [ ] Run §touch " + started + "; while ! test -e " + released +
		"; do sleep 0.02; done§\n- [ ] Move this issue to §Review§\n"})
	m.replace("codex:", "hooks:\n  after_run: echo after_run >>'"+m.home+"/hooks.log'\ncodex:")
	j := m.job("state", "cache")
	j.interruptWhen = func() bool { _, err := os.Stat(started); return err == nil }
	o := j.perform()
	o.want(t, "failure", "work", "true", "dispatched", "1", "completed", "0")
	if o.code != exitInterrupted || o.steps["Run"] != "failure" {
		t.Errorf("exit status %d, steps %v", o.code, o.steps)
	}
	for _, name := range []string{"Save the sessions", "Upload the logs"} {
		if o.steps[name] != "success" {
			t.Errorf("%s: %s", name, o.steps[name])
		}
	}
	if got := m.logged("hooks.log"); got != "after_run\n" {
		t.Errorf("hooks that ran: %q", got)
	}
	m.writeFile(released, "")
	next := m.job("state", "cache").perform()
	next.want(t, "success", "work", "true", "dispatched", "1", "completed", "1", "retrying", "0")
	if !strings.Contains(m.read("issues/LONG-1.md"), "state: Review") {
		t.Error("the next run did not finish the issue")
	}
	m.noProcessLeft()
}

func TestARunWithNothingToDoInstallsNothingAndKeepsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.write("WORKFLOW.md", "---\ntracker:\n  kind: file\n---\nWork on {{ issue.identifier }}.\n") // with Codex itself
	m.issues(map[string]string{"EASY-1": "---\ntitle: Done\nstate: Done\n---\n"})
	o := m.job("openai-api-key", "sk-0123456789abcdefghij").perform()
	o.want(t, "success", "work", "false", "dispatched", "0", "completed", "0", "failed", "0", "parked", "0", "retrying", "0", "tokens", "0", "next-due-at", "", "pull-requests", "[]", "report", "")
	if npm, stored := m.logged("npm.log"), m.stored("*"); npm != "" || len(stored) > 0 || o.stateBranch {
		t.Errorf("npm was called (%q), %v stored, or the state saved", npm, stored)
	}
	if len(o.errors) > 0 || len(o.notices) != 1 || !strings.HasPrefix(o.notices[0], "Nothing to do: ") {
		t.Errorf("errors %q, notices %q; want one notice", o.errors, o.notices)
	}
	if !strings.Contains(o.summary, "Nothing to do") {
		t.Errorf("the summary does not say that there is nothing to do:\n%s", o.summary)
	}
}

func TestAFailureIsUploadedAndSavedBeforeTheStepFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.issues(map[string]string{"EASY-1": "---\ntitle: Fail\nstate: Todo\n---\n- [ ] Run §false§\n"})
	m.replace(mustJSON(t, m.agent()), mustJSON(t, strings.Split(m.agent(), " --home")[0])) // which leaves no sessions
	o := m.job("state", "cache", "fail-on", "failed", "max-issues", "1", "cache-workspaces", "true").perform()
	o.want(t, "failure", "work", "true", "dispatched", "1", "failed", "1", "retrying", "1")
	for _, name := range []string{"Save the state", "Save the sessions", "Save the workspaces", "Write the pages of sessions that were killed", "Upload the logs"} {
		if o.steps[name] != "success" {
			t.Errorf("%s: %s", name, o.steps[name])
		}
	}
	if stored := m.stored("*"); len(stored) != 5 || len(o.errors) != 1 {
		t.Errorf("stored %v, want three caches, the trial of the cache and an artifact; errors %q", stored, o.errors)
	}
	for _, key := range slices.Concat(m.stored("symphony-state-*"), m.stored("symphony-sessions-*"), m.stored("symphony-workspaces-*")) {
		if !regexp.MustCompile(`-(Linux|macOS)-101-1-`).MatchString(key) {
			t.Errorf("the key %s does not name the system, the run and its attempt", key)
		}
	}
}

func TestWithoutAReleaseTheActionIsBuiltOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the program")
	}
	m := newMachine(t)
	m.onHub()
	m.ownCopy(sourceFolders...)
	m.releases.change("checksums.txt", nil)
	build := func() outcome {
		j := m.job("max-issues", "1", "cache-sessions", "false")
		for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN"} {
			out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
			if err != nil {
				t.Fatal(err)
			}
			j.env = append(j.env, name+"="+strings.TrimSpace(string(out)))
		}
		return j.perform()
	}
	first := build()
	first.want(t, "success", "dispatched", "1")
	m.stub("go", "echo there is no Go here; exit 1")
	second := build()
	second.want(t, "success", "dispatched", "1")
	if first.steps["Build symphony"] != "success" || second.steps["Build symphony"] != "skipped" || second.steps["Set up Go"] != "skipped" {
		t.Errorf("steps %v, then %v", first.steps, second.steps)
	}
}

// gitea makes the machine's server one that has the repository, but neither
// artifacts nor the API of git that GitHub has.
func (m *machine) gitea() {
	m.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/repos/"+m.repository {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte(`{"id": 1, "full_name": "` + m.repository + `", "private": true, "default_branch": "main"}`))
	}))
	m.t.Cleanup(server.Close)
	m.server, m.api = "https://git.example.org", server.URL+"/api/v1"
}

func TestTheActionRunsOnAServerThatIsNotGitHub(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.gitea()
	o := m.job("state", "cache", "max-issues", "1", "cache-sessions", "false").perform()
	o.want(t, "success", "dispatched", "1", "parked", "1")
	if o.steps["Upload the logs"] != "skipped" || o.steps["Save the state"] != "success" || o.steps["Save the sessions"] != "skipped" || len(m.stored("symphony-10?-*")) != 0 {
		t.Errorf("steps %v, stored %v", o.steps, m.stored("*"))
	}
	if !strings.Contains(o.log, "Installed symphony v1.2.3") || !strings.Contains(o.log, "Event logs are not uploaded") {
		t.Errorf("log:\n%s", o.log)
	}
}

// TestWhatTheCacheDoesNotKeepIsSaid starts the Action by events whose runs GitHub does not
// let write the caches of the default branch.
func TestWhatTheCacheDoesNotKeepIsSaid(t *testing.T) {
	t.Parallel()
	const comment, review = `{"repository":{"private":true}}`, `{"repository":{"private":true},"pull_request":{"number":9,"head":{"repo":{"full_name":"octo/state-keeper"}}}}`
	for name, c := range map[string]struct {
		event, payload, state string
		env                   []string
		status                string
		code                  int
		problem               string // the beginning of an error, or of a warning where the job succeeds; empty for none
	}{
		"the state, of a comment":                {"issue_comment", comment, "cache", nil, "failure", exitUsage, "The cache keeps no state: The input state is cache, but what was saved for a trial is not there: GitHub lets a run that issue_comment started read"},
		"the state, of a comment that may write": {"issue_comment", comment, "cache", []string{"ACT_CACHE_MODE=write"}, "success", 0, ""},
		"threads, of a review":                   {"pull_request_review", review, "branch", nil, "success", 0, "Threads are not kept: The sessions of this run begin new threads when they go on: this run belongs to a pull request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.onHub()
			m.writeFile(m.event, c.payload)
			j := m.job("state", c.state, "max-issues", "1")
			j.start, j.env = []string{c.event, "--eventpath", m.event}, c.env
			o := j.perform()
			o.want(t, c.status)
			said := o.errors
			if c.status == "success" {
				said = slices.DeleteFunc(slices.Clone(o.warnings), func(text string) bool { return !strings.Contains(text, "not kept") })
			} else if o.steps["Run"] != "skipped" {
				t.Error("the run was started")
			}
			if o.code != c.code || (len(said) == 1) != (c.problem != "") || !strings.HasPrefix(strings.Join(said, "\n"), c.problem) {
				t.Errorf("exit status %d, said %q, want %q", o.code, said, c.problem)
			}
		})
	}
}

// TestAStateThatWasNotSavedFailsTheStep has the save fail after the sessions, such as while
// GitHub has an outage.
func TestAStateThatWasNotSavedFailsTheStep(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	saved := func(env ...string) (int, string) {
		return m.runScript("saved.sh", append([]string{"STATE=skipped", "STATE_HIT=", "SESSIONS=skipped", "SESSIONS_HIT=", "WORKSPACES=skipped", "WORKSPACES_HIT="}, env...), "tell")
	}
	if code, said := saved("STATE=success", "STATE_HIT=true", "SESSIONS=success", "SESSIONS_HIT=true"); code != 0 || said != "" {
		t.Errorf("exit status %d:\n%s", code, said)
	}
	code, said := saved("STATE=success", "STATE_HIT=false", "SESSIONS=success", "WORKSPACES=success")
	problems, warned := annotations("error", said), annotations("warning", said)
	if code != 1 || len(problems) != 1 || !strings.HasPrefix(problems[0], "The state was not saved: The next run knows nothing of what this one did: the log of the step that saves it says why.") || len(warned) != 2 {
		t.Errorf("exit status %d, errors %q, warnings %q", code, problems, warned)
	}
}
