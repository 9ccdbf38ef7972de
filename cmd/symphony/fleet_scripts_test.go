package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkFleet runs the first step of a job of a fleet, with inputs as variables.
func (m *machine) checkFleet(mode string, inputs ...string) (code int, said string, outputs map[string]string) {
	m.t.Helper()
	output := filepath.Join(m.home, "output")
	m.writeFile(output, "")
	env := []string{"MODE=" + mode, "GITHUB_ACTION_PATH=" + filepath.Join(m.action, ".github", "fleet")}
	for name := range readManifestOf(m.t, fleetAction).Runs.Steps[0].Env {
		if name != "MODE" {
			env = append(env, name+"=")
		}
	}
	code, said = m.runProgram(append(env, inputs...), "sh", "-c", `sh "$GITHUB_ACTION_PATH/../action/check.sh"`)
	return code, said, readPairs(m.t, output)
}

func TestAJobOfAFleetIsRefusedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, mode, want string
		inputs           []string
	}{
		{"no mode that there is", "tick", `mode is "tick"`, nil},
		{"no shard, as where an empty matrix starts a job", "work", "This is no shard", nil},
		{"a shard that would be another artifact", "work", `shard is "1/../2"`, []string{"SHARD=1/../2"}},
		{"a shard of two lines", "work", "shard is", []string{"SHARD=1\nstate=cache"}},
		{"no attempt", "collect", `attempt is "*"`, []string{"ATTEMPT=*"}},
		{"no time", "plan", `timeout-minutes is "1h"`, []string{"TIMEOUT_MINUTES=1h"}},
		{"no time for a session", "plan", `timeout-minutes is "4": write a number from 5 to 9000`, []string{"TIMEOUT_MINUTES=4"}},
		{"more shards than there are", "work", "write a number from 1 to 256", []string{"SHARD=257"}},
		{"no way to hand over that there is", "plan", `exchange-by is "cache": write artifacts or refs`, []string{"EXCHANGE_BY=cache"}},
		{"a state that there is not", "collect", `state is "file:x"`, []string{"STATE=file:x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			code, said, outputs := m.checkFleet(c.mode, c.inputs...)
			if problems := annotations("error", said); code != exitUsage || len(problems) != 1 || !strings.Contains(problems[0], c.want) || len(outputs) > 0 {
				t.Errorf("exit status %d, outputs %v, want an error with %q\n%s", code, outputs, c.want, said)
			}
		})
	}
}

func TestAFleetHandsOverByReferencesWhereTheServerTakesNoArtifacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ server, input, want string }{
		{"https://github.com", "", "artifacts"},
		{"https://octo.ghe.com", "", "artifacts"},
		{"https://git.example.org", "", "refs"},
		{"https://github.com", "refs", "refs"},
		{"https://git.example.org", "artifacts", "artifacts"}, // its newest version may take them
	} {
		m := newMachine(t)
		m.server = c.server
		for _, mode := range []string{"plan", "work", "collect"} {
			if code, said, got := m.checkFleet(mode, "SHARD=1", "EXCHANGE_BY="+c.input); code != 0 || got["exchange-by"] != c.want {
				t.Errorf("%s with the input %q: exit status %d, %s by %q, want %s\n%s", c.server, c.input, code, mode, got["exchange-by"], c.want, said)
			}
		}
	}
}

func TestAnEmptyInputOfAFleetIsItsDefault(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	code, said, outputs := m.checkFleet("plan")
	if code != 0 {
		t.Fatalf("exit status %d\n%s", code, said)
	}
	for name, input := range readManifestOf(t, fleetAction).Inputs {
		if got, given := outputs[name]; given && name != "attempt" && name != "state" && name != "exchange-by" && got != input.Default {
			t.Errorf("an empty %s is %q, and its default is %q", name, got, input.Default)
		}
	}
	if outputs["attempt"] != "1" || outputs["shards"] != "16" || outputs["state"] != "branch:symphony-state" {
		t.Errorf("outputs %v", outputs)
	}
	for given, want := range map[string]string{"tick": "", "stop": "stop", "": ""} {
		if _, _, got := m.checkFleet("plan", "COMMAND="+given, "ISSUE=GH-7"); got["command"] != want || got["issue"] != "GH-7" {
			t.Errorf("the command %q is %q on %q, want %q", given, got["command"], got["issue"], want)
		}
	}
	if _, _, later := m.checkFleet("collect", "ATTEMPT=3"); later["attempt"] != "3" {
		t.Errorf("collect is for the attempt %q, want that of the plan", later["attempt"])
	}
}

// The shells of systems differ in what echo makes of a backslash.
func TestAnInputMakesNoOutputOfItsOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	_, _, before := m.checkFleet("plan")
	const forged = `7\nforged=true\nfolder=/elsewhere\c`
	code, said, outputs := m.checkFleet("plan", "ISSUE="+forged, "COMMAND="+forged, "MAX_ISSUES="+forged, "FAIL_ON="+forged,
		"STATE_BRANCH="+forged, "SHARDS="+forged, "SHARD_SLOTS="+forged, "RUNS_ON="+forged)
	for _, name := range []string{"issue", "command", "max-issues", "fail-on", "shards", "shard-slots", "runs-on"} {
		if outputs[name] != forged {
			t.Errorf("%s is %q, want %q", name, outputs[name], forged)
		}
	}
	if code != 0 || len(outputs) != len(before) || outputs["folder"] != before["folder"] || outputs["state"] != "branch:"+forged {
		t.Errorf("exit status %d, outputs %q\n%s", code, outputs, said)
	}
	if _, _, outputs := m.checkFleet("plan", `WORKFLOW=a\nforged=true/W.md`); outputs["workflow"] != `a\nforged=true/W.md` || outputs["forged"] != "" {
		t.Errorf("of a path with a backslash the outputs are %q", outputs)
	}
}

func TestAShardEndsItsSessionsBeforeItsJobEnds(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for minutes, want := range map[string]string{"": "3300s", "5": "240s", "20": "1080s", "60": "3300s", "360": "21300s", "9000": "539700s"} {
		_, said, got := m.checkFleet("plan", "TIMEOUT_MINUTES="+minutes)
		if got["shard-deadline"] != want {
			t.Errorf("%q minutes: %q, want %q\n%s", minutes, got["shard-deadline"], want, said)
		}
	}
}

// A value that GitHub took for a part of a secret is an empty one.
func TestWhatSessionsNeedComesFromThePlanOrAllOfItIsBrought(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for setup, want := range map[string][5]string{
		"true false true true": {"true", "false", "true", "true", ""}, "false false false false": {"false", "false", "false", "false", ""}, "true true  false": {"true", "true", "", "false", ""},
		"": {"true", "true", "", "true", ""}, "   ": {"true", "true", "", "true", ""}, "    ": {"true", "true", "", "true", ""},
		"true false true false 17-ab": {"true", "false", "true", "false", "17-ab"}, "true true  true 17-ab": {"true", "true", "", "true", "17-ab"}, "false true false true ": {"false", "true", "false", "true", ""},
	} {
		_, said, got := m.checkFleet("work", "SHARD=7", "SETUP="+setup)
		if needs := [5]string{got["codex"], got["sandbox"], got["private"], got["prepares"], got["plan"]}; needs != want {
			t.Errorf("%q: %q, want %q\n%s", setup, needs, want, said)
		}
		if artifact := got["artifact"]; !strings.HasPrefix(artifact, "symphony-shard-7-101-1-") {
			t.Errorf("the logs are in the artifact %q", artifact)
		}
	}
}

// Anybody whose pull request is merged can add a file to the checkout.
func TestABinaryThatTheCheckoutHasIsNotTakenForThatOfTheCache(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(".symphony/built/symphony", "binary")
	m.write(".symphony/built/sha256", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd\n")
	_, said, got := m.checkFleet("plan")
	if _, err := os.Stat(filepath.Join(m.dir, got["folder"], "built")); got["folder"] != ".symphony" || !os.IsNotExist(err) {
		t.Errorf("the checkout still has it: %v\n%s", err, said)
	}
}

// Threads of sessions are restored by runners of every system, unlike all else that is cached.
func TestTheThreadsOfAFleetHaveOneKeyOnAllSystems(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.os = "Linux"
	_, _, linux := m.checkFleet("work", "SHARD=1")
	m.os = "macOS"
	_, _, mac := m.checkFleet("collect")
	if linux["threads"] != mac["threads"] || linux["threads"] == "" || linux["family"] == mac["family"] {
		t.Errorf("threads %q and %q, families %q and %q", linux["threads"], mac["threads"], linux["family"], mac["family"])
	}
}

func TestTheThreadsOfAFleetGoThroughTheFolderThatTheCacheKnows(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	exchange, kept, output := filepath.Join(m.home, "exchange"), ".symphony/threads", filepath.Join(m.home, "output")
	env := []string{"KEPT=" + kept, "EXCHANGE=" + exchange}
	run := func(mode string) map[string]string {
		t.Helper()
		m.writeFile(output, "")
		if code, said := m.runScript("threads.sh", env, mode); code != 0 {
			t.Fatalf("%s: exit status %d\n%s", mode, code, said)
		}
		return readPairs(t, output)
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	run("place") // of a cache that has none
	if got := run("gather"); got["there"] != "false" {
		t.Errorf("threads of nobody: %v", got)
	}
	m.write(kept+"/one.jsonl.gz", "1")
	m.writeFile(filepath.Join(exchange, "results", "result-2", "result.json"), "{}")
	m.writeFile(filepath.Join(exchange, "results", "result-2", "threads", "two.jsonl.gz"), "2")
	run("place")
	if !there(filepath.Join(exchange, "threads", "one.jsonl.gz")) || there(filepath.Join(m.dir, kept)) {
		t.Error("the threads of the cache are not in the exchange")
	}
	run("withhold")
	if there(filepath.Join(exchange, "results", "result-2", "threads")) || !there(filepath.Join(exchange, "results", "result-2", "result.json")) {
		t.Error("what a public artifact would show is not the result alone")
	}
	if got := run("gather"); got["there"] != "true" || !there(filepath.Join(m.dir, kept, "one.jsonl.gz")) {
		t.Errorf("the threads are not where the cache looks for them: %v", got)
	}
}

// One annotation of the job that collects is enough: a run of GitHub shows only ten.
func TestAShardDoesNotAnnotateWhatIsKept(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	env := []string{"PRIVATE=false", "UPLOAD_LOGS=true", "CACHE_SESSIONS=", "CACHE_WORKSPACES=false", "LOG_FOLDER=logs"}
	for mode, want := range map[string]int{"work": 0, "collect": 2} {
		m.writeFile(filepath.Join(m.home, "output"), "")
		code, said := m.runScript("keep.sh", append(env, "MODE="+mode))
		if got := len(annotations("warning", said)) + len(annotations("notice", said)); code != 0 || got != want || !strings.Contains(said, "This repository is public") {
			t.Errorf("%s: exit status %d, %d annotations, want %d\n%s", mode, code, got, want, said)
		}
	}
}

// The release of the fleet's own ref is installed, and its source is the whole repository.
func TestAFleetIsBuiltFromTheWholeRepository(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.ownCopy(sourceFolders...)
	m.writeFile(filepath.Join(m.home, "output"), "")
	folder := filepath.Join(m.action, ".github", "fleet")
	code, said := m.runProgram([]string{"GITHUB_ACTION_PATH=" + folder, "ACTION_REF="}, "bash", "-c", `bash "$GITHUB_ACTION_PATH/../action/install.sh"`)
	got := readPairs(t, filepath.Join(m.home, "output"))
	if _, err := os.Stat(filepath.Join(got["source"], "go.mod")); code != 0 || err != nil || len(got["digest"]) != 64 {
		t.Errorf("exit status %d, outputs %v: %v\n%s", code, got, err, said)
	}
}
