package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// ErrUsage is an error of the command line, the environment or WORKFLOW.md.
var ErrUsage = errors.New("usage")

// The variables that name the GitHub of a job. Each of them follows from the other one.
const (
	serverVariable = "GITHUB_SERVER_URL"
	apiVariable    = "GITHUB_API_URL"
)

// Process holds everything the program gets from the operating system.
type Process struct {
	Args    []string
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Actions *action.Runtime // the step of Actions that this process is, if it is one

	Interrupts *Interrupts
	Lookup     hosts.Lookup // nil asks the resolver of this machine
	Tokens     *ModelTokens // nil makes no tokens

	OpenHosts func(workflow.Workflow, *slog.Logger) runner.Hosts // reaches the worker hosts of a workflow; nil by ssh
}

// TempDir returns the folder of temporary files.
func (p Process) TempDir() string {
	return cmp.Or(p.Value("TMPDIR"), "/tmp")
}

// Getenv returns the value of an environment variable. If only one of the two addresses of a
// GitHub is set, the other follows from it, so that nothing meant for that server reaches
// github.com.
func (p Process) Getenv(name string) (value string, set bool) {
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

// Value returns the value of an environment variable, as [Process.Getenv] does; empty if it is not set.
func (p Process) Value(name string) string {
	value, _ := p.Getenv(name)
	return value
}

// variable returns the value of an environment variable as it is set; the last one counts.
// The address of a server has no slash at its end.
func (p Process) variable(name string) (value string, set bool) {
	prefix := name + "="
	for _, entry := range p.Environ {
		if v, ok := strings.CutPrefix(entry, prefix); ok {
			value, set = v, true
		}
	}
	if name == serverVariable {
		value = strings.TrimRight(strings.TrimSpace(value), "/")
	}
	return value, set
}

// NamesAPI reports whether the environment itself names the REST API.
func (p Process) NamesAPI() bool {
	api, _ := p.variable(apiVariable)
	return api != ""
}

// MakeTempFolder makes a folder, which the caller has to remove.
func (p Process) MakeTempFolder(prefix string) (string, error) {
	folder, err := os.MkdirTemp(p.TempDir(), prefix)
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w; let TMPDIR name another folder, such as /tmp", err)
	}
	return folder, nil
}

// DetectActions gives both standard streams to the Actions runtime when this is a
// step of a workflow, because the runner reads commands from both.
func (p *Process) DetectActions() {
	p.Actions = action.New(p.Stdout, p.Value)
	if p.Actions.InActions() {
		p.Stdout, p.Stderr = p.Actions.Writer(), p.Actions.Writer()
	}
}

// Option returns the name of a flag for a message. Inside Actions that is the name of the
// input that sets it.
func (p Process) Option(flag string) string {
	if p.Actions.InActions() {
		return "the input " + flag
	}
	return "--" + flag
}

// Colors reports whether the environment allows colors.
func (p Process) Colors() bool {
	return p.Value("NO_COLOR") == "" && p.Value("TERM") != "dumb"
}

// Owner returns this run as the owner of claims.
func (p Process) Owner() schedule.Owner {
	host, _ := os.Hostname()
	attempt, _ := strconv.Atoi(p.Value("GITHUB_RUN_ATTEMPT")) // 0 outside Actions
	return schedule.Owner{
		Run: p.Value("GITHUB_RUN_ID"), Attempt: attempt, Job: p.Value("GITHUB_JOB"), Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Started: time.Now().UnixMilli(),
	}
}

// Author returns the author of commits. Inside Actions it is the account that the job's token
// belongs to.
func (p Process) Author() git.Person {
	if p.Actions.InActions() {
		return git.Person{Name: "github-actions[bot]", Email: "41898282+github-actions[bot]@users.noreply.github.com"}
	}
	return git.Person{Name: "symphony", Email: "symphony@localhost"}
}
