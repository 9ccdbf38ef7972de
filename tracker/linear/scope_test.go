package linear

import (
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/symphony-runner/symphony/tracker"
)

func (c client) check(t *testing.T) error {
	adapter, err := Open(c.cfg, c.http, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return adapter.Check(t.Context())
}

func TestAScopeThatDoesNotExistIsRefusedWithWhatExists(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Config)
		words  []string
	}{
		"project":         {func(c *Config) { c.ProjectSlug = "typo" }, []string{"tracker.project_slug", `"typo"`, slug, `"Symphony"`, "ffff00001111"}},
		"active state":    {func(c *Config) { c.ActiveStates = []string{"Todo", "Doing"} }, []string{"tracker.active_states", `"Doing"`, `"In Progress"`}},
		"terminal states": {func(c *Config) { c.TerminalStates = []string{"Closed"} }, []string{"tracker.terminal_states", `"Closed"`, `"Done"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFake(t).serve(t, test.change)
			mentions(t, c.check(t), tracker.ErrInvalidConfig, test.words...)
			// An empty board and a wrong scope never look alike.
			_, err := c.IssuesByState(t.Context(), []string{"Todo"})
			mentions(t, err, tracker.ErrInvalidConfig, test.words...)
		})
	}
}

func TestAKeyThatSeesNoProjectIsTold(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.projects = nil
	mentions(t, f.serve(t).check(t), tracker.ErrInvalidConfig, "sees no project", "tracker.api_key")
}

func TestAScopeThatExistsIsAccepted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t, func(c *Config) {
		c.ActiveStates, c.TerminalStates = []string{" todo ", "IN PROGRESS"}, []string{"Closed", "Cancelled", "Canceled"}
	})
	if err := c.check(t); err != nil {
		t.Error(err)
	}
	// A project with more states than one answer holds is not judged.
	for i := range 60 {
		f.states = append(f.states[:len(f.states):len(f.states)], object{"name": fmt.Sprintf("state %d", i)})
	}
	c.cfg.ActiveStates = []string{"state 59"}
	if err := c.check(t); err != nil {
		t.Error(err)
	}
}

func TestTheScopeIsCheckedOnceAndOnlyForAnEmptyList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t)
	for poll, want := range []int{2, 3, 4} { // the check is the second request
		if issues, err := c.IssuesByState(t.Context(), []string{"Todo"}); err != nil || len(issues) != 0 {
			t.Fatalf("%d issues, %v", len(issues), err)
		}
		if f.counted() != want {
			t.Errorf("poll %d: %d requests so far, want %d", poll, f.counted(), want)
		}
	}
}

func TestACheckThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []http.HandlerFunc{
		answer(403, `{}`),
		answer(200, `{"data":{"projects":null}}`),
		answer(200, `{"data":{"projects":{"nodes":[{"teams":{"nodes":[]}}],"pageInfo":{"hasNextPage":false}}}}`),
		answer(200, `{"data":{"projects":{"nodes":[{"teams":{"nodes":[{"states":null}],"pageInfo":{"hasNextPage":false}}}],"pageInfo":{"hasNextPage":false}}}}`),
	} {
		f := newFake(t)
		c := f.serve(t)
		f.faults = []http.HandlerFunc{nil, fault}
		if _, err := c.IssuesByState(t.Context(), []string{"Todo"}); err == nil {
			t.Error("a check that failed was taken for one that passed")
		}
		if _, err := c.IssuesByState(t.Context(), []string{"Todo"}); err != nil {
			t.Error(err)
		}
		if f.counted() != 4 {
			t.Errorf("%d requests, want 4", f.counted())
		}
	}
}
