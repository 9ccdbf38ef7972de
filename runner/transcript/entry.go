package transcript

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the subject of an [Entry].
type Kind string

// The kinds of entries.
const (
	KindSession Kind = "session" // the issue of the session; the first entry
	KindPrompt  Kind = "prompt"  // the prompt of a turn
	KindThought Kind = "thought" // a thought of the agent
	KindMessage Kind = "message" // a message of the agent
	KindCommand Kind = "command" // a command of the agent
	KindFiles   Kind = "files"   // a change of files, as a diff
	KindTool    Kind = "tool"    // a call of a tool
	KindTurn    Kind = "turn"    // the end of a turn, with its tokens
	KindHook    Kind = "hook"    // the end of a hook
	KindNotice  Kind = "notice"  // a warning, an error, an answer to a request
	KindOutcome Kind = "outcome" // the outcome of the session; the last entry
)

// Entry is one thing that happened in a session. Its texts are clean and bounded.
type Entry struct {
	At      time.Time     // zero if the log does not say when the session began
	Since   time.Duration // the beginning of the session
	Kind    Kind
	Title   string // one line; of a command the command
	Input   string // lines; of a tool call its arguments, of a command of several lines all of it
	Text    string // lines; of a command its output, of files a unified diff
	Exit    *int   // the exit status of a command or a hook; nil without one
	Took    time.Duration
	Omitted int  // bytes that the log or this entry leaves out of Input and Text
	Failed  bool // the command, tool or turn failed
}

// Details returns the exit status and the duration.
// It is empty for most entries.
func (e Entry) Details() string {
	var parts []string
	switch {
	case e.Exit != nil:
		parts = append(parts, fmt.Sprintf("exit status %d", *e.Exit))
	case e.Failed && (e.Kind == KindCommand || e.Kind == KindFiles || e.Kind == KindTool):
		parts = append(parts, "failed")
	}
	if e.Took > 0 {
		parts = append(parts, duration(e.Took))
	}
	return strings.Join(parts, ", ")
}

// Clock returns the time of the entry: the time of day in UTC, or else the time since the
// session began.
func (e Entry) Clock() string {
	if e.At.IsZero() {
		return "+" + duration(e.Since)
	}
	return e.At.UTC().Format(time.TimeOnly)
}

// duration returns d as people read it, in about two digits.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", grouped(n), noun)
}

func grouped(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
