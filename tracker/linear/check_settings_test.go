package linear

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
)

func (c client) check(t *testing.T) error {
	adapter, err := c.cfg.Open(c.cfg.Options, c.http, slog.New(slog.DiscardHandler))
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
		"hand-over":       {func(c *Config) { c.HandOver = "In Reviews" }, []string{"delivery.hand_over.state", `"In Reviews"`, `"In Review"`}},
		"terminal states": {func(c *Config) { c.TerminalStates = []string{"Closed"} }, []string{"tracker.terminal_states", `"Closed"`, `"Done"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFake(t).serve(t, test.change)
			trackertest.CheckError(t, c.check(t), tracker.ErrInvalidConfig, test.words...)
			// An empty board and a wrong scope never look alike.
			_, err := c.IssuesByState(t.Context(), []string{"Todo"})
			trackertest.CheckError(t, err, tracker.ErrInvalidConfig, test.words...)
		})
	}
}

func TestEveryStateThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	c := newFake(t).serve(t, func(c *Config) {
		c.ActiveStates, c.TerminalStates, c.HandOver = []string{"Doing", "Todo", "Ready"}, []string{"Closed", "Shipped", "Done"}, "In Reviews"
	})
	var log bytes.Buffer
	adapter, err := c.cfg.Open(c.cfg.Options, c.http, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	err = adapter.Check(t.Context())
	trackertest.CheckError(t, err, tracker.ErrInvalidConfig, `no state "Doing"`, `no state "Ready"`, `no state "In Reviews"`)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 {
		t.Errorf("%d problems, want 3:\n%v", len(lines), err)
	}
	// The usual terminal states need not exist, but somebody wrote this one.
	if !strings.Contains(log.String(), "state=Shipped") || strings.Contains(log.String(), "state=Closed") {
		t.Errorf("the log warns of others than Shipped:\n%s", &log)
	}
}

func TestAKeyThatSeesNoProjectIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.projects = nil
	trackertest.CheckError(t, f.serve(t).check(t), tracker.ErrInvalidConfig, "sees no project", "tracker.api_key")
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
	// The states of a project that has more than one page of them are not checked.
	for i := range 60 {
		f.states = append(f.states[:len(f.states):len(f.states)], object{"name": fmt.Sprintf("state %d", i)})
	}
	c.cfg.ActiveStates = []string{"state 59"}
	if err := c.check(t); err != nil {
		t.Error(err)
	}
}

func TestARequiredLabelThatLinearDoesNotHaveIsWarnedOf(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.labels = []object{
		{"id": "label-1", "name": "Ready", "isGroup": false, "team": object(nil)},
		{"id": "label-2", "name": "Kind", "isGroup": true, "team": object(nil)},
	}
	for label, warned := range map[string]bool{"ready": false, "readdy": true, "kind": true} {
		c := f.serve(t)
		var log bytes.Buffer
		o := c.cfg.Options
		o.RequiredLabels = []string{label}
		adapter, err := c.cfg.Open(o, c.http, slog.New(slog.NewTextHandler(&log, nil)))
		if err == nil {
			err = adapter.Check(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "tracker.required_labels names a label that Linear does not have"); got != warned {
			t.Errorf("%s: warned %t\n%s", label, got, &log)
		}
	}
}

// project is the scope in an answer that a test writes itself.
const project = `"projects":{"nodes":[{"teams":{"nodes":[{"states":{"nodes":[{"name":"Todo"},{"name":"In Progress"},{"name":"Done"}],"pageInfo":{"hasNextPage":false}}}],"pageInfo":{"hasNextPage":false}}}],"pageInfo":{"hasNextPage":false}}`

func TestTheScopeIsCheckedOnceWithTheFirstList(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.serve(t, func(c *Config) { c.HandOver = "in review" })
	for poll := range 3 {
		if issues, err := c.IssuesByState(t.Context(), []string{"Todo"}); err != nil || len(issues) != 0 {
			t.Fatalf("%d issues, %v", len(issues), err)
		}
		if f.counted() != poll+1 {
			t.Errorf("poll %d: %d requests so far", poll, f.counted())
		}
		if asks := strings.Contains(f.asked[poll], "{teams("); asks != (poll == 0) {
			t.Errorf("poll %d asks for the scope: %t", poll, asks)
		}
	}
}

func TestAMisspeltStateIsRefusedAlsoWhereThereIsWorkInAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addMany(3)
	c := f.serve(t, func(c *Config) { c.ActiveStates = []string{"Todo", "In Progres"} })
	issues, err := c.IssuesByState(t.Context(), c.cfg.ActiveStates)
	trackertest.CheckError(t, err, tracker.ErrInvalidConfig, `no state "In Progres"`, `"In Progress"`)
	if issues != nil || f.counted() != 1 {
		t.Errorf("%d issues after %d requests", len(issues), f.counted())
	}
}

func TestACheckThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	const nothing = `"issues":{"nodes":[],"pageInfo":{"hasNextPage":false}}`
	for _, fault := range []http.HandlerFunc{
		answer(403, `{}`),
		answer(200, `{"data":{`+nothing+`,"projects":null}}`),
		answer(200, `{"data":{`+nothing+`,"projects":{"nodes":[{"teams":{"nodes":[]}}],"pageInfo":{"hasNextPage":false}}}}`),
		answer(200, `{"data":{`+nothing+`,"projects":{"nodes":[{"teams":{"nodes":[{"states":null}],"pageInfo":{"hasNextPage":false}}}],"pageInfo":{"hasNextPage":false}}}}`),
	} {
		f := newFake(t)
		c := f.serve(t)
		f.faults = []http.HandlerFunc{fault}
		if _, err := c.IssuesByState(t.Context(), []string{"Todo"}); err == nil {
			t.Error("a check that failed was taken for one that passed")
		}
		if _, err := c.IssuesByState(t.Context(), []string{"Todo"}); err != nil {
			t.Error(err)
		}
		if f.counted() != 2 || !strings.Contains(f.asked[len(f.asked)-1], "{teams(") {
			t.Errorf("%d requests, want 2, the second with the scope", f.counted())
		}
	}
}
