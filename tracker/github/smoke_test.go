package github

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
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// The repository of the smoke test and a token that may write its issues.
const (
	smokeRepo  = "SYMPHONY_SMOKE_GITHUB_REPO"
	smokeToken = "SYMPHONY_SMOKE_GITHUB_TOKEN"
)

// TestTheRealGitHub works on an issue of its own in a real repository and closes it
// (the real-tracker profile of SPEC §17.8).
func TestTheRealGitHub(t *testing.T) {
	repo, token := trackertest.SmokeSettings(t, smokeRepo, smokeToken)
	provider := map[string]any{"repo": repo, "api_key": token}
	if api := os.Getenv("GITHUB_API_URL"); api != "" {
		provider["api_url"] = api
	}
	cfg := decode(t, provider)
	cfg.ActiveStates, cfg.TerminalStates = []string{"open"}, []string{"closed"}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := smoke(ctx, cfg, http.DefaultClient); err != nil {
		t.Fatal(err)
	}
}

// smoke takes one issue through its life as people, the orchestrator and an agent
// see it: created with a label, listed, read, commented on, handed over, closed.
func smoke(ctx context.Context, cfg Config, base *http.Client) (err error) {
	label := "Symphony-smoke-" + rand.Text()[:10] // which the adapter asks for in lower case
	cfg.RequiredLabels = []string{tracker.NormalLabel(label)}
	r, err := newRepository(cfg, base.Transport, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if err := r.checkSettings(ctx); err != nil {
		return err
	}
	var made struct{ Number int }
	if err := r.smokeCall(ctx, http.MethodPost, "/issues", map[string]any{
		"title": "Smoke test " + label, "body": "Made and closed by the tests of symphony.", "labels": []string{label},
	}, &made); err != nil {
		return err
	}
	id := tracker.ID(fmt.Sprint(made.Number))
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		closed := r.smokeCall(ctx, http.MethodPatch, "/issues/"+string(id), map[string]any{"state": "closed", "state_reason": "not_planned"}, nil)
		err = errors.Join(err, closed, r.smokeCall(ctx, http.MethodDelete, "/labels/"+label, nil, nil))
	}()
	eventually := func(look func() error) func() error {
		return func() error { return trackertest.Eventually(ctx, look) }
	}
	listed := func(want bool) func() error {
		return eventually(func() error {
			issues, err := r.IssuesByState(ctx, []string{"open"})
			found := slices.ContainsFunc(issues, func(i tracker.Issue) bool { return i.ID == id })
			if err == nil && (found != want || len(issues) > 1) {
				err = fmt.Errorf("%d issues are listed by the label; the one of the test is among them: %v, want %v", len(issues), found, want)
			}
			return err
		})
	}
	read := func(good func(tracker.Issue) bool) func() error {
		return eventually(func() error {
			issues, err := r.IssuesByID(ctx, []tracker.ID{id, "2147483647"})
			if err == nil && (len(issues) != 1 || !good(issues[0])) {
				err = fmt.Errorf("the issue is read as %+v", issues)
			}
			return err
		})
	}
	update := func(arguments string) func() error {
		return func() error {
			if got := r.updateTool().Call(ctx, tracker.Issue{ID: id, Identifier: "GH-" + string(id)}, json.RawMessage(arguments)); !got.OK {
				return errors.New(got.Text)
			}
			return nil
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"list the new issue", listed(true)},
		{"read it", read(func(i tracker.Issue) bool {
			return i.State == "open" && slices.Equal(i.Labels, cfg.RequiredLabels) && i.Identifier == "GH-"+string(id) && !i.CreatedAt.IsZero()
		})},
		{"comment on it", update(`{"comment": "A comment of the smoke test.", "note": "A note."}`)},
		{"hand it over", update(fmt.Sprintf(`{"remove_labels": [%q]}`, label))},
		{"list nothing", listed(false)},
		{"read it without the label", read(func(i tracker.Issue) bool { return len(i.Labels) == 0 && !i.Dispatchable })},
		{"close it", update(`{"state": "closed"}`)},
		{"read it closed", read(func(i tracker.Issue) bool { return i.State == "closed" })},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// smokeCall does what a person does on GitHub.
func (r *repository) smokeCall(ctx context.Context, method, path string, body, into any) error {
	a, err := r.client.Do(ctx, client.Request{Method: method, Path: r.client.Path("%s", path), Body: body})
	if err == nil && into != nil {
		err = r.client.Decode(a, into)
	}
	if err != nil {
		return failed(method+" "+path, err)
	}
	return nil
}

func TestTheSmokeTestGoesThroughTheLifeOfAnIssueAndCleansUp(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put(labeled("symphony-smoke-of-another-run"))
	if err := smoke(t.Context(), f.config(nil, []string{"open"}, []string{"closed"}), f.Client()); err != nil {
		t.Fatal(err)
	}
	if i := f.Issue(2); i.State != stateClosed || len(f.Labels()) != 1 || len(i.Comments) != 2 {
		t.Errorf("left behind: %+v, labels %q", i, f.Labels())
	}
	if i := f.Issue(1); i.State != stateOpen {
		t.Errorf("another issue was touched: %+v", i)
	}
}

func TestTheSmokeTestFailsWhereGitHubDoes(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(*http.Request) bool{
		"a comment is refused": func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/comments") },
		"no list": func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/issues")
		},
		"no clean-up": func(r *http.Request) bool {
			return r.Method == http.MethodDelete && strings.HasPrefix(r.URL.Path, "/repos/acme/shop/labels/")
		},
	} {
		f := newFake(t)
		f.setFault(func(w http.ResponseWriter, r *http.Request) bool {
			if !broken(r) {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		if err := smoke(t.Context(), f.config(nil, []string{"open"}, []string{"closed"}), f.Client()); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("%s: %v", name, err)
		}
		if i := f.Issue(1); i.State != stateClosed {
			t.Errorf("%s: the issue is left open", name)
		}
	}
}
