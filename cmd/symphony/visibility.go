package main

import (
	"context"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// repositoryIsPrivate returns true if reading the repository of this job, and so its
// caches and artifacts, needs a permission: true, false, or unknown. The event has
// this for most triggers; for the others the API of the job's server is asked. If it
// cannot be asked, the Action warns.
func (a *app) repositoryIsPrivate(event action.Event) string {
	switch event.Visibility {
	case "private":
		return "true"
	case "public":
		return "false"
	}
	api, _ := a.getenv(apiVariable)
	token, _ := a.getenv("GITHUB_TOKEN")
	c, err := client.New(client.Config{Repo: event.Repository, APIURL: api, Token: token}, nil)
	if err != nil {
		return "unknown"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	repository, err := c.Repository(ctx)
	if err != nil || repository.Private == nil {
		return "unknown"
	}
	return strconv.FormatBool(*repository.Private)
}
