package terminal

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// LogHandler writes log records as people read them: time, level, issue, text, and the reason in
// words ([text.InWords]). The whole record belongs in a file.
type LogHandler struct {
	mu    *sync.Mutex
	w     io.Writer
	hide  func(string) string // hides secrets; nil hides none
	issue string              // identifier, or empty
	why   string              // reason from With
	inner bool                // in a group, whose attributes are not shown
}

// NewLogHandler returns a handler that writes each record as one line, with one Write.
// redact hides secrets; nil hides none.
func NewLogHandler(w io.Writer, redact func(string) string) *LogHandler {
	return &LogHandler{mu: new(sync.Mutex), w: w, hide: redact}
}

// Enabled implements [slog.Handler].
func (*LogHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (h *LogHandler) Handle(_ context.Context, r slog.Record) error {
	line := *h
	r.Attrs(func(a slog.Attr) bool {
		line.take(a)
		return true
	})
	words := []string{r.Time.Format(time.TimeOnly)}
	if r.Level != slog.LevelInfo {
		words = append(words, strings.ToLower(r.Level.String())+":")
	}
	if line.issue != "" {
		words = append(words, line.issue)
	}
	words = append(words, r.Message)
	s := strings.Join(words, " ")
	if line.why != "" {
		s += ": " + text.InWords(line.why)
	}
	if h.hide != nil { // secrets are hidden before the cut, since half a secret is not found, and twice, since a hidden character may stand inside one
		s = h.hide(s)
		s = h.hide(text.OneLine(s, len(s)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, text.OneLine(s, maxLogLine)+"\n")
	return err
}

// maxLogLine bounds a log line, in characters.
const maxLogLine = 500

// shownAttrs names the attributes that explain a record. The last one of a record is shown.
var shownAttrs = map[string]bool{"reason": true, "error": true, "warning": true}

func (h *LogHandler) take(a slog.Attr) {
	switch {
	case h.inner:
	case a.Key == "issue_identifier":
		h.issue = a.Value.Resolve().String()
	case shownAttrs[a.Key]:
		h.why = a.Value.Resolve().String()
	}
}

// WithAttrs implements [slog.Handler].
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		with.take(a)
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *LogHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.inner = with.inner || name != ""
	return &with
}
