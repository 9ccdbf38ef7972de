package prompt

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/runner/nearest"
)

// instead is what to write in place of an unknown name: the known one that is
// most like it, as it reads after prefix, or else whichever there are.
func instead(name, prefix string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", prefix+near)
	}
	return "known are " + strings.Join(known, ", ")
}
