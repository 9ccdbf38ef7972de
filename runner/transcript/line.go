package transcript

import (
	"encoding/json"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

// Line is one line of an event log. It has one of Msg, Omitted (which may come with Msg),
// Event, Session, Hook and Outcome.
type Line struct {
	Millis  int64           `json:"t_ms"`                    // time since the session began
	Dir     string          `json:"dir,omitempty"`           // direction of Msg: ">" to the agent, "<" from it
	Msg     json.RawMessage `json:"msg,omitempty"`           // a message of the protocol; a string if it was no JSON
	Omitted int             `json:"omitted_bytes,omitempty"` // bytes of a long message that are not in Msg
	Event   *codex.Event    `json:"event,omitempty"`
	Session *Session        `json:"session,omitempty"` // the first line
	Hook    *Hook           `json:"hook,omitempty"`
	Outcome *Outcome        `json:"outcome,omitempty"` // the last line of a session that has ended
}

// Session names the issue and the session of a log. It is the first line.
type Session struct {
	Began      time.Time `json:"began"`
	IssueID    string    `json:"issue_id"`
	Identifier string    `json:"identifier"`
	Title      string    `json:"title,omitempty"`
	URL        string    `json:"url,omitempty"`
	State      string    `json:"state,omitempty"`       // state of the issue
	Attempt    int       `json:"attempt"`               // 0 is the first run
	Number     int       `json:"number"`                // number of the session on the issue; 1 is the first, 0 is the removal of its workspace
	Run        string    `json:"run,omitempty"`         // the workflow run; empty outside of Actions
	Host       string    `json:"worker_host,omitempty"` // worker host of the session; empty for the machine that wrote the log
}

// Hook is the result of a hook.
type Hook struct {
	Name   string `json:"name"`
	Exit   *int   `json:"exit,omitempty"`  // exit status; nil if the hook has none
	Error  string `json:"error,omitempty"` // failure of the hook; empty for none
	Output string `json:"output,omitempty"`
	Millis int64  `json:"took_ms"`
}

// The classes of the outcome of a removal. The classes of a session are in [schedule.Class].
const (
	Removed    = "removed"
	NotRemoved = "not_removed"
)

// Outcome is the end of a session, or of the removal of a workspace.
type Outcome struct {
	Class    string   `json:"class"`            // a [schedule.Class], or [Removed] or [NotRemoved]
	Status   string   `json:"status,omitempty"` // a [schedule.AttemptStatus]
	Why      string   `json:"why,omitempty"`
	Question string   `json:"question,omitempty"` // the agent's question to people
	Refused  string   `json:"refused,omitempty"`  // reasons for which its work was not published
	Warnings []string `json:"warnings,omitempty"`
	Turns    int      `json:"turns"`
	Input    int64    `json:"input_tokens"`
	Output   int64    `json:"output_tokens"`
}
