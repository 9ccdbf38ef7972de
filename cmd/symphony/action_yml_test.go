package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// ownUse is how users' workflows name this action.
const ownUse = "uses: symphony-runner/symphony@v1"

func TestNoValueIsSplicedIntoAScript(t *testing.T) {
	t.Parallel()
	for _, path := range actionFiles(t) {
		var file any
		if err := yaml.Unmarshal([]byte(readText(t, path)), &file); err != nil {
			t.Fatal(err)
		}
		each(file, func(key string, value any) {
			if script, ok := value.(string); ok && key == "run" && strings.Contains(script, "${{") {
				t.Errorf("%s: a value is spliced into\n%s", path, script)
			}
		})
	}
}

// TestActionsOfOthersArePinnedByCommit also holds an action to one version.
func TestActionsOfOthersArePinnedByCommit(t *testing.T) {
	t.Parallel()
	pin := regexp.MustCompile(`^([\w/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$`)
	versions := map[string]string{}
	for _, path := range actionFiles(t) {
		for line := range strings.Lines(readText(t, path)) {
			used, found := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "- "), "uses: ")
			if !found || used == "./" || slices.Contains([]string{ownUse, fleetOfCaller, fleetOfCopy, fleetCall}, "uses: "+used) {
				continue
			}
			parts := pin.FindStringSubmatch(used)
			if parts == nil {
				t.Errorf("%s: not pinned by commit with the version in a comment: %s", path, used)
				continue
			}
			repository := strings.Join(strings.Split(parts[1], "/")[:2], "/")
			if other, ok := versions[repository]; ok && other != parts[2]+parts[3] {
				t.Errorf("%s: another version of %s than elsewhere: %s", path, repository, used)
			}
			versions[repository] = parts[2] + parts[3]
		}
	}
	if len(versions) < 6 {
		t.Errorf("only %v were found", versions)
	}
}

// TestBinariesAreBuiltWithAPatchReleaseOfGo covers both ways: setup-go takes the
// toolchain of go.mod, which this program is built from source with.
func TestBinariesAreBuiltWithAPatchReleaseOfGo(t *testing.T) {
	t.Parallel()
	module := readText(t, "../../go.mod")
	minor := regexp.MustCompile(`(?m)^go (1\.\d+)\.0$`).FindStringSubmatch(module)
	toolchain := regexp.MustCompile(`(?m)^toolchain go(1\.\d+)\.([1-9]\d*)$`).FindStringSubmatch(module)
	if minor == nil || toolchain == nil || minor[1] != toolchain[1] {
		t.Fatalf("go.mod has the version %q and the toolchain %q", minor, toolchain)
	}
	var release struct {
		Jobs struct{ Binaries struct{ Steps []step } }
	}
	if err := yaml.Unmarshal([]byte(readText(t, "../../.github/workflows/release.yml")), &release); err != nil {
		t.Fatal(err)
	}
	for _, s := range release.Jobs.Binaries.Steps {
		if strings.HasPrefix(s.Uses, "actions/setup-go@") && s.With["go-version"] == minor[1]+".x" && s.With["check-latest"] == "true" {
			return
		}
	}
	t.Errorf("the release does not look for the newest patch release of Go %s", minor[1])
}

// actionFiles returns the paths of both actions and of all workflows, those of users too.
func actionFiles(t *testing.T) []string {
	t.Helper()
	workflows, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(workflows) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	samples, err := filepath.Glob(samplePath("*.yml"))
	if err != nil || len(samples) < 4 {
		t.Fatalf("the samples %q: %v", samples, err)
	}
	return slices.Concat(workflows, samples, []string{"../../action.yml", filepath.Join(root, fleetAction), trialFile})
}

// each calls f with every value of a map in a document.
func each(v any, f func(key string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			f(key, value)
			each(value, f)
		}
	case []any:
		for _, value := range v {
			each(value, f)
		}
	}
}

// actionFile is what users see of action.yml, in the order of the file.
type actionFile struct{ inputs, outputs []setting }

type setting struct{ name, text, value string }

func readAction(t *testing.T) actionFile { return readActionOf(t, "action.yml") }

// readActionOf reads the action at a path from the root.
func readActionOf(t *testing.T, path string) actionFile {
	t.Helper()
	var file struct{ Inputs, Outputs yaml.Node }
	if err := yaml.Unmarshal([]byte(readText(t, filepath.Join(root, path))), &file); err != nil {
		t.Fatal(err)
	}
	return actionFile{settings(t, file.Inputs), settings(t, file.Outputs)}
}

func settings(t *testing.T, all yaml.Node) []setting {
	t.Helper()
	var list []setting
	for i := 0; i < len(all.Content); i += 2 {
		var fields struct{ Description, Default string }
		if err := all.Content[i+1].Decode(&fields); err != nil {
			t.Fatal(err)
		}
		list = append(list, setting{all.Content[i].Value, fields.Description, fields.Default})
	}
	return list
}

func names(all []setting) []string {
	var list []string
	for _, s := range all {
		list = append(list, s.name)
	}
	return list
}

func (f actionFile) inputTable() string {
	var b strings.Builder
	b.WriteString("| input | default | |\n|---|---|---|\n")
	for _, s := range f.inputs {
		value := s.value
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.name, value, s.text)
	}
	return b.String()
}

func (f actionFile) outputTable() string {
	var b strings.Builder
	b.WriteString("| output | |\n|---|---|\n")
	for _, s := range f.outputs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s.name, s.text)
	}
	return b.String()
}

// sampleRun returns a sample of a user's workflow file as the documents show it.
func sampleRun(t *testing.T, name string) string {
	t.Helper()
	_, text, _ := strings.Cut(readText(t, samplePath(name)), "\n") // without the line that says what it is
	return "```yaml\n" + text + "```\n"
}

// TestEveryInputReachesTheProgram compares action.yml with the flags: an
// input is a flag of the same name, or does what only the Action can do.
func TestEveryInputReachesTheProgram(t *testing.T) {
	t.Parallel()
	byAction := []string{
		"workflow",                                         // the argument
		"state-branch",                                     // a part of --state
		"openai-api-key", "linear-api-key", "github-token", // by the environment
		"openai-identity-provider", "openai-service-account", // the same
		"app-id", "private-key", // the same
		"codex-version", "cache-sessions", "cache-workspaces", // around the program
		"upload-logs", // what --logs and --report left
	}
	byHand := []string{"help", "once", "log-format", "logs", "port", "report", "metrics", "telemetry"} // flags that are not inputs; telemetry.otlp of WORKFLOW.md is the way of a job
	var want []string
	(&app{}).command().LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(byHand, flag.Name) {
			want = append(want, flag.Name)
		}
	})
	want = append(want, byAction...)
	slices.Sort(want)
	got := names(readAction(t).inputs)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs of action.yml (-program +action):\n%s", diff)
	}
}

// The private key of an App is for the steps that run the program, and for no other.
func TestTheKeyOfAnAppReachesTheProgramAlone(t *testing.T) {
	t.Parallel()
	var reached []string
	for _, s := range readManifest(t).Runs.Steps {
		for name, value := range s.Env {
			if !strings.Contains(value, "private-key") && !strings.Contains(value, wiring.AppKeyVariable) {
				continue
			}
			reached = append(reached, s.ID)
			if name != wiring.AppKeyVariable || value != "${{ inputs.private-key || env."+wiring.AppKeyVariable+" }}" || s.Env[wiring.AppIDVariable] != "${{ inputs.app-id || env."+wiring.AppIDVariable+" }}" {
				t.Errorf("the step %s has %s: %s and %s: %s", s.ID, name, value, wiring.AppIDVariable, s.Env[wiring.AppIDVariable])
			}
		}
	}
	if diff := cmp.Diff([]string{"plan", "run"}, reached); diff != "" {
		t.Error(diff)
	}
}

// TestEveryOutputIsSetByTheProgram compares the outputs in the same way.
func TestEveryOutputIsSetByTheProgram(t *testing.T) {
	t.Parallel()
	var want []string
	for _, output := range (&tickReport{app: &app{}}).outputs(report.Tick{}) {
		want = append(want, output[0])
	}
	if diff := cmp.Diff(want, names(readAction(t).outputs)); diff != "" {
		t.Errorf("outputs of action.yml (-program +action):\n%s", diff)
	}
}

// TestEveryOutputThatAnActionReadsIsWritten compares the outputs that the steps of both actions
// read with the outputs that their scripts, the program and actions/cache/restore write.
func TestEveryOutputThatAnActionReadsIsWritten(t *testing.T) {
	t.Parallel()
	written := map[string][]string{"pushed": {"plan"}, "pulled": {"idle"}, "collect": {"settled"}} // by exchange, and for drop
	for _, step := range []string{"trial", "savedstate", "savedsessions", "savedworkspaces", "savedthreads"} {
		written[step] = []string{"cache-hit"}
	}
	for script, steps := range map[string][]string{
		"check": {"check"}, "install": {"install"}, "build": {"built"}, "keep": {"keep"}, "codex": {"codex", "preparer"}, "workspaces": {"gather"}, "threads": {"threads"}, "prepared": {"prepared"},
	} {
		for _, m := range regexp.MustCompile(`(?:echo "|  put )([a-z-]+)[= ]`).FindAllStringSubmatch(readText(t, filepath.Join(root, ".github", "action", script+".sh")), -1) {
			for _, step := range steps {
				written[step] = append(written[step], m[1])
			}
		}
	}
	dry := tickOptions{dryRun: true}
	for step, outputs := range map[string][][2]string{
		"plan": slices.Concat((&tickReport{app: &app{}, tickOptions: dry}).outputs(report.Tick{}),
			(&planCommand{app: &app{}, made: fleet.Plan{Owner: schedule.Owner{Run: "1"}}}).shardOutputs(action.Event{}, workflow.Workflow{})),
		"run":     (&tickReport{app: &app{}}).outputs(report.Tick{}),
		"collect": (&tickReport{app: &app{}}).outputs(report.Tick{}),
	} {
		for _, output := range outputs {
			written[step] = append(written[step], output[0])
		}
	}
	for path, least := range map[string]int{"action.yml": 20, fleetAction: 40} {
		read := regexp.MustCompile(`steps\.([a-z]+)\.outputs\.([a-z-]+)`).FindAllStringSubmatch(readText(t, filepath.Join(root, path)), -1)
		if len(read) < least {
			t.Fatalf("%s: only %d outputs are read", path, len(read))
		}
		for _, m := range read {
			if !slices.Contains(written[m[1]], m[2]) {
				t.Errorf("%s reads %s, but that step writes %v", path, m[0], written[m[1]])
			}
		}
	}
}
