package runlog

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
)

func TestAFollowerShowsWhatASessionWrites(t *testing.T) {
	t.Parallel()
	const (
		secret  = "hunter2hunter2"
		name    = "GH-7/20260301T120000.000Z-1.jsonl"
		began   = `{"t_ms":0,"session":{"began":"2026-03-01T12:00:00Z","identifier":"GH-7"}}` + "\n"
		command = `{"t_ms":5,"dir":"<","msg":{"method":"item/started","params":{"item":{"id":"1","type":"commandExecution","command":"make ` + secret + `"}}}}` + "\n"
		ended   = `{"t_ms":9,"outcome":{"class":"done"}}` + "\n"
	)
	hidden := strings.ReplaceAll(command, secret, "***")
	for title, test := range map[string]struct {
		parts     []string // written one after the other, each when the follower has shown the one before
		once      bool     // the log is not followed
		closes    bool     // the session is killed after the last part
		interrupt bool
		want      []string
	}{
		"until the outcome": {
			parts: []string{began + command[:9], command[9:], ended},
			want:  []string{began, "session", hidden, "doing: running `make ***`", "doing: ", ended, "command", "outcome", ""},
		},
		"until the session is killed": {
			parts: []string{began, command[:9]}, closes: true,
			want: []string{began, "session", command[:9], "notice", "outcome"},
		},
		"until somebody interrupts": {
			parts: []string{command}, interrupt: true,
			want: []string{hidden, "doing: running `make ***`", "doing: "},
		},
		"as far as it goes": {
			parts: []string{began + command}, once: true,
			want: []string{began + hidden, "session", "", "command", "notice"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				folder := t.TempDir()
				session, err := transcript.Create(folder, name)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				log, err := transcript.Open(folder, name)
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				var shown []string
				f := Follower{
					Log: &io.LimitedReader{R: log, N: 1 << 20}, Redact: redact.New(secret).String, Follow: !test.once,
					Show: func(lines []byte, entries []transcript.Entry) error {
						shown = append(shown, string(lines))
						for _, e := range entries {
							shown = append(shown, string(e.Kind))
						}
						return nil
					},
					Doing: func(doing string) { shown = append(shown, "doing: "+doing) },
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				for i, part := range test.parts {
					if _, err := session.WriteString(part); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						go func() { done <- f.Run(ctx) }()
					}
					time.Sleep(followEvery)
					synctest.Wait()
				}
				if test.closes {
					session.Close()
				}
				if test.interrupt {
					cancel()
				}
				if err := <-done; errors.Is(err, schedule.ErrInterrupted) != test.interrupt || err != nil && !test.interrupt {
					t.Error(err)
				}
				if diff := cmp.Diff(test.want, shown); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
