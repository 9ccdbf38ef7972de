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

// private returns whether only some may read the repository of this job, and so
// its caches and artifacts: true, false, or unknown. The event says so for most
// triggers; for the others GitHub is asked.
func (a *app) private(event action.Event) string {
	visibility := event.Visibility
	if visibility == "" {
		visibility, _ = a.askVisibility(event.Repository) // then it is not known, which the Action says
	}
	switch visibility {
	case "private":
		return "true"
	case "public":
		return "false"
	}
	return "unknown"
}

// askVisibility asks the API of the job's server, which need not be GitHub's.
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
