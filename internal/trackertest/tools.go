package trackertest

import (
	"context"
	"encoding/json"
	"regexp"

	"github.com/google/go-cmp/cmp"
	"github.com/symphony-runner/symphony/tracker"
)

// toolName matches a name that Codex takes for a tool.
var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func toolsDescribe(p *probe) {
	names := make(map[string]bool)
	for _, tool := range p.Adapter.Tools {
		if !toolName.MatchString(tool.Name) || names[tool.Name] {
			p.t.Errorf("name %q: want one of its own, lower case with underscores", tool.Name)
		}
		names[tool.Name] = true
		if tool.Description == "" {
			p.t.Errorf("%s has no description", tool.Name)
		}
		var schema struct{ Type string }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" {
			p.t.Errorf("%s: schema of type %q, error %v: want that of an object", tool.Name, schema.Type, err)
		}
	}
}

func toolsRefuse(p *probe) {
	issue := p.mustRead(p.put("subject"))[0]
	before := 0
	if p.Requests != nil {
		before = p.Requests()
	}
	for _, arguments := range []string{``, `{`, `null`, `[]`, `"text"`, `7`, `{}`, `{"nonsense": true}`} {
		p.checkRefused(issue, arguments)
	}
	if p.Requests != nil && p.Requests() != before {
		p.t.Errorf("%d requests were made", p.Requests()-before)
	}
	if diff := cmp.Diff([]tracker.Issue{issue}, p.mustRead(issue.ID)); diff != "" {
		p.t.Errorf("a refused call changed the issue (-want +got):\n%s", diff)
	}
}

func toolsDo(p *probe) {
	issue := p.mustRead(p.put("subject"))[0]
	for _, tool := range p.Adapter.Tools {
		result := p.call(p.t.Context(), tool, issue, p.Calls[tool.Name])
		if !result.OK || result.Text == "" {
			p.t.Errorf("%s(%s): OK %t, text %q: want a success", tool.Name, p.Calls[tool.Name], result.OK, result.Text)
		}
	}
}

func toolsCanceled(p *probe) {
	want := p.mustRead(p.put("subject"))
	ctx, cancel := context.WithCancel(p.t.Context())
	cancel()
	for _, tool := range p.Adapter.Tools {
		if result := p.call(ctx, tool, want[0], p.Calls[tool.Name]); result.OK {
			p.t.Errorf("%s succeeded: %s", tool.Name, result.Text)
		}
	}
	if diff := cmp.Diff(want, p.mustRead(want[0].ID)); diff != "" {
		p.t.Errorf("a canceled tool changed the issue (-want +got):\n%s", diff)
	}
}

// checkRefused checks that every tool answers a call, with a failure.
func (p *probe) checkRefused(issue tracker.Issue, arguments string) {
	p.t.Helper()
	for _, tool := range p.Adapter.Tools {
		result := p.call(p.t.Context(), tool, issue, arguments)
		if result.OK || result.Text == "" {
			p.t.Errorf("%s(%s): OK %t, text %q: want a failure that says why", tool.Name, arguments, result.OK, result.Text)
		}
	}
}

func (p *probe) call(ctx context.Context, tool tracker.Tool, issue tracker.Issue, arguments string) tracker.ToolResult {
	result := tool.Call(ctx, issue, json.RawMessage(arguments))
	p.output.WriteString(result.Text + "\n")
	return result
}
