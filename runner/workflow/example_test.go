package workflow_test

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/file"
)

// A WORKFLOW.md is front matter with settings, and a prompt below it.
func ExampleParse() {
	wf, err := workflow.Parse("/project/WORKFLOW.md", []byte(`---
tracker: {kind: file, provider: {path: issues}}
agent: {max_turns: 3}
---
Work on {{ issue.title }}.
`), workflow.Env{TempDir: "/tmp", Trackers: []tracker.Kind{file.Kind()}})
	fmt.Println(wf.Settings.Tracker.Kind, wf.Settings.MaxTurns, wf.Settings.Policy.MaxConcurrent)
	fmt.Println(wf.Prompt, err)
	// Output:
	// file 3 10
	// Work on {{ issue.title }}. <nil>
}

// An error names each problem with its line, its key and what to do.
func ExampleParse_problem() {
	_, err := workflow.Parse("/project/WORKFLOW.md", []byte("---\ntracker: {kind: file}\nagent: {max_turns: none}\n---\n"),
		workflow.Env{TempDir: "/tmp", Trackers: []tracker.Kind{file.Kind()}})
	fmt.Println(err)
	// Output:
	// workflow /project/WORKFLOW.md: invalid_workflow_config:
	//   line 3: agent.max_turns is "none": must be an integer from 1 to 2147483647
}
