package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// process holds everything the program gets from the operating system.
type process struct {
	args    []string
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	actions *action.Runtime // the step of Actions that this process is, if it is one

	interrupts *interrupts
	lookup     hosts.Lookup // nil asks the resolver of this machine
	tokens     *modelTokens // nil makes no tokens

	openHosts func(workflow.Workflow, *slog.Logger) runner.Hosts // reaches the worker hosts of a workflow; nil by ssh
}

func (p process) tempDir() string {
	return cmp.Or(p.value("TMPDIR"), "/tmp")
}

// getenv returns the value of an environment variable. If only one of the two addresses of a
// GitHub is set, the other follows from it, so that nothing meant for that server reaches
// github.com.
func (p process) getenv(name string) (value string, set bool) {
	value, set = p.variable(name)
	if value != "" {
		return value, set
	}
	switch name {
	case serverVariable:
		if api, _ := p.variable(apiVariable); api != "" {
			return client.ServerOf(api), true
		}
	case apiVariable:
		if server, _ := p.variable(serverVariable); server != "" {
			return client.APIOf(server), true
		}
	}
	return value, set
}

func (p process) value(name string) string {
	value, _ := p.getenv(name)
	return value
}

// variable returns the value of an environment variable as it is set; the last one counts.
// The address of a server has no slash at its end.
func (p process) variable(name string) (value string, set bool) {
	prefix := name + "="
	for _, entry := range p.environ {
		if v, ok := strings.CutPrefix(entry, prefix); ok {
			value, set = v, true
		}
	}
	if name == serverVariable {
		value = strings.TrimRight(strings.TrimSpace(value), "/")
	}
	return value, set
}

// namesAPI reports whether the environment itself names the REST API.
func (p process) namesAPI() bool {
	api, _ := p.variable(apiVariable)
	return api != ""
}

func (p process) makeTempFolder(prefix string) (string, error) {
	folder, err := os.MkdirTemp(p.tempDir(), prefix)
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w; let TMPDIR name another folder, such as /tmp", err)
	}
	return folder, nil
}

// detectActions gives both standard streams to the Actions runtime when this is a
// step of a workflow, because the runner reads commands from both.
func (p *process) detectActions() {
	p.actions = action.New(p.stdout, p.value)
	if p.actions.InActions() {
		p.stdout, p.stderr = p.actions.Writer(), p.actions.Writer()
	}
}

// option returns the name of a flag for a message. Inside Actions that is the name of the
// input that sets it.
func (p process) option(flag string) string {
	if p.actions.InActions() {
		return "the input " + flag
	}
	return "--" + flag
}

func (p process) colors() bool {
	return p.value("NO_COLOR") == "" && p.value("TERM") != "dumb"
}

func (p process) owner() schedule.Owner {
	host, _ := os.Hostname()
	attempt, _ := strconv.Atoi(p.value("GITHUB_RUN_ATTEMPT")) // 0 outside Actions
	return schedule.Owner{
		Run: p.value("GITHUB_RUN_ID"), Attempt: attempt, Job: p.value("GITHUB_JOB"), Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli(),
	}
}

// author returns the author of commits. Inside Actions it is the account that the job's token
// belongs to.
func (p process) author() git.Person {
	if p.actions.InActions() {
		return git.Person{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"}
	}
	return git.Person{Name: "symphony", Email: "symphony@localhost"}
}

// childEnv returns the part of the environment that the children of a workflow may see.
func (p process) childEnv(wf workflow.Workflow) workspace.Env {
	return workspace.Env{Parent: p.environ, Deny: slices.Concat(wf.Settings.SecretEnv(), keyNames, collectorHeaders)}
}
