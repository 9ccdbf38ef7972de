package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// The parts of the trial. Each returns nil if GitHub behaves as expected.

// advance performs ticks until the pull request has a new commit, three at most: GitHub may
// show a new commit a little later.
func (t *Trial) advance(ctx context.Context) error {
	for n := 1; ; n++ {
		if err := t.Tick(ctx); err != nil {
			return err
		}
		var pull struct{ Head struct{ SHA string } }
		if err := t.request(ctx, http.MethodGet, fmt.Sprintf("/pulls/%d", t.pull), nil, &pull); err != nil {
			return err
		}
		switch {
		case pull.Head.SHA != t.head:
			t.head = pull.Head.SHA
			return nil
		case n == 3:
			return fmt.Errorf("the pull request #%d is still at %s: the reports of the ticks above say what happened", t.pull, t.head)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Second):
		}
	}
}

func (t *Trial) findCache(context.Context) error {
	if !t.Cached {
		return errors.New("the workflow saved an entry and did not find it again")
	}
	return nil
}

func (t *Trial) readPermission(ctx context.Context) error {
	var level struct{ Permission string }
	if err := t.request(ctx, http.MethodGet, "/collaborators/"+url.PathEscape(t.Actor)+"/permission", nil, &level); err != nil {
		return err
	}
	if level.Permission != "write" && level.Permission != "admin" {
		return fmt.Errorf("%s started this run, and has the permission %q", t.Actor, level.Permission)
	}
	return nil
}

func (t *Trial) changeWorkflow(ctx context.Context) error {
	err := t.request(ctx, http.MethodPut, "/contents/.github/workflows/"+t.Name+".yml",
		map[string]string{"message": "Try to change a workflow", "content": "b246IHB1c2gK", "branch": t.Name + "-base"}, nil)
	switch {
	case err == nil:
		return errors.New("GitHub took a file in .github/workflows from it")
	case client.HasStatus(err, http.StatusForbidden, http.StatusNotFound):
		return nil
	}
	return err
}

func (t *Trial) label(ctx context.Context) error {
	var issue struct{ Number int }
	if err := t.act(ctx, http.MethodPost, "/issues", map[string]any{"title": "Try Symphony", "body": t.issueText(), "labels": []string{t.Name}}, &issue); err != nil {
		return err
	}
	t.issue = issue.Number
	if err := t.Tick(ctx); err != nil {
		return err
	}
	var pulls []struct {
		Number int
		Head   struct{ SHA string }
	}
	if err := t.request(ctx, http.MethodGet, "/pulls?state=all&head="+url.QueryEscape(t.Owner+":"+t.branch()), nil, &pulls); err != nil {
		return err
	}
	if len(pulls) != 1 {
		return fmt.Errorf("there are %d pull requests from %s: the report of the tick above says why; is Actions allowed to create pull requests?", len(pulls), t.branch())
	}
	t.pull, t.head = pulls[0].Number, pulls[0].Head.SHA
	return nil
}

func (t *Trial) branch() string { return fmt.Sprintf("%s/GH-%d", t.Name, t.issue) }

func (t *Trial) listChecks(ctx context.Context) error {
	var checks struct {
		Runs []struct{ Name string } `json:"check_runs"`
	}
	if err := t.request(ctx, http.MethodGet, "/commits/"+t.head+"/check-runs", nil, &checks); err != nil {
		return err
	}
	for _, c := range checks.Runs {
		if c.Name == t.Job {
			return fmt.Errorf("%s is one", t.Job)
		}
	}
	return nil
}

func (t *Trial) comment(ctx context.Context) error {
	if err := t.act(ctx, http.MethodPost, fmt.Sprintf("/pulls/%d/comments", t.pull), map[string]any{
		"body": "Two, please.", "commit_id": t.head, "path": "symphony-trial/one.txt", "line": 1, "side": "RIGHT",
	}, nil); err != nil {
		return err
	}
	return t.advance(ctx)
}

func (t *Trial) reportCheck(ctx context.Context) error {
	if err := t.request(ctx, http.MethodPost, "/check-runs", map[string]any{
		"name": t.Name, "head_sha": t.head, "status": "completed", "conclusion": "failure",
		"output": map[string]string{"title": "A trial", "summary": "three.txt is missing."},
	}, nil); err != nil {
		return err
	}
	return t.advance(ctx)
}

func (t *Trial) tell(ctx context.Context, text string) error {
	return t.act(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", t.pull), map[string]string{"body": text}, nil)
}

func (t *Trial) ask(ctx context.Context) error {
	if err := t.tell(ctx, "Paint it."); err != nil {
		return err
	}
	switch err := t.Tick(ctx); {
	case err == nil: // an issue that waits for a person fails it
		return errors.New("the issue does not wait for an answer: the tick ended well")
	case !errors.Is(err, ErrWaits):
		return fmt.Errorf("the issue does not wait for an answer: %w", err)
	}
	var comments []struct{ Body string }
	if err := t.request(ctx, http.MethodGet, fmt.Sprintf("/issues/%d/comments?per_page=100", t.pull), nil, &comments); err != nil {
		return err
	}
	for _, c := range comments {
		if strings.Contains(c.Body, "> Which colour?") {
			return nil
		}
	}
	return fmt.Errorf("no comment on the pull request #%d asks", t.pull)
}

// order gives a command in a comment, which gets a reaction once it is obeyed.
func (t *Trial) order(ctx context.Context) error {
	var comment struct{ ID int64 }
	if err := t.act(ctx, http.MethodPost, fmt.Sprintf("/issues/%d/comments", t.pull), map[string]string{"body": "/symphony status"}, &comment); err != nil {
		return err
	}
	if err := t.Tick(ctx); err != nil && !errors.Is(err, ErrWaits) { // it still waits
		return err
	}
	var reactions []struct{ Content string }
	if err := t.request(ctx, http.MethodGet, fmt.Sprintf("/issues/comments/%d/reactions", comment.ID), nil, &reactions); err != nil {
		return err
	}
	if len(reactions) == 0 {
		return errors.New("the comment /symphony status has no reaction")
	}
	return nil
}

func (t *Trial) answer(ctx context.Context) error {
	if err := t.tell(ctx, "Red, please."); err != nil {
		return err
	}
	return t.advance(ctx)
}

func (t *Trial) merge(ctx context.Context) error {
	if err := t.act(ctx, http.MethodPut, fmt.Sprintf("/pulls/%d/merge", t.pull), map[string]string{"merge_method": "merge"}, nil); err != nil {
		return err
	}
	if err := t.Tick(ctx); err != nil {
		return err
	}
	var issue struct{ State string }
	if err := t.request(ctx, http.MethodGet, fmt.Sprintf("/issues/%d", t.issue), nil, &issue); err != nil {
		return err
	}
	if issue.State != "closed" {
		return fmt.Errorf("the issue #%d is %s", t.issue, issue.State)
	}
	return t.findNoBranch(ctx)
}

// findNoBranch looks for the branch of the issue, which must be gone.
func (t *Trial) findNoBranch(ctx context.Context) error {
	err := t.request(ctx, http.MethodGet, "/git/ref/heads/"+t.branch(), nil, nil)
	switch {
	case err == nil:
		return fmt.Errorf("the branch %s is still there", t.branch())
	case client.HasStatus(err, http.StatusNotFound):
		return nil
	}
	return err
}
