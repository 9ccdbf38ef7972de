package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// actionFile is what users see of action.yml, in the order of the file.
type actionFile struct{ inputs, outputs []setting }

type setting struct{ name, text, value string }

func readAction(t *testing.T) actionFile {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Inputs, Outputs yaml.Node }
	if err := yaml.Unmarshal(content, &file); err != nil {
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
	content, err := os.ReadFile(samplePath(name))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(content), "\n") // without the line that says what it is
	return "```yaml\n" + text + "```\n"
}

// TestEveryInputReachesTheProgram holds action.yml and the flags together: an
// input is a flag of the same name, or does what only the Action can do.
func TestEveryInputReachesTheProgram(t *testing.T) {
	t.Parallel()
	byAction := []string{
		"workflow",                                         // the argument
		"state-branch",                                     // a part of --state
		"openai-api-key", "linear-api-key", "github-token", // by the environment
		"codex-version", "cache-sessions", "cache-workspaces", // around the program
		"upload-logs", // what --logs and --report left
	}
	byHand := []string{"help", "once", "log-format", "logs", "port", "report"} // flags that are no inputs
	flags := (&app{}).command()
	var want []string
	add := func(name string) {
		if !slices.Contains(byHand, name) {
			want = append(want, name)
		}
	}
	for _, set := range []string{flags.Flags().FlagUsages(), flags.PersistentFlags().FlagUsages()} {
		for line := range strings.Lines(set) {
			_, rest, _ := strings.Cut(line, "--")
			name, _, _ := strings.Cut(rest, " ")
			add(name)
		}
	}
	want = append(want, byAction...)
	slices.Sort(want)
	got := names(readAction(t).inputs)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs of action.yml (-program +action):\n%s", diff)
	}
}

// TestEveryOutputIsSetByTheProgram holds the outputs together likewise.
func TestEveryOutputIsSetByTheProgram(t *testing.T) {
	t.Parallel()
	var want []string
	for _, output := range (&tickCommand{app: &app{}}).outputs(report.Tick{}, workflow.Workflow{}) {
		want = append(want, output[0])
	}
	if diff := cmp.Diff(want, names(readAction(t).outputs)); diff != "" {
		t.Errorf("outputs of action.yml (-program +action):\n%s", diff)
	}
}
