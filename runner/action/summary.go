package action

import (
	"fmt"
	"os"
)

// maxSummary is how much of a step's summary GitHub takes, in bytes; of more it
// shows nothing.
const maxSummary = 1 << 20

// Summary appends Markdown to the summary of the step. What is too long is cut,
// between blocks, rows or items, and says how much is gone. It fails with
// [ErrCommandFile] when the file cannot be written or is full. Outside Actions
// there is no summary.
func (r *Runtime) Summary(markdown string) error {
	if !r.inside {
		return nil
	}
	const operation, variable = "write step summary", "GITHUB_STEP_SUMMARY"
	room := maxSummary - len("\n") // which the library appends
	if info, err := os.Stat(r.getenv(variable)); err == nil {
		room -= int(min(info.Size(), maxSummary))
	}
	fitting, ok := cut(markdown, room)
	if !ok {
		return fmt.Errorf("%s: %w: the file of %s is full; write less to it before", operation, ErrCommandFile, variable)
	}
	if err := try(func() { r.lib.AddStepSummary(fitting) }); err != nil {
		return file(operation, variable, err)
	}
	return nil
}
