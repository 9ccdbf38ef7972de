package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/runner/store/storetest"
)

// onHub gives a machine a GitHub with a state branch.
func (m *machine) onHub() *storetest.Hub {
	m.t.Helper()
	m.hub = storetest.New(m.t, storetest.Config{Repo: m.repository})
	m.api = m.hub.URL()
	return m.hub
}

// want compares outputs that matter.
func (o outcome) want(t *testing.T, status string, outputs ...string) {
	t.Helper()
	good := o.status == status
	for n := 0; n+1 < len(outputs); n += 2 {
		if got := o.outputs[outputs[n]]; got != outputs[n+1] {
			t.Errorf("output %s is %q, want %q", outputs[n], got, outputs[n+1])
			good = false
		}
	}
	if !good {
		t.Fatalf("the job ended with %s, want %s; steps %v, outputs %v, errors %q, warnings %q\n%s", o.status, status, o.steps, o.outputs, o.errors, o.warnings, o.log)
	}
}

// places are where the Action can keep the state.
var places = []string{"branch", "cache"}

func TestTheSecondRunOfTheActionGoesOnWithWhatTheFirstLeft(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			hub := m.onHub()
			first := m.job("state", place, "max-issues", "1").perform()
			first.want(t, "success", "work", "true", "dispatched", "1", "completed", "0", "parked", "1")
			if !strings.Contains(m.read("issues/EASY-2.md"), "state: Todo") {
				t.Error("the batch is one issue, but the second was worked on as well")
			}
			m.fresh()
			second := m.job("state", place, "max-issues", "1").perform()
			second.want(t, "success", "work", "true", "dispatched", "1", "completed", "1", "parked", "1")
			if !strings.Contains(m.read("issues/EASY-2.md"), "state: Review") {
				t.Error("the second issue was not handed over")
			}
			m.fresh()
			third := m.job("state", place).perform()
			third.want(t, "success", "work", "false", "dispatched", "0", "parked", "1")

			if _, ok := hub.File("symphony-state", "state.json"); ok != (place == "branch") {
				t.Errorf("a state branch exists: %v", ok)
			}
			wantUses := map[string][]string{
				"branch": {"actions/cache/restore", "actions/cache/save", "actions/upload-artifact"},
				"cache":  {"actions/cache/restore", "actions/cache/restore", "actions/cache/save", "actions/cache/save", "actions/upload-artifact"},
			}[place]
			if got := m.uses[:len(wantUses)]; !slices.Equal(got, wantUses) {
				t.Errorf("the first run used %v, want %v", got, wantUses)
			}
			if len(m.artifacts) != 2 {
				t.Errorf("artifacts: %v, want those of the two runs with work", m.artifacts)
			}
			for name, files := range m.artifacts {
				if !slices.Contains(files, "report.json") || !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, "logs/EASY-") }) {
					t.Errorf("artifact %s holds %v", name, files)
				}
			}
		})
	}
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

func TestAThreadAndItsWorkspaceAreCarriedToTheNextRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.replace("max_turns: 2", "max_turns: 1")
	m.issues(map[string]string{"COUNT": twoTurns})
	m.replace("codex:", "hooks:\n  after_run: cp -f count.txt '"+m.home+"' || true\ncodex:")
	inputs := []string{"max-issues", "1", "cache-workspaces", "true"}
	first := m.job(inputs...).perform()
	first.want(t, "success", "dispatched", "1", "retrying", "1")
	due, err := time.Parse(time.RFC3339, first.outputs["next-due-at"])
	if err != nil {
		t.Fatalf("next-due-at: %v", err)
	}
	waitFor(t, "the continuation to fall due", func() bool { return time.Now().After(due) })
	m.fresh()
	m.job(inputs...).perform().want(t, "success", "dispatched", "1", "retrying", "0", "next-due-at", "")
	if got, want := m.logged("count.txt"), "one\ntwo\n"; got != want {
		t.Errorf("count.txt holds %q, want %q", got, want)
	}
}

func TestANewThreadBeginsWhenSessionsAreNotCached(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.job("cache-sessions", "false", "upload-logs", "false").perform().want(t, "success", "dispatched", "2")
	if len(m.uses) != 0 || len(m.artifacts) != 0 {
		t.Errorf("used %v, artifacts %v; nothing was asked for", m.uses, m.artifacts)
	}
}

func TestACancelledRunKeepsItsClaimAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.onHub()
			started, released := filepath.Join(m.home, "started"), filepath.Join(m.home, "released")
			m.issues(map[string]string{"LONG-1": "---\ntitle: Wait\nstate: Todo\n---\n- [ ] Run §touch " + started + "; while ! test -e " + released +
				"; do sleep 0.02; done§\n- [ ] Move this issue to §Review§\n"})
			m.replace("codex:", "hooks:\n  after_run: echo after_run >>'"+m.home+"/hooks.log'\ncodex:")

			ctx, cancel := context.WithCancelCause(t.Context())
			j := m.job("state", place)
			j.ctx = ctx
			exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if poll(func() bool { return exists(started) }) {
					cancel(errors.New("somebody cancels the job"))
				}
			}()
			o := j.perform()
			<-ended
			o.want(t, "cancelled", "work", "true", "dispatched", "1", "completed", "0")
			if o.code != 130 || o.steps["Run"] != "cancelled" {
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
			m.fresh()
			next := m.job("state", place).perform()
			next.want(t, "success", "work", "true", "dispatched", "1", "completed", "1", "retrying", "0")
			if !strings.Contains(m.read("issues/LONG-1.md"), "state: Review") {
				t.Error("the next run did not finish the issue")
			}
			m.noProcessLeft()
		})
	}
}

func TestARunWithNothingToDoInstallsNothingAndCommitsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	m.write("WORKFLOW.md", "---\ntracker:\n  kind: file\n---\nWork on {{ issue.identifier }}.\n") // with Codex itself
	m.issues(map[string]string{"EASY-1": "---\ntitle: Done\nstate: Done\n---\n"})
	o := m.job("openai-api-key", "sk-0123456789abcdefghij").perform()
	o.want(t, "success", "work", "false", "dispatched", "0", "completed", "0", "failed", "0", "parked", "0", "retrying", "0", "tokens", "0", "next-due-at", "", "report", "")
	asked := 0
	for op, n := range hub.Asked() {
		asked += n
		if !slices.Contains([]storetest.Op{storetest.Repository, storetest.Ref, storetest.Contents}, op) {
			t.Errorf("%d × %s", n, op)
		}
	}
	if asked > 5 {
		t.Errorf("%d requests: %v, want at most 5", asked, hub.Log())
	}
	if npm := m.logged("npm.log"); npm != "" || len(m.uses) > 0 {
		t.Errorf("npm was called (%q), or %v used", npm, m.uses)
	}
	if len(o.errors) > 0 || len(o.notices) != 1 || !strings.HasPrefix(o.notices[0], "Nothing to do: ") {
		t.Errorf("errors %q, notices %q; want one notice", o.errors, o.notices)
	}
	if !strings.Contains(o.summary, "Nothing to do") {
		t.Errorf("the summary does not say that there is nothing to do:\n%s", o.summary)
	}
}

func TestADryRunOfTheActionChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	hub := m.onHub()
	m.replace(m.agent(), "codex app-server")
	o := m.job("dry-run", "true", "openai-api-key", "sk-0123456789abcdefghij").perform()
	o.want(t, "success", "work", "true", "dispatched", "0", "report", "")
	if npm := m.logged("npm.log"); npm != "" || o.steps["Run"] != "skipped" || len(m.uses) > 0 {
		t.Errorf("npm %q, used %v, steps %v", npm, m.uses, o.steps)
	}
	if _, ok := hub.File("symphony-state", "state.json"); ok {
		t.Error("there is a state branch")
	}
	if !strings.Contains(o.summary, "EASY-1") {
		t.Errorf("the summary does not tell the plan:\n%s", o.summary)
	}
}

func TestAFailureIsUploadedAndSavedBeforeTheStepFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.onHub()
	m.issues(map[string]string{"EASY-1": "---\ntitle: Fail\nstate: Todo\n---\n- [ ] Run §false§\n"})
	m.replace(m.agent(), strings.Split(m.agent(), " --home")[0]) // which leaves no sessions
	o := m.job("state", "cache", "fail-on", "failed", "max-issues", "1", "cache-workspaces", "true").perform()
	o.want(t, "failure", "work", "true", "dispatched", "1", "failed", "1", "retrying", "1")
	for _, name := range []string{"Save the state", "Save the sessions", "Save the workspaces", "Upload the logs"} {
		if o.steps[name] != "success" {
			t.Errorf("%s: %s", name, o.steps[name])
		}
	}
	lost := slices.ContainsFunc(o.warnings, func(w string) bool { return strings.Contains(w, "nothing to cache") })
	if len(m.cache) != 3 || len(m.artifacts) != 1 || len(o.errors) != 1 || lost {
		t.Errorf("%d cache entries, artifacts %v, errors %q, warnings %q", len(m.cache), slices.Collect(maps.Keys(m.artifacts)), o.errors, o.warnings)
	}
	for _, e := range m.cache {
		if !strings.Contains(e.key, "-Linux-101-1-") && !strings.Contains(e.key, "-macOS-101-1-") {
			t.Errorf("the key %s does not name the system, the run and its attempt", e.key)
		}
	}
}
