package runner

import (
	"context"
	"fmt"

	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// reopenWorkspaces makes the folder of the workspaces again if somebody removed it while
// this run uses it. Until that works nothing starts.
func (l *loop) reopenWorkspaces(ctx context.Context) {
	if l.conn.Workspaces == nil {
		return
	}
	gone := l.conn.Workspaces.Check()
	if gone == nil {
		l.noRoot = schedule.Why{}
		return
	}
	err := l.connect(ctx, l.wf)
	if err == nil {
		l.noRoot = schedule.Why{}
		l.resolve(progress.Workspaces)
		l.Log.Warn("the folder of the workspaces was made again", "reason", gone)
		return
	}
	err = fmt.Errorf("%w: it cannot be made again: %w", gone, err)
	l.noRoot = schedule.Why{Reason: schedule.OnHold, Detail: err.Error()}
	l.problem(progress.Workspaces, err.Error())
	l.Log.Error("workspaces not usable: nothing starts until they are", "error", err)
}
