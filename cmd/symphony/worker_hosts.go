package main

import (
	"context"
	"log/slog"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/worker"
	"github.com/symphony-runner/symphony/runner/worker/ssh"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// hosts returns the way to the worker hosts of a workflow.
func (p process) hosts(wf workflow.Workflow, log *slog.Logger) runner.Hosts {
	if p.openHosts != nil {
		return p.openHosts(wf, log)
	}
	return p.sshHosts(wf, log)
}

// sshHosts returns the hosts of worker.ssh_hosts, which this program reaches by ssh.
func (p process) sshHosts(wf workflow.Workflow, log *slog.Logger) *worker.Hosts {
	dialer := &ssh.Dialer{Env: p.environ, Log: log}
	folders := workspaceConfig(wf)
	folders.Root = wf.Settings.Worker.Root
	return &worker.Hosts{
		Place: worker.Place{Workspaces: folders, Secrets: p.childEnv(wf).Deny},
		Trial: trialJob(p, wf),
		Log:   log,
		Temp:  p.tempDir(),
		Dial: func(ctx context.Context, name string) (worker.Conn, error) {
			host, err := ssh.Parse(name)
			if err != nil {
				return nil, err
			}
			return dialer.Dial(ctx, host, hostName)
		},
	}
}
