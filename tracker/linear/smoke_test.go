package linear

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

// The project of the smoke test, by its slugId, and a key that may write there.
const (
	smokeProject = "SYMPHONY_SMOKE_LINEAR_PROJECT"
	smokeKey     = "SYMPHONY_SMOKE_LINEAR_API_KEY"
)

// TestTheRealLinear works on an issue of its own in a real project and deletes it
// (the real-tracker profile of SPEC §17.8).
func TestTheRealLinear(t *testing.T) {
	project, key := trackertest.SmokeSettings(t, smokeProject, smokeKey)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := smoke(ctx, Config{Endpoint: defaultEndpoint, APIKey: key, ProjectSlug: project}, http.DefaultClient); err != nil {
		t.Fatal(err)
	}
}

// The operations of the smoke test.
const (
	smokeLook = `query($slug: String!) { projects(first: 1, filter: {slugId: {eq: $slug}}) { nodes {
		id teams(first: 1) { nodes { id states(first: 50) { nodes { id name type } } } } } } }`
	smokeLabel   = `mutation($input: IssueLabelCreateInput!) { issueLabelCreate(input: $input) { issueLabel { id } } }`
	smokeIssue   = `mutation($input: IssueCreateInput!) { issueCreate(input: $input) { issue { id } } }`
	smokeComment = `mutation($id: String!) { commentCreate(input: {issueId: $id, body: "A comment of the smoke test."}) { success } }`
	smokeMove    = `mutation($id: String!, $state: String!) { issueUpdate(id: $id, input: {stateId: $state}) { success } }`
	smokeDelete  = `mutation($id: String!) { issueDelete(id: $id) { success } }`
	smokeUnlabel = `mutation($id: String!) { issueLabelDelete(id: $id) { success } }`
)

// smoke takes one issue through its life as people, the orchestrator and an agent
// see it: created with a label, listed, read, commented on, finished, deleted.
func smoke(ctx context.Context, cfg Config, client *http.Client) (err error) {
	label := "Symphony smoke " + rand.Text()[:10]
	cfg.RequiredLabels = []string{tracker.NormalLabel(label)}
	var found struct {
		Projects struct {
			Nodes []struct {
				ID    string
				Teams struct {
					Nodes []struct {
						ID     string
						States struct {
							Nodes []struct{ ID, Name, Type string }
						}
					}
				}
			}
		}
	}
	if err := cfg.ask(ctx, client, smokeLook, map[string]any{"slug": cfg.ProjectSlug}, &found); err != nil {
		return fmt.Errorf("look at the project: %w", err)
	}
	if len(found.Projects.Nodes) == 0 || len(found.Projects.Nodes[0].Teams.Nodes) == 0 {
		return fmt.Errorf("the key sees no project %q with a team", cfg.ProjectSlug)
	}
	project := found.Projects.Nodes[0]
	team := project.Teams.Nodes[0]
	states := make(map[string]string) // id by type
	for _, state := range team.States.Nodes {
		switch {
		case states[state.Type] != "":
		case state.Type == "unstarted":
			states[state.Type], cfg.ActiveStates = state.ID, []string{state.Name}
		case state.Type == "completed":
			states[state.Type], cfg.TerminalStates = state.ID, []string{state.Name}
		}
	}
	adapter, err := cfg.Open(cfg.Options, client, slog.New(slog.DiscardHandler))
	if err == nil {
		err = adapter.Check(ctx)
	}
	if err != nil {
		return err
	}
	var labeled struct {
		IssueLabelCreate struct{ IssueLabel struct{ ID string } }
	}
	if err := cfg.ask(ctx, client, smokeLabel, map[string]any{"input": map[string]any{"name": label, "teamId": team.ID}}, &labeled); err != nil {
		return fmt.Errorf("make a label: %w", err)
	}
	undo := func(query, id string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, cfg.ask(ctx, client, query, map[string]any{"id": id}, nil))
	}
	defer undo(smokeUnlabel, labeled.IssueLabelCreate.IssueLabel.ID)
	var made struct {
		IssueCreate struct{ Issue struct{ ID string } }
	}
	input := map[string]any{
		"title": label, "teamId": team.ID, "projectId": project.ID, "stateId": states["unstarted"],
		"labelIds": []string{labeled.IssueLabelCreate.IssueLabel.ID},
	}
	if err := cfg.ask(ctx, client, smokeIssue, map[string]any{"input": input}, &made); err != nil {
		return fmt.Errorf("make an issue: %w", err)
	}
	id := made.IssueCreate.Issue.ID
	defer undo(smokeDelete, id)

	if err := trackertest.Eventually(ctx, func() error {
		issues, err := adapter.IssuesByState(ctx, cfg.ActiveStates)
		if err == nil && (len(issues) != 1 || string(issues[0].ID) != id || !slices.Equal(issues[0].Labels, cfg.RequiredLabels)) {
			err = fmt.Errorf("listed are %+v", issues)
		}
		return err
	}); err != nil {
		return fmt.Errorf("list the new issue: %w", err)
	}
	if err := cfg.ask(ctx, client, smokeComment, map[string]any{"id": id}, nil); err != nil {
		return fmt.Errorf("comment on it: %w", err)
	}
	if err := cfg.ask(ctx, client, smokeMove, map[string]any{"id": id, "state": states["completed"]}, nil); err != nil {
		return fmt.Errorf("finish it: %w", err)
	}
	if err := trackertest.Eventually(ctx, func() error {
		issues, err := adapter.IssuesByID(ctx, []tracker.ID{tracker.ID(id), "00000000-0000-4000-8000-000000000000"})
		if err == nil && (len(issues) != 1 || issues[0].State != cfg.TerminalStates[0] || issues[0].Title != label) {
			err = fmt.Errorf("read are %+v", issues)
		}
		return err
	}); err != nil {
		return fmt.Errorf("read the finished issue: %w", err)
	}
	return nil
}

// ask executes an operation by the agent's tool.
func (c Config) ask(ctx context.Context, client *http.Client, query string, variables map[string]any, into any) error {
	adapter, err := c.Open(c.Options, client, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	arguments, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	result := adapter.Tools[0].Call(ctx, tracker.Issue{}, arguments)
	if !result.OK {
		return errors.New(result.Text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal([]byte(result.Text), &struct{ Data any }{into})
}

// smokeConfig returns the fake's Config without the states, which the smoke test
// finds out.
func smokeConfig(c client) Config {
	return Config{Endpoint: c.cfg.Endpoint, APIKey: c.cfg.APIKey, ProjectSlug: c.cfg.ProjectSlug}
}

func TestTheSmokeTestGoesThroughTheLifeOfAnIssueAndCleansUp(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if os.Getenv("SYMPHONY_LINEAR_SCHEMA") != "" {
		f.schema = published(t)
	}
	other := f.add(tracker.Issue{Title: "another", State: "Todo"})
	c := f.serve(t)
	if err := smoke(t.Context(), smokeConfig(c), c.http); err != nil {
		t.Fatal(err)
	}
	if len(f.issues) != 2 || f.issues[1]["trashed"] != true || len(f.labels) != 0 {
		t.Errorf("left behind: %d issues, labels %v", len(f.issues), f.labels)
	}
	if other["trashed"] != nil || len(f.comments) != 1 {
		t.Errorf("another issue was touched, or none commented on: %v", f.comments)
	}
}

func TestTheSmokeTestFailsWhereLinearDoes(t *testing.T) {
	t.Parallel()
	refuse := answer(401, `{"errors":[{"message":"no"}]}`)
	requests := 10
	for n := range requests { // look, check, label, issue, list, comment, move, read, and two to clean up
		f := newFake(t)
		c := f.serve(t)
		f.faults = append(make([]http.HandlerFunc, n), refuse)
		if err := smoke(t.Context(), smokeConfig(c), c.http); err == nil {
			t.Errorf("request %d is refused, and the test passes", n+1)
		}
		if n < requests-2 && (len(f.labels) > 0 || len(f.issues) > 0 && f.issues[0]["trashed"] != true) {
			t.Errorf("request %d is refused, and something is left behind", n+1)
		}
	}
}
