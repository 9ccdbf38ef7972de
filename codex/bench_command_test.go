package codex_test

import (
	"slices"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// BenchmarkCommand compares what a command that does nothing takes in the sandbox, with the real
// Codex: with no network at all, with a loopback of its own, with a /tmp of its own too, and with
// what bash reads before it.
// The kinds take turns, so that the load of the machine meets them alike, and the median counts.
func BenchmarkCommand(b *testing.B) {
	codextest.Path(b)
	kinds := []struct {
		name string
		env  []string
		set  func(*testbed)
	}{
		{"closed", []string{"BASH_ENV="}, func(c *testbed) { c.closed, c.hostTmp = true, true }},
		{"closed-again", []string{"BASH_ENV="}, func(c *testbed) { c.closed, c.hostTmp = true, true }}, // the noise
		{"loopback", []string{"BASH_ENV="}, func(c *testbed) { c.hostTmp = true }},
		{"tmp", []string{"BASH_ENV="}, func(*testbed) {}},
		{"room", nil, func(*testbed) {}},
	}
	sessions := make([]testSession, len(kinds))
	took := make([][]time.Duration, len(kinds))
	for i, kind := range kinds {
		c := newTestbed(b, plainModel)
		kind.set(c)
		sessions[i] = c.connect(false)
		defer c.close(sessions[i])
		if err := sessions[i].OpenThread(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for i, kind := range kinds {
			began := time.Now()
			result, err := sessions[i].Exec(b.Context(), codex.Exec{Argv: []string{"bash", "-c", "true"}, Env: kind.env})
			if err != nil || result.ExitCode != 0 {
				b.Fatal(result, err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, kind := range kinds {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, kind.name+"-ms")
	}
}
