package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// toolMemory holds what GitHub said about numbers that agents gave and what never
// changes: from which branch a pull request comes, and on which one a comment is. A key is the
// issue of the session and the path.
type toolMemory struct {
	mu      sync.Mutex
	facts   map[string]bool
	account string // of the token; "" before it is needed
}

// recall returns a fact. If it is unknown, recall asks and keeps the answer. What does
// not exist (yet) is not kept.
func (m *toolMemory) recall(key string, ask func() (bool, error)) (bool, error) {
	m.mu.Lock()
	fact, known := m.facts[key]
	m.mu.Unlock()
	if known {
		return fact, nil
	}
	fact, err := ask()
	switch {
	case client.HasStatus(err, http.StatusNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = make(map[string]bool)
	}
	m.facts[key] = fact
	return fact, nil
}

// login returns the account of the token.
func (m *toolMemory) login(ctx context.Context, c *client.Client) (string, error) {
	m.mu.Lock()
	account := m.account
	m.mu.Unlock()
	if account != "" {
		return account, nil
	}
	account, err := c.Account(ctx)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.account = account
	return account, nil
}

// checkOwn rejects a call whose target is, by what GitHub says, not what the session may
// change.
func (r *repository) checkOwn(ctx context.Context, c *call) error {
	if c.changed != "" {
		if err := r.checkChanged(ctx, c); err != nil {
			return err
		}
	}
	for _, check := range []struct {
		number  string // "" when the call has none
		isOwn   func(context.Context, *call) (bool, error)
		problem string
	}{
		{c.pull, r.isOwnPull, fmt.Sprintf("#%s is neither the issue nor the pull request of this session", c.pull)},
		{c.repliesTo, r.isOnPull, fmt.Sprintf("comment %s is not one of pull request #%s", c.repliesTo, c.pull)},
	} {
		if check.number == "" {
			continue
		}
		own, err := check.isOwn(ctx, c)
		if err != nil {
			return uncheckable(err)
		}
		if !own {
			return notOwn(r.cfg, c, errors.New(check.problem))
		}
	}
	if c.replacesLabels {
		return r.checkReplacedLabels(ctx, c)
	}
	return nil
}

// checkChanged rejects a call that changes a comment or a review that the agent did not
// post, or in the scope issue one that is elsewhere. It asks each time: a person may have
// made the comment theirs.
func (r *repository) checkChanged(ctx context.Context, c *call) error {
	comment, err := r.client.Comment(ctx, strings.Join(c.target.segments, "/"))
	if client.HasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("comment %s does not exist", c.changed)
	}
	account := ""
	if err == nil {
		account, err = r.memory.login(ctx, r.client)
	}
	switch {
	case err != nil:
		return uncheckable(err)
	case comment.User.GetLogin() != account:
		return fmt.Errorf("comment %s was not posted by this tool, but by %s: write a comment of your own", c.changed, cmp.Or(clip(comment.User.GetLogin()), "somebody else"))
	case tracker.MarkedKey(comment.Body) != tracker.AgentKey:
		return fmt.Errorf("comment %s does not end with the mark of what this tool posts, so a person or the program wrote it: write a comment of your own", c.changed)
	case !r.cfg.ToolScope.bindsToIssue() || comment.Number() == string(c.issue.ID):
		return nil
	}
	own, err := r.comesFromOwnBranch(ctx, c, comment.Number())
	if err != nil {
		return uncheckable(err)
	}
	if !own {
		return notOwn(r.cfg, c, fmt.Errorf("comment %s is not on the issue or the pull request of this session", c.changed))
	}
	return nil
}

// isOwnPull asks whether the pull request of the call comes from the own branch of this
// repository.
func (r *repository) isOwnPull(ctx context.Context, c *call) (bool, error) {
	return r.comesFromOwnBranch(ctx, c, c.pull)
}

func (r *repository) comesFromOwnBranch(ctx context.Context, c *call, number string) (bool, error) {
	return r.memory.recall(fmt.Sprintf("%s pulls/%s", c.issue.ID, number), func() (bool, error) {
		pull, err := r.client.PullRequest(ctx, number)
		head := pull.GetHead()
		return head.GetRef() == r.cfg.branchOf(c.issue.Identifier) && strings.EqualFold(head.GetRepo().GetFullName(), r.cfg.Repo), err
	})
}

// isOnPull asks whether the comment that is replied to belongs to the pull request.
func (r *repository) isOnPull(ctx context.Context, c *call) (bool, error) {
	return r.memory.recall(fmt.Sprintf("%s pulls/%s/comments/%s", c.issue.ID, c.pull, c.repliesTo), func() (bool, error) {
		comment, err := r.client.Comment(ctx, "pulls/comments/"+c.repliesTo)
		return comment.Number() == c.pull, err
	})
}

// checkReplacedLabels rejects a call that replaces all labels and adds or removes one
// that is not the agent's.
func (r *repository) checkReplacedLabels(ctx context.Context, c *call) error {
	wanted, err := c.labels()
	if err != nil {
		return err
	}
	present, err := r.client.LabelsOf(ctx, c.number())
	if err != nil {
		return uncheckable(err)
	}
	lacks := func(list []string, label string) bool {
		return !slices.ContainsFunc(list, func(s string) bool { return tracker.NormalLabel(s) == tracker.NormalLabel(label) })
	}
	for _, label := range wanted {
		if err := r.cfg.rejectAdding(label); err != nil && lacks(present, label) {
			return notOwn(r.cfg, c, err)
		}
	}
	for _, label := range present {
		if err := r.cfg.rejectRemoving(label); err != nil && lacks(wanted, label) {
			return notOwn(r.cfg, c, err)
		}
	}
	return nil
}
