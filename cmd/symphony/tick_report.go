package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// tickReport completes, prints and publishes the report of a tick, or of a part of one.
type tickReport struct {
	*app
	tickOptions
	wf    workflow.Workflow
	event action.Event // start of the job; zero outside Actions
}

// finish prints and publishes the report of a whole tick. It returns the error that the command
// fails with, or nil.
func (t *tickReport) finish(tick report.Tick, err error) error {
	if nothingDone(tick, &err) {
		return err
	}
	tick = t.complete(tick, err, false)
	follows := tick.Work() && t.runFollows()
	return t.conclude(tick, err, errors.Join(
		t.printReport(tick), t.writeReport(tick), t.writeMetrics(tick), t.publish(tick, err != nil || !follows, t.outputs(tick))))
}

// complete returns the tick with the parts of a report that the runner does not know, and
// without secrets. located says that its rows have the places of logs and kept work already.
func (t *tickReport) complete(tick report.Tick, err error, located bool) report.Tick {
	if err != nil && !errors.Is(err, schedule.ErrInterrupted) && !slices.Contains(tick.Errors, err.Error()) {
		tick.Errors = append(tick.Errors, err.Error())
	}
	tick.Warnings = append(tick.Warnings, t.warnings...)
	tick.StartedBy = t.event.Cause()
	tick.Scheduled, tick.State, tick.Program = t.Actions.InActions(), t.statePlace().FlagFor(t.wf.Path), t.ownCommand()
	t.order.answer(&tick, t.app, t.wf)
	t.locateJobs(&tick)
	if !located {
		t.places().locateKept(&tick)
		t.places().locateLogs(&tick)
	}
	if t.openedAsJob(tick) {
		tick.Notices = append(tick.Notices, checksWait)
	}
	return wiring.Redacted(tick, t.redactor)
}

// conclude returns the error that the command fails with, or nil, and prints it. err is the
// error of the tick, and failures holds the errors of its report.
func (t *tickReport) conclude(tick report.Tick, err, failures error) error {
	if err == nil && failures == nil {
		failures = t.failOnError(tick)
	}
	if err != nil && !t.Actions.InActions() { // inside Actions the report has annotated it
		t.printError(err)
	}
	if failures != nil {
		t.printError(failures)
	}
	t.reported = true
	return errors.Join(err, failures)
}

// printReport prints the report of a tick. It goes to standard error if the reader of standard
// output is gone: Ctrl-C also ends the tee of a pipeline.
func (t *tickReport) printReport(tick report.Tick) error {
	all := report.Of(tick)
	out, isOutput := t.Stdout.(*output)
	before := isOutput && out.err == nil
	if err := t.print(all); err != nil || !before || !errors.Is(out.err, syscall.EPIPE) {
		return err
	}
	elsewhere := &output{w: t.Stderr}
	t.Stdout = elsewhere
	err := t.print(all)
	t.Stdout, out.kept = out, elsewhere.err == nil
	return err
}

// failOnError returns the error of a completed tick that --fail-on makes a failure, or
// nil.
func (t *tickReport) failOnError(tick report.Tick) error {
	failed, parked := tick.Counts().Failed, tick.ParkedCount()
	switch {
	case parked > 0 && t.failOn != failNever:
		return fmt.Errorf("%w: %d parked in this tick; see what they ask in the report", errFailOn, parked)
	case failed > 0 && t.failOn == failFailed:
		return fmt.Errorf("%w: %d failed in this tick; see why in the report", errFailOn, failed)
	}
	return nil
}

// nothingDone reports whether a tick ended before it did anything, so that there is nothing to
// report. A state that its place refuses is an error of usage then.
func nothingDone(tick report.Tick, err *error) bool {
	if errors.Is(*err, store.ErrRefused) && tick.Acted == 0 {
		*err = fmt.Errorf("%w: %w", wiring.ErrUsage, *err) // --state is wrong
	}
	return exitStatus(*err) == exitUsage || errors.Is(*err, store.ErrLocked) && tick.Acted == 0
}

func (t *tickReport) writeReport(tick report.Tick) error {
	if t.reportFile == "" {
		return nil
	}
	s, err := json.MarshalIndent(report.Of(tick), "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(t.reportFile), 0o700)
	}
	if err == nil {
		err = os.WriteFile(t.reportFile, []byte(text.EscapeJSON(string(s))+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w; give --report a file that can be written", err)
	}
	return nil
}

// placed returns a progress with the words that start this program and the place of its state.
func (t *tickReport) placed(p progress.Progress) progress.Progress {
	p.Program, p.State = t.ownCommand(), t.statePlace().FlagFor(t.wf.Path)
	return p
}

func (t *tickReport) places() logPlaces {
	return logPlaces{t.Actions.InActions(), t.Value("SYMPHONY_ARTIFACT"), t.logs, t.ownCommand(), t.wf.Path}
}
