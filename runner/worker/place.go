package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace"
)

// testTime bounds a test of the host.
const testTime = time.Minute

// issuesAnswer lists the workspaces of a host.
type issuesAnswer struct {
	Known   []workspace.Issue
	Unknown []string // keys of workspaces whose issue is not known
}

func (s *serving) issues(_ context.Context, p Place) (answer issuesAnswer, err error) {
	h, err := s.open(p, slog.New(slog.DiscardHandler))
	if err != nil {
		return answer, err
	}
	defer h.close()
	answer.Known, answer.Unknown, err = h.workspaces.Issues()
	return answer, err
}

type removeArguments struct {
	Place
	Issue workspace.Issue
}

// removeAnswer has the failure of before_remove, which does not stop a removal; empty for none.
type removeAnswer struct{ Hook string }

func (s *serving) remove(ctx context.Context, a removeArguments) (answer removeAnswer, err error) {
	h, err := s.open(a.Place, slog.New(slog.DiscardHandler))
	if err != nil {
		return answer, err
	}
	defer h.close()
	hook, err := h.workspaces.Remove(ctx, a.Issue)
	if hook != nil {
		answer.Hook = hook.Error()
	}
	if err == nil {
		err = attempt.Forget(h.sessions(), a.Issue.Identifier)
	}
	return answer, err
}

type forgetArguments struct {
	Place
	Used      []string      // keys of the issues whose files stay
	Unchanged time.Duration // time for which the files of others have not changed
}

func (s *serving) forget(_ context.Context, a forgetArguments) (none, error) {
	h, err := s.open(a.Place, slog.New(slog.DiscardHandler))
	if err != nil {
		return none{}, err
	}
	defer h.close()
	return none{}, attempt.ForgetUnused(h.sessions(), func(key string) bool { return slices.Contains(a.Used, key) }, time.Now().Add(-a.Unchanged))
}

// testAnswer has the version of Codex; empty if only a session can try it.
type testAnswer struct{ Codex string }

// test tests whether sessions can work on this machine.
func (s *serving) test(ctx context.Context, o order) (answer testAnswer, err error) {
	h, err := s.open(o.Place, slog.New(slog.DiscardHandler))
	if err != nil {
		return answer, err
	}
	defer h.close()
	if err := s.testCause(ctx, o, h, schedule.CauseMachine); err != nil {
		return answer, err
	}
	if o.Job.Repository != nil {
		if _, err := s.git(ctx, h, slog.New(slog.DiscardHandler)); err != nil {
			return answer, err
		}
	}
	answer.Codex, err = s.preflight(ctx, o, h)
	return answer, err
}

// testCause tests without an issue whether a cause of failures lasts.
func (s *serving) testCause(ctx context.Context, o order, h *host, cause schedule.Cause) error {
	ctx, cancel := context.WithTimeoutCause(ctx, testTime, fmt.Errorf("it took longer than %v", testTime))
	defer cancel()
	if cause == schedule.CauseStart {
		_, err := s.preflight(ctx, o, h)
		return err
	}
	return workspace.CheckMachine(ctx, workspace.Env{Parent: s.Environ, Deny: o.Secrets}, h.workspaces.Path(), h.data, s.Temp)
}

// preflight checks whether Codex can work here, and returns its version, as [attempt.Preflight] does.
func (s *serving) preflight(ctx context.Context, o order, h *host) (version string, err error) {
	job, err := s.machineJob(o, h, redact.New())
	if err != nil {
		return "", err
	}
	if r := job.Repository; r != nil && o.Delivers {
		r.Deliver = attempt.DeliverNothing
	}
	return attempt.Preflight(ctx, job, attempt.Trial{Temp: s.Temp, Root: h.Workspaces.Root, Limits: h.Workspaces.Limits, Env: workspace.Env{Parent: s.Environ, Deny: h.Secrets}})
}
