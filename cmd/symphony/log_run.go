package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// runPage matches the page of a workflow run below its server: its repository and its
// number.
var runPage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^/:]+/[^/]+)/actions/runs/([0-9]+)(?:[/?#].*)?$`)
})

// fetchRun returns the logs in the artifact of the workflow run that --run names, with its name
// for people. The run must belong to the repository of the WORKFLOW.md at path.
func (l *logCommand) fetchRun(ctx context.Context, path string, wf workflow.Workflow) (name string, logs fs.FS, err error) {
	number := l.run
	repo, server, api, err := l.gitHub().RunServer(path, wf)
	if err != nil {
		return "", nil, err
	}
	if page := runPage().FindStringSubmatch(strings.TrimPrefix(l.run, server+"/")); page != nil {
		repo, number = page[1], page[2]
	}
	run, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || run <= 0:
		return "", nil, fmt.Errorf("%w: --run %q: write the number of a workflow run, or the address of its page on %s", wiring.ErrUsage, l.run, server)
	case repo == "":
		return "", nil, fmt.Errorf("%w: --run: the repository is not known: set GITHUB_REPOSITORY to owner/name, or write the address of the page of the run", wiring.ErrUsage)
	}
	token, variable := l.gitHub().Login().Token(client.HostOf(server))
	if token == "" {
		return "", nil, fmt.Errorf("%w: --run needs a token of %s that may read Actions: set %s", wiring.ErrUsage, client.HostOf(server), client.LoginAdvice(client.HostOf(server)))
	}
	l.AddSecret(l.redactor, token)
	c, err := client.New(client.Config{Repo: repo, APIURL: api, Token: token, Names: client.Names{Token: variable}}, http.DefaultTransport)
	if err != nil {
		return "", nil, fmt.Errorf("%w: --run: %w", wiring.ErrUsage, err)
	}
	logs, skipped, err := fleet.Logs(ctx, c, run)
	if err != nil {
		return "", nil, err
	}
	for _, err := range skipped {
		l.printWarning(err)
	}
	if logs == nil {
		return "", nil, fmt.Errorf("%w: workflow run %d has no artifact of Symphony, or has it no more: it had nothing to do, or upload-logs was not true", wiring.ErrUsage, run)
	}
	return fmt.Sprintf("the artifact of workflow run %d", run), logs, nil
}
