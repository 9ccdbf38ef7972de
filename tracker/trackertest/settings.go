package trackertest

import (
	"strings"

	"github.com/symphony-runner/symphony/tracker"
)

// Decode returns the settings of a kind of tracker from values that hold no variable.
// No environment variable is set for the defaults.
func Decode(k tracker.Kind, written map[string]any) (tracker.Config, []tracker.Problem) {
	return k.Decode(written, func(_ tracker.Setting, value any) any {
		if text, ok := value.(string); ok && strings.HasPrefix(text, "$") {
			return nil
		}
		return value
	})
}
