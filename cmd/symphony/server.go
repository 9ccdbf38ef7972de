package main

import (
	"strings"

	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// The variables that name the GitHub of a job. Each of them follows from the other one.
const (
	serverVariable = "GITHUB_SERVER_URL"
	apiVariable    = "GITHUB_API_URL"
)

// getenv returns the value of an environment variable. Of the two addresses of a GitHub, one
// that is not set follows from the other, so that nothing meant for that server reaches
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

// server returns the address of the GitHub that GITHUB_TOKEN is for, and that of its REST
// API: those of the environment, else those of the tracker, else github.com.
func (a *app) server(wf workflow.Workflow) (server, api string) {
	server, _ = a.getenv(serverVariable)
	api, _ = a.getenv(apiVariable)
	if server != "" || api != "" {
		return server, api
	}
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok {
		return cfg.Server(), cfg.APIURL
	}
	return client.DefaultServer, client.DefaultAPI
}

// namesAPI reports whether the environment itself names the REST API.
func (p process) namesAPI() bool {
	api, _ := p.variable(apiVariable)
	return api != ""
}
