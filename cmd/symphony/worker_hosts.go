package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

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
	self, unknown := os.Executable()
	dialer := &ssh.Dialer{Binary: self, Env: p.environ, Log: log}
	folders := workspaceConfig(wf)
	folders.Root = wf.Settings.Worker.Root
	return &worker.Hosts{
		Place: worker.Place{Workspaces: folders, Secrets: p.childEnv(wf).Deny},
		Trial: trialJob(p, wf),
		Log:   log,
		Temp:  p.tempDir(),
		Dial: func(ctx context.Context, name string) (worker.Conn, error) {
			if unknown != nil {
				return nil, fmt.Errorf("find this program for worker host %s: %w", name, unknown)
			}
			host, err := ssh.Parse(name)
			if err != nil {
				return nil, err
			}
			return dialer.Dial(ctx, host, hostName)
		},
	}
}
