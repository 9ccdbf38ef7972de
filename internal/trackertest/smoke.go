package trackertest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// SmokeSettings returns the values of the two environment variables that choose the
// real tracker of a smoke test and its credential. It skips the test when neither is
// set, and fails it when only one is.
func SmokeSettings(t *testing.T, placeVariable, secretVariable string) (place, secret string) {
	t.Helper()
	place, secret = os.Getenv(placeVariable), os.Getenv(secretVariable)
	switch {
	case place == "" && secret == "":
		t.Skipf("neither %s nor %s is set: the real tracker is not tried", placeVariable, secretVariable)
	case place == "" || secret == "":
		t.Fatalf("one of %s and %s is set: set both, or none", placeVariable, secretVariable)
	}
	return place, secret
}

// Eventually calls look until it returns nil, for about half a minute, because a real
// tracker may show a change a little later. It stops when the tracker refuses.
func Eventually(ctx context.Context, look func() error) error {
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		err := look()
		if err == nil || pause > 16*time.Second || errors.Is(err, tracker.ErrStatus) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}
