package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// The error categories of SPEC §10.6, for errors.Is. Logs and reports show their text.
// Each package declares its own: the leaves import nothing of each other.
var (
	// ErrResponseTimeout: the server did not answer a request in time.
	ErrResponseTimeout = errors.New("response_timeout")
	// ErrSlowStart: it did not answer even the first one, or ended before that, so it has seen
	// nothing of an issue.
	ErrSlowStart = errors.New("codex_not_started")
	// ErrTurnTimeout: the turn took longer than codex.turn_timeout_ms.
	ErrTurnTimeout = errors.New("turn_timeout")
	// ErrPortExit: the connection or the thread ended during the session.
	ErrPortExit = errors.New("port_exit")
	// ErrResponse: the server refused a request, or its answer cannot be understood.
	ErrResponse = errors.New("response_error")
	// ErrTurnFailed: the server ended the turn with a failure; see [TurnError].
	ErrTurnFailed = errors.New("turn_failed")
	// ErrTurnCancelled: the turn was interrupted, by us or by the server.
	ErrTurnCancelled = errors.New("turn_cancelled")
	// ErrInputRequired: the agent waits for a person's answer; see [InputRequired].
	ErrInputRequired = errors.New("turn_input_required")
	// ErrPosture: the permissions that the server grants differ from those asked for.
	ErrPosture = errors.New("posture_mismatch")
	// ErrNotLoggedIn: the server has no login, or rejects the key.
	ErrNotLoggedIn = errors.New("codex_not_logged_in")
	// ErrTooOld: the server lacks something that sessions need.
	ErrTooOld = errors.New("codex_too_old")
	// ErrNotResumed: the server ended, or stopped answering, as it was to resume the thread.
	ErrNotResumed = errors.New("thread_not_resumed")
	// ErrInputTooLarge: the server does not take a prompt of this length.
	ErrInputTooLarge = errors.New("prompt_too_large")
	// ErrToolLimit: the agent continues to call tools after codex.max_tool_calls.
	ErrToolLimit = errors.New("tool_call_limit")
	// ErrNoModel: a model of codex.model or codex.by_label is not a model of the login.
	ErrNoModel = errors.New("model_not_found")
	// ErrSettings: Codex refuses a setting of the workflow or of its own configuration.
	ErrSettings = errors.New("codex_settings_refused")
	// ErrNoSandbox: the sandbox of the turns does not start.
	ErrNoSandbox = errors.New("sandbox_unavailable")
	// ErrNoExec: the server cannot run programs of the host in the agent's sandbox.
	ErrNoExec = errors.New("exec_unavailable")
	// ErrExecStart: a program of the host, or its sandbox, could not be started.
	ErrExecStart = errors.New("exec_not_started")
	// ErrExecTimeout: a program of the host took too long and was killed.
	ErrExecTimeout = errors.New("exec_timeout")
	// ErrExecKilled: a program of the host was killed by somebody else.
	ErrExecKilled = errors.New("exec_killed")
	// ErrExecOutput: the output of a program of the host is not whole.
	ErrExecOutput = errors.New("exec_output")
)

// ResponseError is an [ErrResponse]: the server's refusal of a request.
type ResponseError struct {
	Method  string
	Code    int
	Message string
	Data    json.RawMessage // nil when there is none
}

func (e *ResponseError) Error() string {
	s := fmt.Sprintf("%s: %v: Codex refused with %d", e.Method, ErrResponse, e.Code)
	if message := text.OneLine(e.Message, messageRunes); message != "" {
		s += ": " + message
	}
	return s
}

func (e *ResponseError) Unwrap() error { return ErrResponse }

// Is reports whether target is [ErrInputTooLarge] and the server refused the length of the
// prompt.
func (e *ResponseError) Is(target error) bool {
	return target == ErrInputTooLarge && textMember(e.Data, "inputerrorcode") == "input_too_large"
}

// unknown reports whether the server does not have the method. Codex has no error code
// for that; its message names the method as an unknown variant.
func (e *ResponseError) unknown() bool {
	return e.Code == codeUnsupported || strings.Contains(e.Message, e.Method)
}

// TurnError is a turn that the server ended without success. Its category is
// [ErrTurnFailed] or [ErrTurnCancelled].
type TurnError struct {
	Category   error
	Info       string    // the variant of codexErrorInfo, such as usageLimitExceeded; "" when none is given
	HTTPStatus int       // status of the model's provider; 0 when unknown
	Message    string    // message of the server for people
	ResetsAt   time.Time // end of a usage limit; zero when unknown
}

func (e *TurnError) Error() string {
	s := "turn: " + e.Category.Error()
	if e.Info != "" {
		s += ": " + text.OneLine(e.Info, summaryRunes)
	}
	if e.HTTPStatus != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.HTTPStatus)
	}
	if e.Message != "" {
		s += ": " + text.OneLine(e.Message, messageRunes)
	}
	return s + ": " + e.advice()
}

func (e *TurnError) advice() string {
	switch {
	case !e.ResetsAt.IsZero():
		return "wait until " + e.ResetsAt.Format(time.RFC3339) + " or raise the limit"
	case e.Info == "usageLimitExceeded" || e.Info == "sessionBudgetExceeded":
		return "raise the limit of the account, or wait for it to reset"
	case e.Info == "unauthorized" || e.HTTPStatus == 401:
		return "check the API key, the account that gives tokens, or the login of Codex"
	case e.Info == "modelNotFound":
		return "check codex.model and codex.by_label"
	case e.Info == "contextWindowExceeded":
		return "continue in a new thread"
	case e.Category == ErrTurnCancelled:
		return "start another turn to continue"
	default:
		return "see the session's log; another turn may succeed"
	}
}

func (e *TurnError) Unwrap() error { return e.Category }

// InputRequired is an [ErrInputRequired]: the agent asked questions that only a person
// can answer. It was given an empty answer.
type InputRequired struct {
	Questions []string
}

func (e *InputRequired) Error() string {
	return fmt.Sprintf("turn: %v: %s: answer in the issue", ErrInputRequired, e.summary())
}

func (e *InputRequired) summary() string {
	return "the agent asks: " + text.OneLine(strings.Join(e.Questions, " / "), messageRunes)
}

func (e *InputRequired) Unwrap() error { return ErrInputRequired }
