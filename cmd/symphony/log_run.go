package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// runPage matches the page of a workflow run below its server: its repository and its
// number.
var runPage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^/:]+/[^/]+)/actions/runs/([0-9]+)(?:[/?#].*)?$`)
})

// artifactPrefix begins the names of the artifacts that the Action uploads.
const artifactPrefix = "symphony-"

// holdsLogs reports whether an artifact of this name may have event logs. What the jobs of
// a fleet hand over to each other has none.
func holdsLogs(name string) bool {
	rest, isOurs := strings.CutPrefix(name, artifactPrefix)
	return isOurs && !strings.HasPrefix(rest, "plan-") && !strings.HasPrefix(rest, "result-")
}

// fetchRun returns the logs in the artifact of the workflow run that --run names, with its
// name for people. The run is one of the repository of the WORKFLOW.md at path.
func (l *logCommand) fetchRun(ctx context.Context, path string, wf workflow.Workflow) (name string, logs fs.FS, err error) {
	number := l.run
	repo, server, api, err := l.gitHub().runServer(path, wf)
	if err != nil {
		return "", nil, err
	}
	if page := runPage().FindStringSubmatch(strings.TrimPrefix(l.run, server+"/")); page != nil {
		repo, number = page[1], page[2]
	}
	run, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || run <= 0:
		return "", nil, fmt.Errorf("%w: --run %q: write the number of a workflow run, or the address of its page on %s", errUsage, l.run, server)
	case repo == "":
		return "", nil, fmt.Errorf("%w: --run: the repository is not known: set GITHUB_REPOSITORY to owner/name, or write the address of the page of the run", errUsage)
	}
	token, variable := l.gitHub().tokenFor(client.HostOf(server))
	if token == "" {
		return "", nil, fmt.Errorf("%w: --run needs a token of %s that may read Actions: set %s", errUsage, client.HostOf(server), loginAdvice(client.HostOf(server)))
	}
	l.addSecret(l.redactor, token)
	c, err := client.New(client.Config{Repo: repo, APIURL: api, Token: token, Names: client.Names{Token: variable}}, http.DefaultTransport)
	if err != nil {
		return "", nil, fmt.Errorf("%w: --run: %w", errUsage, err)
	}
	artifacts, err := c.Artifacts(ctx, run)
	if err != nil {
		return "", nil, fmt.Errorf("list the artifacts of workflow run %d: %w", run, err)
	}
	var all layers
	var failed []error
	for _, a := range artifacts {
		if a.Expired || !holdsLogs(a.Name) {
			continue
		}
		files, err := c.ReadArtifact(ctx, a)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, err)
		case err != nil: // another artifact may have the log
			failed = append(failed, err)
			continue
		}
		if logs, err := fs.Sub(files, "logs"); err == nil {
			all = append(all, logs)
		}
	}
	if len(all) == 0 && len(failed) > 0 {
		return "", nil, fmt.Errorf("read the artifact of workflow run %d: %w", run, errors.Join(failed...))
	}
	for _, err := range failed {
		l.printWarning(err)
	}
	if len(all) == 0 {
		return "", nil, fmt.Errorf("%w: workflow run %d has no artifact of Symphony, or has it no more: it had nothing to do, or upload-logs was not true", errUsage, run)
	}
	return fmt.Sprintf("the artifact of workflow run %d", run), all, nil
}

// layers overlays file systems. A folder has the entries of all of them; the first one
// that has a name counts.
type layers []fs.FS

func (l layers) Open(name string) (fs.File, error) {
	for _, layer := range l {
		if f, err := layer.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (l layers) ReadDir(name string) ([]fs.DirEntry, error) {
	found := false
	entries := map[string]fs.DirEntry{}
	for _, layer := range l {
		list, err := fs.ReadDir(layer, name)
		found = found || err == nil
		for _, entry := range list {
			if _, known := entries[entry.Name()]; !known {
				entries[entry.Name()] = entry
			}
		}
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	all := make([]fs.DirEntry, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		all = append(all, entries[name])
	}
	return all, nil
}
