package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Reader answers the only two questions the orchestrator has (SPEC §11.1).
// Both are complete or fail with an error of one of the categories below; both
// return at once, without a request, for an empty argument.
type Reader interface {
	// IssuesByState lists the issues of the configured scope in any of the
	// states, in the tracker's order. A malformed record is left out, and the
	// caller is told by [WithDropped]; when every record is malformed, the list
	// fails with a [MalformedError].
	IssuesByState(ctx context.Context, states []string) ([]Issue, error)
	// IssuesByID reads the given issues, each once, in the order asked. An
	// issue no longer visible is left out. Malformed ones fail the read with one
	// [MalformedError] that names them all.
	IssuesByID(ctx context.Context, ids []ID) ([]Issue, error)
}

// Adapter is a connected tracker: how to read it, what the agent may do with
// it.
type Adapter struct {
	Reader
	Tools    []Tool   // run on the host with the adapter's credential
	Warnings []string // what its settings weaken, one sentence each, for every report
	// IDOf returns the id of the issue that people call by an identifier; nil when
	// an id cannot be told from it.
	IDOf func(identifier string) ID
	// Check asks the tracker whether what the settings name exists; nil when
	// there is nothing to ask. Its error is [ErrInvalidConfig] when it does not.
	Check func(context.Context) error
}

// Tool is something the agent may ask the host to do during a session (SPEC
// §10.5). The credential stays on the host; the agent sees only the result.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // JSON Schema of the arguments
	// Call performs the tool for the issue of the session. It must return when
	// ctx is done. Its result goes to the model as it is, so it holds no secret.
	Call func(ctx context.Context, issue Issue, arguments json.RawMessage) ToolResult
}

// DecodeArguments decodes the arguments of a call into v, strictly: unknown members
// and a second value are errors. Numbers become [json.Number] where v leaves their type
// open. The error ends with advice, which says what to give.
func DecodeArguments(arguments json.RawMessage, v any, advice string) error {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("%w: %s", err, advice)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value: give one object")
	}
	return nil
}

// ToolResult is what the model is told. A failed call is an answer like any
// other: the session goes on.
type ToolResult struct {
	OK   bool
	Text string
}
