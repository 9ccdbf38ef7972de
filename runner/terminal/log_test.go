package terminal_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/runner/terminal"
)

func TestALogLineSaysWhenWhichIssueAndWhatInOneHarmlessLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		level slog.Level
		log   func(*slog.Logger) *slog.Logger
		text  string
		attrs []any
		want  string
	}{
		{slog.LevelInfo, nil, "started", []any{"workflow", "/x/WORKFLOW.md", "claims", 3}, "14:05:06 started\n"},
		{slog.LevelWarn, func(l *slog.Logger) *slog.Logger { return l.With("issue_id", "17", "issue_identifier", "GH-7") },
			"failed", []any{"outcome", "issue", "reason", "turn: turn_failed: other: exit code 1"}, "14:05:06 warn: GH-7 failed: exit code 1\n"},
		{slog.LevelError, nil, "not read", []any{"error", errors.New("no \x1b[2Jroute\nGH-1 completed")}, "14:05:06 error: not read: no [2Jroute GH-1 completed\n"},
		{slog.LevelInfo, func(l *slog.Logger) *slog.Logger { return l.WithGroup("g") }, "grouped", []any{"reason", "hidden"}, "14:05:06 grouped\n"},
	} {
		var out bytes.Buffer
		var h slog.Handler = terminal.NewLogHandler(&out, nil)
		if test.log != nil {
			h = test.log(slog.New(h)).Handler()
		}
		r := slog.NewRecord(time.Date(2026, 11, 22, 14, 5, 6, 0, time.UTC), test.level, test.text, 0)
		r.Add(test.attrs...)
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if terminal.NewLogHandler(nil, nil).Enabled(t.Context(), slog.LevelDebug) {
		t.Error("debug records are logged")
	}
}

// The scrollback keeps log lines, where what splits a secret is not visible.
func TestNoPartOfASecretIsLogged(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2hunter2"
	for name, text := range map[string]string{
		"whole":                          secret,
		"split by a hidden character":    secret[:7] + "\u200b" + secret[7:],
		"split by a control character":   secret[:7] + "\x00" + secret[7:],
		"at the end of the longest line": strings.Repeat("x", 480) + secret[:7] + "\u200b" + secret[7:],
	} {
		var out bytes.Buffer
		log := slog.New(terminal.NewLogHandler(&out, func(text string) string { return strings.ReplaceAll(text, secret, "***") }))
		log.Info("said", "reason", text)
		if got := out.String(); strings.Contains(got, "hunt") || !strings.Contains(got, "***") && len(text) < 100 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
