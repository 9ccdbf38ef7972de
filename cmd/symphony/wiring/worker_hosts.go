package wiring

import (
	"context"
	"log/slog"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/worker"
	"github.com/symphony-runner/symphony/runner/worker/ssh"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// Hosts returns the way to the worker hosts of a workflow.
func (p Process) Hosts(wf workflow.Workflow, log *slog.Logger) runner.Hosts {
	if p.OpenHosts != nil {
		return p.OpenHosts(wf, log)
	}
	return p.sshHosts(wf, log)
}

// sshHosts returns the hosts of worker.ssh_hosts, which this program reaches by ssh.
func (p Process) sshHosts(wf workflow.Workflow, log *slog.Logger) *worker.Hosts {
	dialer := &ssh.Dialer{Env: p.Environ, Log: log}
	folders := WorkspaceConfig(wf)
	folders.Root = wf.Settings.Worker.Root
	return &worker.Hosts{
		Place: worker.Place{Workspaces: folders, Secrets: p.ChildEnv(wf).Deny},
		Trial: trialJob(p, wf),
		Log:   log,
		Temp:  p.TempDir(),
		Dial: func(ctx context.Context, name string) (worker.Conn, error) {
			host, err := ssh.Parse(name)
			if err != nil {
				return nil, err
			}
			return dialer.Dial(ctx, host, HostName)
		},
	}
}

// HostName is the name of the hidden command by which this program works on a worker host.
const HostName = "host"
