package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/githubtest"
	"github.com/symphony-runner/symphony/internal/storetest"
	"github.com/symphony-runner/symphony/runner/store"
)

// fleetRun is what there is to see of a run of a fleet's workflow.
type fleetRun struct {
	steps      map[string]map[string]string // success or failure, by job and step
	planned    map[string]string            // outputs of the job plan
	took       map[string]time.Duration     // all steps of a job together
	errors     []string
	summary    string
	transcript string
}

// fleetOfSample returns the workflow that users copy, for four shards of one issue each.
func fleetOfSample(t *testing.T) string {
	t.Helper()
	text := readText(t, samplePath("fleet.yml"))
	for from, to := range map[string]string{"shards: 16": "shards: 4", "shard-slots: 2": "shard-slots: 1"} {
		if strings.Count(text, from) != 1 {
			t.Fatalf("the sample does not have %q once", from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	return text
}

// shardOf matches the name of a job as act shows it: it adds the number of the entry in the
// matrix.
var shardOf = regexp.MustCompile(`/(plan|collect|shard \d+)(?:-\d+)? *$`)

// fleet runs the workflow of a fleet with act, as its schedule does.
func (d *deliveries) fleet(run, attempt int, workflow string) fleetRun {
	d.t.Helper()
	return d.startFleet(run, attempt, workflow, nil)
}

// order runs the workflow of a fleet with act, as somebody does who gives a command.
func (d *deliveries) order(run int, workflow, command, issue string) fleetRun {
	d.t.Helper()
	d.writeFile(d.event, fmt.Sprintf(`{"repository":{"private":true},"inputs":{"command":%q,"issue":%q}}`, command, issue))
	return d.startFleet(run, 1, workflow, []string{"workflow_dispatch", "--eventpath", d.event})
}

// startFleet runs the workflow of a fleet with act; start is that of [job].
func (d *deliveries) startFleet(run, attempt int, workflow string, start []string) fleetRun {
	d.t.Helper()
	if attempt == 1 { // a run has no artifacts of another one
		d.removeArtifacts()
	}
	// One shard at a time, for the reason in job.arguments: --concurrent-jobs does not bound a matrix.
	workflow = strings.Replace(workflow, "fail-fast: false", "fail-fast: false\n      max-parallel: 1", 1)
	j := d.job()
	j.start = start
	j.run, j.workflow, j.runAttempt = strconv.Itoa(run), workflow, attempt
	j.write(workflowFile, workflow)
	printed := j.act(d.home)
	r := fleetRun{steps: map[string]map[string]string{}, planned: map[string]string{}, took: map[string]time.Duration{}, transcript: string(printed)}
	lines := bufio.NewScanner(bytes.NewReader(printed))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Job, Msg, Command, Name, Arg, StepResult string
			StepID                                   []string
			KVPairs                                  map[string]string
			ExecutionTime                            time.Duration
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // what act prints before the jobs begin
		}
		name := shardOf.FindStringSubmatch(line.Job)
		switch {
		case name == nil:
			continue
		case line.Command == "error":
			r.errors = append(r.errors, line.KVPairs["title"]+": "+line.Arg)
		case line.Command == "set-output" && slices.Equal(line.StepID, []string{"plan"}):
			r.planned[line.Name] = line.Arg
		case line.Command == "summary":
			_, summary, _ := strings.Cut(line.Msg, "Summary - ")
			r.summary += summary
		}
		if len(line.StepID) == 1 && line.StepResult != "" {
			r.took[name[1]] += line.ExecutionTime
		}
		if parts := stepEnd.FindStringSubmatch(line.Msg); parts != nil && line.StepResult != "" && len(line.StepID) == 2 {
			if r.steps[name[1]] == nil {
				r.steps[name[1]] = map[string]string{}
			}
			r.steps[name[1]][parts[2]] = strings.ToLower(parts[1])
		}
	}
	return r
}

// shardJobs tells GitHub of a run, the shards of which have all begun and ended.
func (d *deliveries) shardJobs(run, shards int) {
	d.setShards(storetest.Run{ID: int64(run), Status: "in_progress"}, shards)
}

// setShards adds an attempt of a run with the given number of shards to the fake GitHub.
func (d *deliveries) setShards(run storetest.Run, shards int) {
	jobs := []storetest.Job{{Name: "plan", Status: "completed", Conclusion: "success"}, {Name: "collect", Status: "in_progress"}}
	for n := range shards {
		jobs = append(jobs, storetest.Job{Name: fmt.Sprintf("shard %d", n+1), Status: "completed", Conclusion: "failure", Started: time.Now(), Completed: time.Now(), Runner: "GitHub Actions 3"})
	}
	run.Jobs = jobs
	d.github.SetRun(run)
}

// endAttempt ends the first attempt of a run with the given number of shards at the fake
// GitHub, and begins another.
func (d *deliveries) endAttempt(run, shards int) {
	d.setShards(storetest.Run{ID: int64(run), Status: "completed", Conclusion: "failure"}, shards)
	d.github.SetRun(storetest.Run{ID: int64(run), Attempt: 2, Status: "in_progress"})
}

// artifacts returns the names of the artifacts of a fleet that are stored.
func (d *deliveries) artifacts() []string {
	return append(d.stored("symphony-plan-*"), d.stored("symphony-result-*")...)
}

func (d *deliveries) removeArtifacts() {
	d.t.Helper()
	for _, name := range d.artifacts() {
		if err := os.RemoveAll(filepath.Join(d.store(), name)); err != nil {
			d.t.Fatal(err)
		}
	}
}

// listArtifacts lets GitHub list the stored artifacts as those of a run.
func (d *deliveries) listArtifacts(run int) {
	d.t.Helper()
	for _, name := range d.artifacts() {
		files, folder := map[string]string{}, os.DirFS(filepath.Join(d.store(), name))
		err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(folder, path)
			files[path] = string(text)
			return err
		})
		if err != nil {
			d.t.Fatal(err)
		}
		d.github.AddArtifact(githubtest.Artifact{Run: int64(run), Name: name, Files: files})
	}
}

// claims returns the phases of the claims in the state, by issue, and how often it was
// saved.
func (d *deliveries) claims() (phases map[string]string, saves string) {
	d.t.Helper()
	text, _ := d.github.File("symphony-state", "state.json")
	state, _, err := store.Decode([]byte(text))
	if err != nil {
		d.t.Fatalf("%v\n%s", err, text)
	}
	phases = map[string]string{}
	for _, c := range state.Claims {
		phases[c.Identifier] = fmt.Sprintf("%s, failures: %d", c.Phase, c.Failures)
	}
	return phases, d.github.Git("rev-list", "--count", "symphony-state")
}

// killOnce returns a step of the agent that does something with the process of its shard
// and then kills that, if it was not done before. $p is the process, $exchange its folder.
func (d *deliveries) killOnce(name, before string) string {
	done := filepath.Join(d.home, name)
	return "- [ ] Run `test -e " + done + " || { touch " + done + `; p=$$; until tr "\0" " " </proc/$p/cmdline | grep -q -e " wor[k] --shard "; do p=$(cut -d " " -f 4 /proc/$p/stat); done; ` +
		`exchange=$(tr "\0" "\n" </proc/$p/cmdline | grep -A 1 -x -e --exchange | tail -n 1); kill -STOP $p; ` + before + "kill -KILL $p; }`\n"
}

// TestTheCopyOfTheFleetWorksThoughShardsAreKilled has two of its shards killed: one leaves what it
// had saved, the other nothing at all, as a machine that is gone. In the next run one of the two
// is lost once more, and collect with it. To run all jobs of that run again takes over what its first
// attempt left, and brings the other issue to its end.
func TestTheCopyOfTheFleetWorksThoughShardsAreKilled(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.replace("max_issues_per_tick: 5", "max_retry_backoff_ms: 1")
	d.prepare()
	d.publishCheckout()
	for n := 1; n <= 4; n++ {
		body := fmt.Sprintf("- [ ] Create `part%d.go` containing `package shop`\n- [ ] Call `deliver` with `{\"title\": \"Part %[1]d\", \"body\": \"\"}`\n", n)
		switch n {
		case 2:
			body = d.killOnce("killed-2", "") + body
		case 3:
			body = d.killOnce("killed-3", `rm -rf "$exchange/results"; `) + body
		}
		d.github.AddIssue(githubtest.Issue{Title: fmt.Sprintf("Work %d", n), Body: body, Labels: []string{"symphony"}})
	}
	text := fleetOfSample(t)

	d.shardJobs(101, 4)
	first := d.fleet(101, 1, text)
	delivered := func() (heads []string) {
		for _, p := range d.github.Pulls() {
			heads = append(heads, strings.TrimPrefix(p.Head, "symphony/GH-"))
		}
		slices.Sort(heads)
		return heads
	}
	t.Logf("plan took %v, shard 1 with its session %v, collect %v", first.took["plan"], first.took["shard 1"], first.took["collect"])
	phases, saves := d.claims()
	if got := delivered(); !slices.Equal(got, []string{"1", "4"}) || len(first.steps) != 6 {
		t.Fatalf("delivered %q by %d jobs; claims %v, errors %q\n%s", got, len(first.steps), phases, first.errors, first.transcript)
	}
	if want := map[string]string{"GH-2": "waiting, failures: 1", "GH-3": "waiting, failures: 1"}; fmt.Sprint(phases) != fmt.Sprint(want) || saves != "2" {
		t.Errorf("claims %v after %s saves, want %v after 2\n%s", phases, saves, want, first.summary)
	}
	if results := d.stored("symphony-result-1-*"); len(results) != 3 {
		t.Errorf("the results %q, want those of all shards but the one that is gone", results)
	}
	if !strings.Contains(first.summary, "2 completed, 2 failed") || !strings.Contains(first.summary, "| [3](https://github.com/acme/shop/actions/runs/101/job/5) |  |  |  |") {
		t.Errorf("the summary:\n%s", first.summary)
	}
	for n := 1; n <= 4; n++ {
		if id := fmt.Sprintf("GH-%d", n); strings.Count(first.summary, id+" ") == 0 && strings.Count(first.summary, id+"]") == 0 {
			t.Errorf("the summary does not name %s:\n%s", id, first.summary)
		}
	}

	d.checkPrepared(1)

	d.setShards(storetest.Run{ID: 101, Status: "completed", Conclusion: "failure"}, 4)
	d.shardJobs(102, 2)
	if err := os.Remove(filepath.Join(d.home, "killed-3")); err != nil { // so it is killed once more
		t.Fatal(err)
	}
	next := d.fleet(102, 1, strings.Replace(text, "if: always() && needs.plan.outputs.work != 'false'", "if: false", 1))
	phases, _ = d.claims()
	if want := map[string]string{"GH-2": "running, failures: 1", "GH-3": "running, failures: 1"}; fmt.Sprint(phases) != fmt.Sprint(want) || next.steps["shard 2"] == nil || next.steps["collect"] != nil {
		t.Fatalf("without collect the claims are %v, the jobs did %v; errors %q\n%s", phases, next.steps, next.errors, next.transcript)
	}
	d.endAttempt(102, 2)
	d.listArtifacts(102)
	all := d.fleet(102, 2, text)
	if phases, _ := d.claims(); len(phases) > 0 || len(delivered()) != 4 || all.steps["shard 1"]["Work"] != "success" || all.steps["shard 2"] != nil ||
		!strings.Contains(all.summary, "1 completed") || strings.Contains(all.summary, "Work 2") {
		t.Errorf("after all jobs ran again the claims are %v, delivered %q by %v; errors %q, summary\n%s\n%s", phases, delivered(), all.steps, all.errors, all.summary, all.transcript)
	}
	for n := 1; n <= 4; n++ {
		if commits := d.github.Git("rev-list", "--count", fmt.Sprintf("main..symphony/GH-%d", n)); commits != "1" {
			t.Errorf("GH-%d was worked on twice: %s commits", n, commits)
		}
	}
}

// TestTheShortWorkflowOfTheFleetWorks calls the workflow of this repository as users do.
// act does not know "$/", so the action has its public name there. In the first run Codex
// cannot be fetched, so the shard gives its issue back. Then somebody has it tried again.
func TestTheShortWorkflowOfTheFleetWorks(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "github.md")
	d.publishCheckout()
	d.github.AddIssue(githubtest.Issue{Title: "Work", Body: scripts[0], Labels: []string{"symphony"}})
	called := filepath.Join(d.action, ".github", "workflows", "fleet.yml")
	d.writeFile(called, strings.ReplaceAll(readText(t, called), fleetOfCaller, fleetOfCopy))
	caller := readText(t, samplePath("fleet-caller.yml"))
	fetched := "/@openai/codex/-/codex-0.169.0-" + codexTarget() + ".tgz"
	codex := d.releases.files[fetched]
	d.releases.change(fetched, nil)
	d.shardJobs(101, 1)
	r := d.fleet(101, 1, caller)
	if phases, saves := d.claims(); phases["GH-1"] != "waiting, failures: 0" || saves != "2" || !strings.Contains(r.summary, "its issues are due again") ||
		r.steps["shard 1"]["Install Codex"] != "failure" || r.steps["shard 1"]["Give the issues back"] != "success" {
		t.Errorf("without Codex the claims are %v after %s saves, errors %q\n%s", phases, saves, r.errors, r.transcript)
	}

	d.releases.mu.Lock()
	d.releases.files[fetched] = codex
	d.releases.mu.Unlock()
	d.shardJobs(102, 1)
	r = d.order(102, caller, "retry", "GH-1")
	phases, saves := d.claims()
	if pulls := d.github.Pulls(); len(pulls) != 1 || len(phases) > 0 || saves != "4" || !strings.Contains(r.summary, "1 completed") {
		t.Errorf("pull requests %+v, claims %v after %s saves, errors %q\n%s", pulls, phases, saves, r.errors, r.transcript)
	}
	if result := r.steps["collect"]["Collect"]; result != "success" || len(r.steps) != 3 {
		t.Errorf("the jobs did %v", r.steps)
	}
	if !strings.Contains(r.transcript, "GH-1 |   The work is published: ") { // of a private repository
		t.Errorf("the log of the shard does not show what its session read:\n%s", r.transcript)
	}
}

// TestAFleetRunsOnAServerWithoutArtifacts runs the copy for Gitea: the plan and the results
// are references, the state is in the cache, and the number of shards is fixed. One of three
// has nothing to do.
func TestAFleetRunsOnAServerWithoutArtifacts(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, "linear.md")
	d.server, d.api = "https://git.example.org", "https://git.example.org/api/v1"
	d.behindProxy(map[string]string{"git.example.org": d.github.ServerURL(), "github.com": d.github.ServerURL(), "api.linear.app": d.linear.URL})
	d.replace("https://github.com/acme/shop", "https://git.example.org/acme/shop")
	d.replace("kind: pull_request", "kind: branch")
	d.publishCheckout()
	d.linear.add(scripts[0])
	d.linear.add(scripts[1])
	text := readText(t, samplePath("fleet-static.yml"))
	for from, to := range map[string]string{"shards: 4 ": "shards: 3 ", "[1, 2, 3, 4]": "[1, 2, 3]", "shard-slots: 2": "shard-slots: 1", "          mode: ": "          linear-api-key: " + linearKey + "\n          mode: "} {
		if !strings.Contains(text, from) {
			t.Fatalf("the sample does not have %q", from)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	r := d.fleet(101, 1, text)
	for shard, want := range map[string]string{"shard 1": "success", "shard 2": "success", "shard 3": ""} {
		if got := r.steps[shard]["Install Codex"]; got != want || r.steps[shard]["Work"] != "success" || r.steps[shard]["Push the result"] != "success" {
			t.Errorf("%s did %v", shard, r.steps[shard])
		}
	}
	if !strings.Contains(r.summary, "2 completed") || len(r.errors) > 0 {
		t.Errorf("errors %q, summary:\n%s\n%s", r.errors, r.summary, r.transcript)
	}
	if refs := d.github.Git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main\nrefs/heads/symphony/ENG-1\nrefs/heads/symphony/ENG-2" {
		t.Errorf("the repository has\n%s", refs)
	}
	if artifacts, states := d.stored("symphony-[pr]*"), d.stored("symphony-state-*"); len(artifacts) > 0 || len(states) != 2 {
		t.Errorf("stored %q and %q", artifacts, states)
	}
}
