package transcript_test

import (
	"fmt"

	"github.com/symphony-runner/symphony/runner/transcript"
)

// An event log is read in pieces, while it grows.
func ExampleReader() {
	var r transcript.Reader
	log := []byte(`{"session":{"began":"2026-03-01T12:00:00Z","identifier":"GH-7","title":"Fix the login","number":1}}
{"t_ms":1200,"hook":{"name":"before_run","exit":1,"error":"exit status 1","output":"npm: not found"}}
`)
	entries := append(r.Feed(log), r.End()...)
	for _, e := range entries {
		fmt.Print(transcript.Text(e, transcript.Style{Width: 60}))
	}
	// Output:
	// GH-7 Fix the login
	// attempt 1, session 1, 2026-03-01 12:00:00 UTC
	// 12:00:01  hook before_run failed  (exit status 1)
	//           npm: not found
	//           exit status 1
	// 12:00:01  the log ends before the session does
}
