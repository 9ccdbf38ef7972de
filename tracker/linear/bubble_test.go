package linear

import (
	"net/http"
	"testing"

	"github.com/symphony-runner/symphony/tracker/trackertest"
)

// bubble runs a test in virtual time, connected to a fake.
func bubble(t *testing.T, run func(t *testing.T, f *fake, c client)) {
	t.Helper()
	f := newFake(t)
	trackertest.Bubble(t, f, func(t *testing.T, base http.RoundTripper) {
		run(t, f, open(t, "http://localhost/graphql", &http.Client{Transport: base}))
	})
}
