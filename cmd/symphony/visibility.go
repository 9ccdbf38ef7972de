package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/action"
)

// repositoryIsPrivate returns whether reading the repository of this job, and so its
// caches and artifacts, needs a permission: true, false, or unknown. The event has
// this for most triggers; for the others GitHub is asked.
func (a *app) repositoryIsPrivate(event action.Event) string {
	visibility := event.Visibility
	if visibility == "" {
		visibility, _ = a.askVisibility(event.Repository) // with an error it stays unknown, and the Action warns
	}
	switch visibility {
	case "private":
		return "true"
	case "public":
		return "false"
	}
	return "unknown"
}

// askVisibility asks the API of the job's server, which need not be github.com.
func (a *app) askVisibility(repository string) (string, error) {
	api, _ := a.getenv("GITHUB_API_URL")
	token, _ := a.getenv("GITHUB_TOKEN")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(api, "/")+"/repos/"+repository, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read the repository: %s", resp.Status)
	}
	var answer struct{ Private *bool }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil || answer.Private == nil {
		return "", err
	}
	if *answer.Private {
		return "private", nil
	}
	return "public", nil
}
