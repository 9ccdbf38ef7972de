package action

import (
	"fmt"
	"os"
	"strings"
)

// maxSummary is the longest summary of a step that GitHub shows, in bytes. It shows nothing of
// a longer one.
const maxSummary = 1 << 20

// Summary appends Markdown to the summary of the step. Text that is too long is
// cut between blocks, and a notice says so. It fails with [ErrCommandFile] when
// the file cannot be written or is full. Outside Actions there is no summary.
func (r *Runtime) Summary(markdown string) error {
	if !r.inActions {
		return nil
	}
	const operation, variable = "write step summary", "GITHUB_STEP_SUMMARY"
	room := maxSummary - len("\n") // the library appends the line feed
	if info, err := os.Stat(r.getenv(variable)); err == nil {
		room -= int(min(info.Size(), maxSummary))
	}
	fitting, ok := truncate(markdown, room)
	if !ok {
		return fmt.Errorf("%s: %w: the file of %s is full; write less to it before", operation, ErrCommandFile, variable)
	}
	if err := try(func() { r.lib.AddStepSummary(fitting) }); err != nil {
		return file(operation, variable, err)
	}
	return nil
}

const truncated = "_The rest was left out: GitHub shows 1 MiB at most._"

// truncate returns at most room bytes of our own Markdown, whose blocks are
// separated by empty lines and whose <details> are never nested. Text that is too
// long ends before the last block that does not fit, outside of <details>, with a
// notice, which does not stand below a heading. It reports false when not even the
// notice fits.
func truncate(markdown string, room int) (fitting string, ok bool) {
	if len(markdown) <= room {
		return markdown, true
	}
	room -= len("\n\n" + truncated)
	if room < 0 {
		return "", false
	}
	kept := markdown[:room]
	kept = kept[:max(0, strings.LastIndex(kept, "\n\n"))]
	if open := strings.LastIndex(kept, "<details>"); open > strings.LastIndex(kept, "</details>") {
		kept = strings.TrimRight(kept[:open], "\n")
	}
	if last := strings.LastIndex(kept, "\n\n"); last >= 0 && strings.HasPrefix(kept[last:], "\n\n#") {
		kept = kept[:last] // nothing would stand below that heading
	}
	if kept != "" {
		kept += "\n\n"
	}
	return kept + truncated, true
}
