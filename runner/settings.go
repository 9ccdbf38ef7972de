package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
)

// settings reads WORKFLOW.md again and again, and keeps the connections of the last good
// version open.
type settings struct {
	*core
	issues    *issueReader
	setup     *setupDigest
	workflows Workflows
	open      func(context.Context, workflow.Workflow) (Connection, error)
	watched   bool // a person watches the run on a status page

	bad     schedule.Why // reason why nothing may be started with this workflow; zero if it is valid
	badText string       // the workflow error that was logged last
	noRoot  schedule.Why // reason why the folder of the workspaces cannot be used; zero if it can
}

// first puts the workflow into force with which a run begins.
func (s *settings) first(ctx context.Context) error {
	wf, err := s.workflows.Current()
	if err != nil {
		return err
	}
	return s.apply(ctx, wf)
}

// hold returns the reason why nothing may be started; zero if there is none.
func (s *settings) hold() schedule.Why {
	if !s.bad.None() {
		return s.bad
	}
	return s.noRoot
}

// reload reads WORKFLOW.md again (SPEC §6.2). After a bad edit the last good
// version stays in force, and nothing is dispatched until the file is fixed.
func (s *settings) reload(ctx context.Context) {
	wf, err := s.workflows.Current()
	if err == nil && !reflect.DeepEqual(wf, s.wf) {
		if err = s.apply(ctx, wf); err == nil {
			s.nextPoll = time.Now() // the new settings count at once, a shorter interval too
			s.setup.resumeIfChanged(time.Now())
		}
	}
	if err == nil {
		s.bad, s.badText = schedule.Why{}, ""
		s.resolve(progress.Workflow)
		return
	}
	text := inOneLine(err)
	s.bad = schedule.Why{Reason: schedule.OnHold, Detail: "WORKFLOW.md is invalid: " + text}
	if text != s.badText {
		s.badText = text
		s.problem(progress.Workflow, text)
		s.log.Error("workflow is invalid: nothing new starts until it is fixed", "error", err)
	}
}

// inOneLine returns an error with a problem in each of its lines, such as
// [workflow.Problems], as one sentence for places that have no lines.
func inOneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// apply puts a workflow into force and connects again if its settings changed. It
// refuses a prompt that cannot be rendered for any issue: otherwise each session
// would fail, and every issue would be charged.
func (s *settings) apply(ctx context.Context, wf workflow.Workflow) error {
	if err := prompt.Check(wf.Prompt, wf.PromptLine); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(wf.Path), err)
	}
	if s.conn.Tracker.Reader == nil || !reflect.DeepEqual(wf.Settings, s.wf.Settings) {
		if err := s.connect(ctx, wf); err != nil {
			return err
		}
	}
	s.wf = wf
	warnings := slices.Concat(wf.Warnings, s.conn.Tracker.Warnings, s.conn.Warnings, wf.Settings.Codex.PostureWarnings(s.watched))
	for _, warning := range warnings {
		s.log.Warn("settings", "warning", warning)
	}
	s.warn(warnings...)
	return nil
}

func (s *settings) connect(ctx context.Context, wf workflow.Workflow) error {
	conn, err := s.open(ctx, wf)
	if err != nil {
		return err
	}
	if s.conn.Repository != nil && sameRepository(wf.Settings, s.wf.Settings) {
		conn.Repository = s.conn.Repository // its store is open
	}
	if !reflect.DeepEqual(wf.Settings.Tracker, s.wf.Settings.Tracker) {
		s.issues.limit = new(rateLimit) // the tracker or its credential is another one
		if s.state != nil {
			s.state.Wait = schedule.TrackerWait{}
		}
	}
	conn.Tracker.Reader = limitedReader{conn.Tracker.Reader, s.issues.limit, tracker.NormalLabel(wf.Settings.Feedback.Label)}
	s.conn = conn
	return nil
}

// reopenWorkspaces makes the folder of the workspaces again if somebody removed it while
// this run uses it. Until that works nothing starts.
func (s *settings) reopenWorkspaces(ctx context.Context) {
	if s.conn.Workspaces == nil {
		return
	}
	s.noRoot = schedule.Why{}
	gone := s.conn.Workspaces.Check()
	if gone == nil {
		return
	}
	err := s.connect(ctx, s.wf)
	if err == nil {
		s.resolve(progress.Workspaces)
		s.log.Warn("the folder of the workspaces was made again", "reason", gone)
		return
	}
	err = fmt.Errorf("%w: it cannot be made again: %w", gone, err)
	s.noRoot = schedule.Why{Reason: schedule.OnHold, Detail: err.Error()}
	s.problem(progress.Workspaces, err.Error())
	s.log.Error("workspaces not usable: nothing starts until they are", "error", err)
}
