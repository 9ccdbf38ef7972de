package main

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// repositoryNear returns the repository that GITHUB_REPOSITORY names. Where that is not
// set, outside of Actions, it is the one that the checkout around the WORKFLOW.md at path
// came from, and isOrigin is true, unless that is on a server that this program does not
// ask by default. The name is empty if neither names a repository.
func (a *app) repositoryNear(path string) (name string, isOrigin bool) {
	name, _ = a.getenv("GITHUB_REPOSITORY")
	if name = strings.TrimSpace(name); name != "" {
		return name, false
	}
	asked, _ := a.getenv(serverVariable)
	server, name := a.originNear(path)
	if name == "" || hostOf(server) != hostOf(cmp.Or(asked, client.DefaultServer)) {
		return "", false
	}
	return name, true
}

// originNear returns the server and the name of the repository that the checkout around the
// WORKFLOW.md at path came from; empty if there is none, and in Actions.
func (a *app) originNear(path string) (server, name string) {
	if path == "" || a.actions.InActions() {
		return "", ""
	}
	if folder := git.CheckoutAround(path); folder != "" {
		server, name, _ = client.ParseRepository(git.TrustedOrigin(folder))
	}
	return server, name
}

// hostOf returns the host of an address, without its port: ssh has another one.
func hostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// ownRepository returns the repository that has the state branch and the workflow runs of
// the WORKFLOW.md at path: the one of the environment, else of its tracker, else the one
// that its checkout came from. It is empty if none of them names one.
func (a *app) ownRepository(path string, wf workflow.Workflow) string {
	name, isOrigin := a.repositoryNear(path)
	if written := trackerRepository(wf); name == "" || isOrigin && written != "" {
		return written
	}
	return name
}

// lookupNear returns the lookup of environment variables for the WORKFLOW.md at path.
func (a *app) lookupNear(path string) func(name string) (value string, set bool) {
	return func(name string) (string, bool) {
		if name == "GITHUB_REPOSITORY" {
			if repository, isOrigin := a.repositoryNear(path); isOrigin {
				return repository, true
			}
		}
		return a.getenv(name)
	}
}
