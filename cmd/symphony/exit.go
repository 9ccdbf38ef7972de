package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

// Exit statuses. A failed agent run is a completed tick: it shows in the report.
const (
	exitDone        = 0
	exitFailed      = 1   // the tick failed: tracker unreachable, state unreadable
	exitUsage       = 2   // bad usage or invalid workflow
	exitTaken       = 3   // another run holds the state or the workspace
	exitInterrupted = 130 // a signal ended it
)

var (
	errProblems = errors.New("validate found problems") // the workflow has problems, or something that it needs
	errFailOn   = errors.New("fail_on")                 // a completed tick that --fail-on makes a failure
)

func exitStatus(err error) int {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	if visit, ok := errors.AsType[*visitError](err); ok {
		return visit.code
	}
	switch {
	case err == nil:
		return exitDone
	case is(schedule.ErrInterrupted, context.Canceled):
		return exitInterrupted
	case is(store.ErrLocked, store.ErrConflict, workspace.ErrInUse):
		return exitTaken
	case is(wiring.ErrUsage, errProblems, action.ErrRefused, action.ErrEvent, workflow.ErrMissingFile, workflow.ErrParse, workflow.ErrNotAMap, workflow.ErrInvalid,
		prompt.ErrParse, prompt.ErrRender, // errors of a tick, not of one attempt
		tracker.ErrUnsupportedKind, tracker.ErrInvalidConfig, tracker.ErrMissingSecret, workspace.ErrRoot):
		return exitUsage
	}
	return exitFailed
}

// errorTitles holds the titles of annotations by exit status.
var errorTitles = map[int]string{
	exitFailed:      "Symphony failed",
	exitUsage:       "Symphony cannot run here",
	exitTaken:       "Another run holds the state",
	exitInterrupted: "Symphony was interrupted",
}

// visitError is the exit status of a command that ran in a room.
type visitError struct{ code int }

func (e *visitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }
