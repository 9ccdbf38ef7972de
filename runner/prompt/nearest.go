package prompt

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// suggestion returns advice for an unknown name: the known name that is nearest to
// it, with prefix, or all the known names.
func suggestion(name, prefix string, known []string) string {
	if near := tracker.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", prefix+near)
	}
	return "known are " + strings.Join(known, ", ")
}
