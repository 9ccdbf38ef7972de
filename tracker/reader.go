package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Reader answers the only two questions of the orchestrator (SPEC §11.1). Both answers are
// complete, or fail with an error in a category of this package. Both return at once, without a
// request, for an empty argument.
type Reader interface {
	// IssuesByState returns the issues of the configured scope in any of the states,
	// in the tracker's order. It leaves out malformed records and reports them to the
	// function of [WithDropped]. When every record is malformed, it fails with a
	// [MalformedError].
	IssuesByState(ctx context.Context, states []string) ([]Issue, error)
	// IssuesByID returns the issues with the given ids, each once, in the order of
	// the ids. It leaves out an issue that is not visible any more. When records are
	// malformed, it fails with one [MalformedError] that names all of them.
	IssuesByID(ctx context.Context, ids []ID) ([]Issue, error)
}

// Adapter is a connected tracker: its reader and writer, and the tools of the agent.
type Adapter struct {
	Reader
	Writer Writer // makes the changes of the program itself; never nil
	// Conversation reads the comments on issues; nil where the adapter cannot.
	Conversation Conversation
	// Pictures reads the pictures on issues; nil where the adapter cannot.
	Pictures Pictures
	Tools    []Tool   // run on the host with the adapter's credential
	Warnings []string // weaknesses of its settings, one sentence each, for every report
	// Find returns the id of the issue that a person means by a name, in whatever state the
	// issue is, and "" when no visible issue has the name. It understands the names of
	// [Config.Identifier], ids, and names that only the tracker knows, such as the pull request
	// of an issue. It fails as [Reader] does, and is never nil.
	Find func(ctx context.Context, name string) (ID, error)
	// Check checks with the tracker that the names in the settings exist. Its error is
	// [ErrInvalidConfig] when they do not. It is nil when there is nothing to check. A list of
	// candidates fails in the same way, before anything is spent on them.
	Check func(context.Context) error
}

// Tool is something that the agent may ask the host to do during a session (SPEC
// §10.5). The credential stays on the host; the agent sees only the result.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // JSON Schema of the arguments
	Timeout     time.Duration   // time for a call; 0 means one minute
	// Call performs the tool for the issue of the session. It must return when ctx
	// is done. The model receives the result unchanged, so it must hold no secret.
	Call func(ctx context.Context, issue Issue, arguments json.RawMessage) ToolResult
}

// DecodeArguments decodes the arguments of a call into v, strictly: unknown members and a
// second value are errors. Numbers become [json.Number] where v leaves their type open. The
// error ends with advice on what to give.
func DecodeArguments(arguments json.RawMessage, v any, advice string) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("%s: %s", argumentProblem(err), advice)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value: give one object")
	}
	return nil
}

// argumentProblem returns the fault of arguments in plain words.
func argumentProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return "the arguments are a JSON " + wrong.Value + " and not an object"
		}
		return fmt.Sprintf("%s cannot be a JSON %s", wrong.Field, wrong.Value)
	}
	if name, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field "); isUnknown {
		return "there is no field " + name
	}
	return "the arguments are not JSON"
}

// ToolResult is the answer to the model. After a failed call the session continues.
type ToolResult struct {
	OK    bool
	Wrote bool // the call may have changed the issue, also if it failed
	Text  string
}
