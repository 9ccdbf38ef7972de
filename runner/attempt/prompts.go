package attempt

import (
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/workspace"
)

// prompts holds the text of the first turn, for a new thread and for one that is
// resumed: which of them it is, Codex says when the session is open.
type prompts struct{ fresh, resumed string }

// prompts renders the template for a workspace. It runs before the agent is
// started, so a template that fails costs no process.
func (a *attempt) prompts(template *prompt.Template, ws workspace.Workspace) (p prompts, err error) {
	run := prompt.Run{Attempt: a.Attempt, WorkspaceKept: !ws.CreatedNow}
	if p.fresh, err = template.Render(a.Issue, run); err != nil || a.Thread == "" {
		return p, err
	}
	run.Resumed = true
	p.resumed, err = template.Render(a.Issue, run)
	return p, err
}

// first returns the text of the first turn.
func (p prompts) first(resumed bool) string {
	if resumed {
		return p.resumed
	}
	return p.fresh
}
