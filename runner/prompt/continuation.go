package prompt

import (
	"fmt"

	"github.com/symphony-runner/symphony/tracker"
)

// Continuation returns the text that starts each turn of a session after the first one.
// The thread holds the session's prompt already (SPEC §7.1). It is plain text: no
// template. delivers says that the work is published by the tool deliver.
func Continuation(issue tracker.Issue, turn, maxTurns int, delivers bool) string {
	end := "hand the issue over as the instructions say: move it on from its present state. If you cannot go on, say what you are missing, and hand it over all the same."
	if delivers {
		end = "call the tool `deliver` and end your turn. If you cannot go on, say what you are missing, and call it all the same."
	}
	return fmt.Sprintf(`Go on with %s. This is turn %d of at most %d, and the issue is still open for work: its state is %q.

The latest instructions in this thread stand, and so does everything you have found out and done in this session. Do not start over.

Look at what is left, and do that. When nothing is left, %s
`, issue.Identifier, turn, maxTurns, issue.State, end)
}
