package prompt

import (
	"fmt"

	"github.com/symphony-runner/symphony/tracker"
)

// Continuation returns what the agent is told at the start of a turn after the
// first one of a session. The thread holds the session's prompt already
// (SPEC §7.1). It is plain text: no template.
func Continuation(issue tracker.Issue, turn, maxTurns int) string {
	return fmt.Sprintf(`Go on with %s. This is turn %d of at most %d, and the issue is still open for work: its state is %q.

The latest instructions in this thread stand, and so does everything you have found out and done in this session. Do not start over.

Look at what is left, and do that. When nothing is left, hand the issue over as the instructions say: move it on from its present state. If you cannot go on, say what you are missing, and hand it over all the same.
`, issue.Identifier, turn, maxTurns, issue.State)
}

// resumption returns what stands before the prompt when a session continues the
// thread of an earlier one (SPEC §7.1). The thread holds an older rendering of
// the prompt, so this says which of the two counts and what may be different.
func resumption(issue tracker.Issue, run Run) string {
	workspace := "The workspace was kept: it is the folder that an earlier session on this issue left. Hooks and people may have changed it since: check before you build on what you remember."
	if !run.WorkspaceKept {
		workspace = "The workspace is new. Files and commits that you made and that were not published are gone from it: check what is there before you build on what you remember, and make again what is missing."
	}
	return fmt.Sprintf(`This thread continues: a new session works on %s, and what you know from the turns before still helps you.

- %s
- The prompt below is rendered for this session, from the issue as it is now; its state is %q. People may have changed the issue or the instructions. Where the prompt differs from what stands earlier in this thread, the prompt below counts.

`, issue.Identifier, workspace, issue.State)
}
