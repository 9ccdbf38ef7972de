package attempt

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// BenchmarkEventLog writes the logs of recorded sessions with a command, as every session
// leaves one.
func BenchmarkEventLog(b *testing.B) {
	text, err := os.ReadFile("../../codex/testdata/transcripts/recommended_posture_full_turn.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	type message struct {
		Dir string
		Msg json.RawMessage
	}
	var messages []message
	for line := range bytes.Lines(text) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			b.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, m.Msg); err != nil { // as Codex writes it
			b.Fatal(err)
		}
		messages = append(messages, message{m.Dir, compact.Bytes()})
	}
	b.SetBytes(int64(len(text)))
	hide := redact.New("hunter2hunter2", "ghs_0123456789abcdefghijklmnopqrstuvwxyz").String
	folder, n := b.TempDir(), 0
	for b.Loop() {
		n++
		l := OpenEventLog(LogOptions{
			Folder: folder, Name: transcript.Name("A-1", time.Unix(int64(n), 0), n), Redact: hide, Log: slog.New(slog.DiscardHandler),
			Session: transcript.Session{Began: time.Now()},
		})
		for _, m := range messages {
			l.wire(m.Dir[0], m.Msg)
		}
		l.End(schedule.Outcome{})
	}
}
