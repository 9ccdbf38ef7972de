package prompt_test

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/tracker"
)

// The body of WORKFLOW.md is a strict Liquid template: a name that is unknown is an error, in
// branches that are not taken too.
func ExampleParseAt() {
	template, err := prompt.ParseAt("Work on {{ issue.identifier }}{% if issue.labels contains 'bug' %}, a bug{% endif %}.", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := template.Render(tracker.Issue{Identifier: "GH-7", Labels: []string{"bug"}}, prompt.Run{})
	fmt.Println(text, err)

	fmt.Println(prompt.Check("{% if false %}{{ issue.titel }}{% endif %}", 1))
	// Output:
	// Work on GH-7, a bug. <nil>
	// prompt: template_render_error: line 1: unknown variable "issue.titel"; issue is an object: did you mean "issue.title"?
}
