package attempt

import (
	"slices"
	"testing"

	"github.com/symphony-runner/symphony/runner/room"
)

func TestTheCodexHomeIsDeniedHoweverTheServerWritesIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.openWorkspaces()
	a := newAttempt(f.job, func(Update) {})
	home := f.path("home")
	for _, written := range []string{home, home + "/", home + "/./", f.path("other/..") + "/home"} {
		if denied := room.RealPaths(a.deniedPaths(written), nil); !slices.Contains(denied, home) {
			t.Errorf("%s is not denied: %q", written, denied)
		}
	}
}
