package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/feedback"
)

// How the jobs of a fleet name their action: in the workflow that others call, and in the
// copy of it that users have in their own repository.
const (
	fleetOfCaller = "uses: $/.github/fleet"
	fleetOfCopy   = "uses: symphony-runner/symphony/.github/fleet@v1"
	fleetCall     = "uses: symphony-runner/symphony/.github/workflows/fleet.yml@v1"
)

var fleetFile = filepath.Join(root, ".github", "workflows", "fleet.yml")

// fleetWorkflow is a workflow of a fleet.
type fleetWorkflow struct {
	On struct {
		WorkflowCall struct {
			Inputs map[string]struct {
				Type    string
				Default any
			}
			Secrets map[string]any
		} `yaml:"workflow_call"`
		WorkflowDispatch struct {
			Inputs map[string]*struct {
				Description string
				Options     []string
			}
		} `yaml:"workflow_dispatch"`
	}
	Permissions map[string]string
	Concurrency any
	Jobs        map[string]fleetJob
}

type fleetJob struct {
	Name, If, Uses string
	Needs          any
	RunsOn         string `yaml:"runs-on"`
	Timeout        string `yaml:"timeout-minutes"`
	Concurrency    string
	Permissions    map[string]string
	Outputs        map[string]string
	Strategy       struct {
		FailFast string `yaml:"fail-fast"`
		Matrix   any
	}
	Steps []step
	With  map[string]string
}

func readFleet(t testing.TB, text string) fleetWorkflow {
	t.Helper()
	var w fleetWorkflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// plainFleetHead begins the copy of the fleet's workflow in a user's repository.
const plainFleetHead = `# A workflow for users: a fleet in their own repository. It is made of .github/workflows/fleet.yml; the documents show it, and tests run it.
name: symphony
on:
  schedule:
    - cron: "13,43 * * * *" # best not on the full hour, when GitHub starts runs late or not at all
  workflow_dispatch:
    inputs:
      command: { type: choice, options: [tick, retry, stop, park, resume, status], description: What to do first with the issue }
      issue: { description: "The issue of the command, such as GH-7; none for tick" }

`

// plainFleet returns the workflow of the fleet as users copy it: with its own triggers,
// the action by its public name, and each input as what it is by default. An input that
// is the default of the action too is left out, unless it says how large the fleet is. What
// somebody who starts it by hand may fill in is read from there. Accounts that not everybody
// has are left out: see [furtherAccounts].
func plainFleet(t testing.TB) string {
	t.Helper()
	text := readText(t, fleetFile)
	inputs, defaults := readFleet(t, text).On.WorkflowCall.Inputs, readManifestOf(t, fleetAction).Inputs
	filledIn := readFleet(t, plainFleetHead).On.WorkflowDispatch.Inputs
	_, jobs, found := strings.Cut(text, "\npermissions: {}\n")
	if !found {
		t.Fatalf("%s does not begin its jobs without permissions", fleetFile)
	}
	input := regexp.MustCompile(`^( +)([a-z-]+): \$\{\{ inputs\.([a-z-]+) \}\}\n$`)
	shown := []string{"shards", "shard-slots", "runs-on", "timeout-minutes"}
	var b strings.Builder
	b.WriteString(plainFleetHead + "permissions: {}\n")
	for line := range strings.Lines(strings.ReplaceAll(jobs, fleetOfCaller, fleetOfCopy)) {
		if furtherAccount().MatchString(line) {
			continue
		}
		if parts := input.FindStringSubmatch(line); parts != nil && filledIn[parts[3]] == nil {
			value := fmt.Sprint(inputs[parts[3]].Default)
			if value == defaults[parts[2]].Default && !slices.Contains(shown, parts[2]) {
				continue
			}
			line = parts[1] + parts[2] + ": " + value + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// furtherAccount matches a line that gives the action the account of something that not
// everybody uses.
var furtherAccount = lazy.Regexp(`(?m)^ +(?:github-token|linear-api-key|app-id|private-key): \$\{\{ .+ \}\}\n`)

// furtherAccounts returns what users of the copy add to each of its jobs if they use these
// accounts: what all jobs of the workflow that others call have.
func furtherAccounts(t testing.TB) string {
	t.Helper()
	lines := furtherAccount().FindAllString(readText(t, fleetFile), -1)
	jobs := slices.Collect(slices.Chunk(lines, 4))
	if len(jobs) != 3 || !slices.Equal(jobs[0], jobs[1]) || !slices.Equal(jobs[0], jobs[2]) {
		t.Fatalf("the jobs of %s do not have the same four accounts: %q", fleetFile, lines)
	}
	return strings.Join(jobs[0], "")
}

// staticFleetHead is the first line of the copy for servers that do not expand a matrix that
// the plan makes.
const staticFleetHead = "# A workflow for users of Gitea and Forgejo: a fleet with a fixed number of shards. It is made of fleet.yml beside it; the documents show what differs, and tests run it.\n"

// staticFleet returns the copy of the fleet's workflow for such a server, which also has no
// API for a state branch.
func staticFleet(t testing.TB) string {
	t.Helper()
	_, text, _ := strings.Cut(plainFleet(t), "\n")
	for _, change := range [][2]string{
		{"\npermissions: {}\n", "\nconcurrency: symphony # as the state is in the cache\n\npermissions: {}\n"},
		{"          shards: 16\n", "          shards: 4 # those of the matrix below\n"},
		{"          timeout-minutes: 60\n", "          timeout-minutes: 60\n          state: cache\n"},
		{"      matrix: ${{ fromJSON(needs.plan.outputs.matrix) }}\n", "      matrix: { shard: [1, 2, 3, 4] } # one that the plan does not need ends at once\n"},
		{"    runs-on: ${{ matrix.runs_on }}\n    timeout-minutes: ${{ fromJSON(needs.plan.outputs.timeout-minutes) }} # sessions end gracefully before\n",
			"    runs-on: ubuntu-24.04\n    timeout-minutes: 60 # as plan has it; sessions end gracefully before\n"},
		{"          mode: collect\n", "          mode: collect\n          state: cache\n"},
	} {
		if strings.Count(text, change[0]) != 1 {
			t.Fatalf("the copy does not have %q once:\n%s", change[0], text)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return staticFleetHead + text
}

// staticWork returns how the job that works begins in the copy with a fixed number of shards,
// as the documents show it.
func staticWork(t testing.TB) string {
	t.Helper()
	_, work, _ := strings.Cut(staticFleet(t), "\n  work:\n")
	work, _, _ = strings.Cut(work, "    permissions:")
	return "```yaml\n  work:\n" + work + "```\n"
}

// TestTheCopiesOfTheFleetAreMadeOfTheWorkflowThatOthersCall writes them with UPDATE_README=1.
func TestTheCopiesOfTheFleetAreMadeOfTheWorkflowThatOthersCall(t *testing.T) {
	t.Parallel()
	want := plainFleet(t)
	for name, want := range map[string]string{"fleet.yml": want, "fleet-static.yml": staticFleet(t)} {
		path := samplePath(name)
		if os.Getenv("UPDATE_README") != "" {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, readText(t, path)); diff != "" {
			t.Errorf("%s (-made +file), UPDATE_README=1 writes it:\n%s", path, diff)
		}
	}
	filledIn := readFleet(t, want).On.WorkflowDispatch.Inputs
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(want, -1) {
		if filledIn[m[1]] == nil {
			t.Errorf("the copy reads %s, which only a caller can give", m[0])
		}
	}
	if strings.Contains(want, "$/") {
		t.Errorf("the copy needs a caller:\n%s", want)
	}
}

// TestAJobOfAFleetHasThePermissionsThatItNeeds also compares their sum with what callers
// have to grant: it can only be made larger with a new major version.
func TestAJobOfAFleetHasThePermissionsThatItNeeds(t *testing.T) {
	t.Parallel()
	all := map[string]string{"contents": "write", "issues": "write", "pull-requests": "write", "checks": "read", "statuses": "read", "actions": "read"}
	for _, path := range []string{fleetFile, samplePath("fleet.yml")} {
		w := readFleet(t, readText(t, path))
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s gives every job %v", path, w.Permissions)
		}
		got := map[string]map[string]string{}
		for name, job := range w.Jobs {
			got[name] = job.Permissions
		}
		want := map[string]map[string]string{"plan": all, "work": all, "collect": {"contents": "write", "issues": "read", "actions": "read"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if diff := cmp.Diff(all, readFleet(t, readText(t, samplePath("fleet-caller.yml"))).Permissions); diff != "" {
		t.Errorf("what a caller grants: %s", diff)
	}
	if diff := cmp.Diff(all, readFleet(t, readText(t, samplePath("github.yml"))).Permissions); diff != "" {
		t.Errorf("what the workflow with one job grants: %s", diff)
	}
}

func TestTheJobsOfAFleetStartAndEndAsTheRulesSay(t *testing.T) {
	t.Parallel()
	for _, path := range []string{fleetFile, samplePath("fleet.yml")} {
		w := readFleet(t, readText(t, path))
		plan, work, collect := w.Jobs["plan"], w.Jobs["work"], w.Jobs["collect"]
		for _, c := range []struct{ what, got, want string }{
			{"work starts", work.If, "needs.plan.outputs.work == 'true' && needs.plan.outputs.attempt == github.run_attempt"},
			{"collect starts", collect.If, "always() && needs.plan.outputs.work != 'false'"},
			{"one shard fails", work.Strategy.FailFast, "false"},
			{"the matrix", fmt.Sprint(work.Strategy.Matrix), "${{ fromJSON(needs.plan.outputs.matrix) }}"},
			{"the name of a shard", work.Name, "shard ${{ matrix.shard }}"},
			{"the runner of a shard", work.RunsOn, "${{ matrix.runs_on }}"},
			{"the time of a shard", work.Timeout, "${{ fromJSON(needs.plan.outputs.timeout-minutes) }}"},
			{"the group of work", work.Concurrency, ""},
			{"the group of collect", collect.Concurrency, ""},
			{"the group of plan", plan.Concurrency, "symphony-plan-${{ inputs.command && inputs.command != 'tick' && github.run_id || github.workflow_ref }}"},
			{"what collect waits for", fmt.Sprint(collect.Needs), "[plan work]"},
			{"the attempt that is collected", collect.Steps[1].With["attempt"], "${{ needs.plan.outputs.attempt }}"},
		} {
			if c.got != c.want {
				t.Errorf("%s: %s is %q, want %q", path, c.what, c.got, c.want)
			}
		}
		if w.Concurrency != nil {
			t.Errorf("%s has the group %v: its jobs would wait for their own run", path, w.Concurrency)
		}
		want := []string{"attempt", "matrix", "setup", "timeout-minutes", "work"}
		if got := slices.Sorted(maps.Keys(plan.Outputs)); !slices.Equal(got, want) {
			t.Errorf("%s: plan has the outputs %q: they are public, want %q", path, got, want)
		}
		for name, job := range w.Jobs {
			checkout, own := job.Steps[0], job.Steps[1]
			if len(job.Steps) != 2 || checkout.With["persist-credentials"] != "false" || checkout.With["ref"] != "${{ github.event.pull_request.base.repo.default_branch }}" || own.With["mode"] != name {
				t.Errorf("%s: the job %s has the steps %+v", path, name, job.Steps)
			}
			if _, hasKey := own.With["openai-api-key"]; hasKey != (name == "work") {
				t.Errorf("%s: the job %s has the key of the model: %v", path, name, hasKey)
			}
		}
	}
}

// TestEverySampleTakesACommandFromSomebodyWhoStartsItByHand compares the choices with the
// commands, and follows them to the job that obeys.
func TestEverySampleTakesACommandFromSomebodyWhoStartsItByHand(t *testing.T) {
	t.Parallel()
	choices := append([]string{"tick"}, feedback.Commands()...)
	given := func(with map[string]string) [2]string { return [2]string{with["command"], with["issue"]} }
	want := [2]string{"${{ inputs.command }}", "${{ inputs.issue }}"}
	for name, obeys := range map[string]string{"github.yml": "tick", "linear.yml": "tick", "fleet.yml": "plan", "fleet-caller.yml": "fleet"} {
		w := readFleet(t, readText(t, samplePath(name)))
		asked := w.On.WorkflowDispatch.Inputs
		if asked["command"] == nil || asked["issue"] == nil {
			t.Errorf("%s asks for %v", name, asked)
			continue
		}
		if diff := cmp.Diff(choices, asked["command"].Options, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s: the choices (-want +got):\n%s", name, diff)
		}
		job := w.Jobs[obeys]
		if n := len(job.Steps); n > 0 {
			job.With = job.Steps[n-1].With
		}
		if got := given(job.With); got != want {
			t.Errorf("%s gives %q to %s, want %q", name, got, obeys, want)
		}
	}
	called := readFleet(t, readText(t, fleetFile))
	for _, name := range []string{"command", "issue"} {
		if input, known := called.On.WorkflowCall.Inputs[name]; !known || input.Default != "" {
			t.Errorf("what others call has the input %s: %v", name, input)
		}
	}
	if got := given(called.Jobs["plan"].Steps[1].With); got != want {
		t.Errorf("what others call gives %q to its plan, want %q", got, want)
	}
}

// TestAFleetHandsOverByArtifactsOrByReferences has each step of one way beside that of the
// other, at the same place and under the same conditions.
func TestAFleetHandsOverByArtifactsOrByReferences(t *testing.T) {
	t.Parallel()
	const byArtifacts, byRefs = "steps.check.outputs.exchange-by == 'artifacts'", "steps.check.outputs.exchange-by == 'refs'"
	conditions := map[string]string{}
	for _, s := range readManifestOf(t, fleetAction).Runs.Steps {
		conditions[s.Name] = s.If
		transfers := strings.Contains(s.Uses, "load-artifact@") && s.Name != "Upload the logs" && !strings.HasSuffix(s.Name, " again")
		if transfers != strings.HasSuffix(s.If, byArtifacts) || strings.Contains(s.Run, `"$SYMPHONY" exchange `) != strings.HasSuffix(s.If, byRefs) {
			t.Errorf("%s is done if %s", s.Name, s.If)
		}
	}
	for artifact, ref := range map[string]string{
		"Hand over the plan": "Push the plan", "Take the plan": "Pull the plan", "Take the results": "Pull the results", "Hand over the result": "Push the result",
	} {
		if got, want := strings.TrimSuffix(conditions[ref], byRefs), strings.TrimSuffix(conditions[artifact], byArtifacts); got != want || want == "" {
			t.Errorf("%s is done if %s, and %s if %s", artifact, want, ref, got)
		}
	}
}

// fleetAction is the path of the action of a fleet, from the root.
const fleetAction = ".github/fleet/action.yml"

func TestTheKeyOfTheModelReachesShardsAlone(t *testing.T) {
	t.Parallel()
	with := map[string][]string{}
	for _, s := range readManifestOf(t, fleetAction).Runs.Steps {
		for name, value := range s.Env {
			if strings.Contains(value, "openai-api-key") || strings.Contains(value, "OPENAI") || strings.Contains(value, "CODEX_API_KEY") {
				with[s.Name] = append(with[s.Name], name)
			}
		}
		if strings.Contains(fmt.Sprint(s.With), "key }}") && strings.Contains(fmt.Sprint(s.With), "inputs.") {
			t.Errorf("the step %q gives a key to another action: %v", s.Name, s.With)
		}
	}
	for _, names := range with {
		slices.Sort(names)
	}
	login := []string{"CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_IDENTITY_PROVIDER_ID", "OPENAI_SERVICE_ACCOUNT_ID"}
	if diff := cmp.Diff(map[string][]string{"Work": login}, with); diff != "" {
		t.Error(diff)
	}
}

// TestTheFleetInstallsAsTheActionDoes compares the steps that both have.
func TestTheFleetInstallsAsTheActionDoes(t *testing.T) {
	t.Parallel()
	shared := map[string]step{}
	for _, s := range readManifest(t).Runs.Steps {
		s.Run = strings.ReplaceAll(s.Run, "$GITHUB_ACTION_PATH/.github/action/", "$GITHUB_ACTION_PATH/../action/")
		shared[s.Name] = s
	}
	same := 0
	for _, s := range readManifestOf(t, fleetAction).Runs.Steps[1:7] {
		if diff := cmp.Diff(shared[s.Name], s); diff != "" {
			t.Errorf("%s (-action +fleet):\n%s", s.Name, diff)
		}
		same++
	}
	if same != 6 {
		t.Errorf("%d steps were compared", same)
	}
}

func TestTheArtifactsOfAFleetNameTheAttemptAndAreKeptForADay(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, s := range readManifestOf(t, fleetAction).Runs.Steps {
		name := s.With["name"] + s.With["pattern"]
		if !strings.Contains(s.Uses, "load-artifact@") || strings.Contains(name, "outputs.artifact") {
			continue
		}
		seen++
		if !regexp.MustCompile(`^symphony-(plan|result)-\$\{\{ steps\.check\.outputs\.attempt \}\}(-\$\{\{ steps\.check\.outputs\.shard \}\}|-\*)?$`).MatchString(name) {
			t.Errorf("%s: the name is %q", s.Name, name)
		}
		if strings.Contains(s.Uses, "upload") && s.With["retention-days"] != "1" {
			t.Errorf("%s is kept for %q days", s.Name, s.With["retention-days"])
		}
	}
	if seen != 8 {
		t.Errorf("%d steps hand something over", seen)
	}
}

// TestEveryInputOfAFleetReachesAProgramThatKnowsIt looks for each input in a step, and for
// each flag that a step gives among those of its command.
func TestEveryInputOfAFleetReachesAProgramThatKnowsIt(t *testing.T) {
	t.Parallel()
	text := readText(t, filepath.Join(root, fleetAction))
	for name := range readManifestOf(t, fleetAction).Inputs {
		if !regexp.MustCompile(`inputs\.` + name + `\b[^-]`).MatchString(text) {
			t.Errorf("nothing reads the input %s", name)
		}
	}
	given := 0
	for _, s := range readManifestOf(t, fleetAction).Runs.Steps {
		_, call, found := strings.Cut(s.Run, `exec "$SYMPHONY" `)
		if !found {
			continue
		}
		words := strings.Fields(call)
		command, rest, err := (&app{}).command().Find(words)
		name, arguments := command.CommandPath(), strings.Join(rest, " ")
		if err != nil || !command.HasParent() || command.HasSubCommands() {
			t.Fatalf("%s: there is no command in %q: %v", s.Name, call, err)
		}
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(arguments, -1) {
			if given++; command.Flag(flag[1]) == nil && command.InheritedFlags().Lookup(flag[1]) == nil {
				t.Errorf("%s: %s has no flag %s", s.Name, name, flag[0])
			}
		}
	}
	if given < 15 {
		t.Errorf("only %d flags were compared", given)
	}
}
