package scaffold

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"gopkg.in/yaml.v3"
)

// How workflows name the actions and the workflow of this repository.
const (
	publicAction      = "uses: symphony-runner/symphony@v1"
	publicFleetAction = "uses: symphony-runner/symphony/.github/fleet@v1"
	callersFleet      = "uses: $/.github/fleet"
	publicFleet       = "uses: symphony-runner/symphony/.github/workflows/fleet.yml@v1"
)

func sample(name string) string { return inRepository("testdata", "workflows", name) }

func inRepository(names ...string) string {
	return filepath.Join(append([]string{"..", ".."}, names...)...)
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// repository returns this repository as the project of a linter, which compares the inputs of
// its local actions with their files.
func repository(t *testing.T) *actionlint.Project {
	t.Helper()
	project, err := actionlint.NewProject(inRepository())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// lint returns the findings of the linter in a workflow of Actions.
func lint(t *testing.T, name, text string, project *actionlint.Project) []*actionlint.Error {
	t.Helper()
	options := &actionlint.LinterOptions{}
	var err error
	if options.Shellcheck, err = exec.LookPath("shellcheck"); err != nil {
		t.Log("no shellcheck here: scripts are not checked; install Debian's package of that name")
	}
	linter, err := actionlint.NewLinter(io.Discard, options)
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint(name, []byte(text), project)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// passes fails the test for each finding of the linter in a workflow of Actions.
func passes(t *testing.T, name, text string, project *actionlint.Project) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for _, e := range lint(t, name, text, project) {
		t.Errorf("%v\n%s", e, lines[min(e.Line, len(lines))-1])
	}
}

// TestTheActionPassesTheLinterOfWorkflows makes a workflow of each action, since the linter knows its way in steps and expressions, but only in workflows.
func TestTheActionPassesTheLinterOfWorkflows(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"action.yml", filepath.Join(".github", "fleet", "action.yml")} {
		var file struct {
			Inputs  map[string]struct{ Default string }
			Outputs map[string]struct{ Value string }
			Runs    struct{ Steps yaml.Node }
		}
		if err := yaml.Unmarshal([]byte(readText(t, inRepository(path))), &file); err != nil {
			t.Fatal(err)
		}
		inputs, outputs := map[string]any{}, map[string]string{}
		for name, input := range file.Inputs {
			inputs[name] = map[string]string{"type": "string", "default": input.Default}
		}
		for name, output := range file.Outputs {
			outputs[name] = output.Value
		}
		text, err := yaml.Marshal(map[string]any{
			"on": map[string]any{"workflow_call": map[string]any{"inputs": inputs}},
			"jobs": map[string]any{"action": map[string]any{
				"runs-on": "ubuntu-latest", "outputs": outputs, "steps": file.Runs.Steps.Content,
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		passes(t, path+" as a workflow", string(text), nil)
	}
}

// TestTheSampleRunsPassTheLinter lets the linter compare what they say with
// action.yml, as if the action were a local one.
func TestTheSampleRunsPassTheLinter(t *testing.T) {
	t.Parallel()
	project := repository(t)
	for _, name := range []string{"github.yml", "linear.yml"} {
		text := readText(t, sample(name))
		for _, want := range []string{"permissions:", "concurrency:", "workflow_dispatch:", "timeout-minutes:", publicAction} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		cron := regexp.MustCompile(`cron: "([0-9,]+) `).FindStringSubmatch(text)
		if cron == nil || slices.Contains(strings.Split(cron[1], ","), "0") {
			t.Errorf("%s begins on the full hour, or has no schedule: %q", name, cron)
		}
		passes(t, name, strings.Replace(text, publicAction, "uses: ./", 1), project)
	}
	passes(t, "trial.yml", readText(t, filepath.Join("templates", "trial.yml")), nil)
	text := strings.Replace(readText(t, sample("github.yml")), publicAction+"\n        with:\n", "uses: ./\n        with:\n          no-such-input: x\n", 1)
	if found := lint(t, "a misspelled input", text, project); len(found) == 0 {
		t.Error("the linter does not look at action.yml")
	}
}

// TestTheWorkflowsOfAFleetPassTheLinter gives the linter a local action in place of "$/",
// which it does not know, and of the public name: it compares the inputs with that one.
func TestTheWorkflowsOfAFleetPassTheLinter(t *testing.T) {
	t.Parallel()
	project, fleet := repository(t), inRepository(".github", "workflows", "fleet.yml")
	local := strings.NewReplacer(callersFleet, "uses: ./.github/fleet", publicFleetAction, "uses: ./.github/fleet",
		publicFleet, "uses: ./.github/workflows/fleet.yml")
	for path, uses := range map[string]int{fleet: 3, sample("fleet.yml"): 3, sample("fleet-static.yml"): 3, sample("fleet-caller.yml"): 1} {
		text := local.Replace(readText(t, path))
		if n := strings.Count(text, "uses: ./"); n != uses {
			t.Errorf("%s uses the fleet %d times", path, n)
		}
		passes(t, path, text, project)
		passes(t, path, readText(t, sample("fleet.yml")), nil) // as it is
		for _, name := range []string{"mode: plan", "shards: 16", "shards: 4"} {
			if wrong := strings.Replace(text, name, "no-such-"+name, 1); wrong != text && len(lint(t, path, wrong, project)) == 0 {
				t.Errorf("%s: the linter does not look at the inputs of the fleet", path)
			}
		}
	}
	if found := lint(t, fleet, readText(t, fleet), nil); len(found) != 3 {
		t.Errorf("actionlint finds %v: if it knows $/ now, remove .github/actionlint.yaml and lint the file as it is", found)
	}
}

func TestTheSchemaAcceptsTheSamplesAndTheDemo(t *testing.T) {
	t.Parallel()
	schema := frontMatterSchema(t)
	for _, path := range []string{sample("github.md"), sample("linear.md"), inRepository("runner", "demo", "files", "WORKFLOW.md")} {
		if err := schema.Validate(frontMatter(t, readText(t, path))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
