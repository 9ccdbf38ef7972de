package feedback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Channel reaches the people of a tracker and of the pull requests in a repository.
// Any number of goroutines may use it.
type Channel struct {
	Issues tracker.Conversation // nil if the tracker cannot be listened to
	Writer tracker.Writer
	Where  schedule.Comments // the place of the comments, for people
	GitHub *client.Client    // client for the pull requests; nil for none
	// Pictures reads the pictures on the pull requests; nil without GitHub.
	Pictures tracker.Pictures
	Access   *client.Access // access to the repository of the pull requests; nil without GitHub
	// OwnWorkflow is the name of the workflow file that runs the program where the pull
	// requests are, whose jobs are no checks of the agent's work; empty if none does.
	OwnWorkflow string
	// Redact hides secrets in the texts that are read, before anything cuts them; nil hides
	// none.
	Redact func(string) string

	mu    sync.Mutex
	nodes map[PullRequest]string // ids in GraphQL
	kept  map[PullRequest]reading
}

// PullRequest names the pull request of an issue. It comes from the state, which another
// run has saved, so it is used only if GitHub says that its branch is this one and is in
// the repository. The zero value names none.
type PullRequest struct {
	Number int
	Branch string
}

// errForeign reports that a pull request does not come from the branch of its issue.
var errForeign = errors.New("it is not the pull request of the issue")

// check returns an error that is [errForeign] unless the status belongs to the pull request.
func (p PullRequest) check(s client.PullStatus) error {
	if s.Fork || s.HeadRef != p.Branch {
		return fmt.Errorf("%w: #%d is not of the branch %s", errForeign, p.Number, text.OneLine(p.Branch, 100))
	}
	return nil
}

// Topic is an issue about which something may have been said.
type Topic struct {
	ID    tracker.ID
	Since time.Time // time from which comments are of interest
	PullRequest
	Head string // commit that the program published there last
	Base string // branch that it was published for
	Pull string // digest of the pull request, of which nothing is unanswered; empty to read all of it
}

// Read reads the comments and checks of topics. A topic that the trackers do not know has no
// entry. A part that the token may not read is a warning, one sentence each.
func (c *Channel) Read(ctx context.Context, topics []Topic) (said map[tracker.ID]Said, warnings []string, err error) {
	said = make(map[tracker.ID]Said, len(topics))
	since := make(map[tracker.ID]time.Time, len(topics))
	for _, t := range topics {
		said[t.ID], since[t.ID] = Said{}, t.Since
	}
	if c.Issues != nil {
		comments, err := c.Issues.CommentsSince(ctx, since)
		if err != nil {
			return nil, nil, err
		}
		for id, list := range comments {
			for i := range list.List {
				list.List[i] = c.clean(list.List[i])
			}
			s := said[id]
			s.Comments = list
			said[id] = s
		}
	}
	if c.GitHub == nil {
		return said, nil, nil
	}
	c.forget(topics)
	warnings, err = c.readPulls(ctx, topics, said)
	return said, warnings, err
}

// maxFailed is the number of unreadable pull requests that counts as an outage.
const maxFailed = 3

// readPulls adds the pull requests of topics to said.
func (c *Channel) readPulls(ctx context.Context, topics []Topic, said map[tracker.ID]Said) ([]string, error) {
	var numbers []int
	for _, t := range topics {
		if t.Number > 0 {
			numbers = append(numbers, t.Number)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	statuses, lacks, err := c.GitHub.Pulls.Statuses(ctx, numbers)
	if err != nil {
		return nil, fmt.Errorf("read the pull requests: %w", err)
	}
	var warnings []string
	failed := 0
	for _, t := range topics {
		status, known := statuses[t.Number]
		if !known {
			continue
		}
		if err := t.check(status); err != nil {
			warnings = append(warnings, fmt.Sprintf("what is said about the work on issue %s is not read on pull request #%d: %v", text.OneLine(string(t.ID), 100), t.Number, err))
			continue
		}
		c.remember(t.PullRequest, status)
		s := said[t.ID]
		s.Pull = pullOf(status, t)
		if status.State == "OPEN" && s.Pull.Digest != t.Pull {
			more, err := c.readPull(ctx, status, t, s.Pull)
			if err != nil {
				err = fmt.Errorf("read pull request #%d: %w", t.Number, err)
				if failed++; failed == maxFailed || ctx.Err() != nil {
					return nil, err
				}
				s.Pull.Unread = true // the other pull requests are still said
				warnings = append(warnings, err.Error())
			}
			lacks = append(lacks, more...)
		}
		said[t.ID] = s
	}
	for _, lack := range lacks {
		if text := lack.Error(); !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

// pullOf returns the pull request that a status describes.
func pullOf(s client.PullStatus, t Topic) *Pull {
	state := schedule.PullOpen
	switch s.State {
	case "MERGED":
		state = schedule.PullMerged
	case "CLOSED":
		state = schedule.PullClosed
	}
	standing := map[string]schedule.Checks{
		"SUCCESS": schedule.ChecksGreen, "FAILURE": schedule.ChecksRed, "ERROR": schedule.ChecksRed,
		"PENDING": schedule.ChecksRunning, "EXPECTED": schedule.ChecksRunning,
	}
	return &Pull{
		Standing: standing[s.Checks],
		Number:   s.Number, URL: s.URL, Branch: s.HeadRef, State: state, By: s.By, Ended: s.Ended, Drafted: s.Drafted,
		Head: s.Head, Ours: t.Head, Base: s.Base, For: t.Base, Digest: digest(s), Conflicts: s.Mergeable == "CONFLICTING",
	}
}

// readPull reads all comments and checks of an open pull request. Whose word counts is decided
// again in each poll, also for earlier readings.
func (c *Channel) readPull(ctx context.Context, s client.PullStatus, t Topic, p *Pull) ([]client.Lack, error) {
	r, err := c.reading(ctx, s, t)
	if err != nil {
		return nil, err
	}
	said := r.said
	p.Complete, p.Unread, p.Truncated = true, said.Extent == client.Postponed, said.Extent == client.Omits
	add := func(list []client.PullComment, item func(tracker.Comment) Item) error {
		judged, err := c.Access.Judge(ctx, list, t.Since)
		for _, said := range judged {
			p.Items = append(p.Items, item(c.clean(tracker.Comment{
				ID: said.Node, Author: said.Author.Login, Own: said.Own, Bot: said.Author.Type == "Bot", Distrust: said.Distrust,
				Text: said.Text, URL: said.URL, At: said.At,
			})))
		}
		return err
	}
	if err := add(said.Comments, onPull); err != nil {
		return nil, err
	}
	for _, r := range said.Reviews {
		if err := add([]client.PullComment{r.PullComment}, func(c tracker.Comment) Item { return inReview(c, r.Verdict) }); err != nil {
			return nil, err
		}
	}
	for _, t := range said.Threads {
		t.Path, t.Code = c.cleanText(t.Path), c.cleanText(t.Code)
		if err := add(t.Comments, func(c tracker.Comment) Item { return onLine(c, t) }); err != nil {
			return nil, err
		}
	}
	p.Running = r.checks.Running
	for _, check := range r.checks.Failed {
		p.Checks = append(p.Checks, Check{
			ID: check.Node, Name: c.cleanText(checkName(check)), Bot: c.cleanText(check.Bot), URL: check.URL, Conclusion: check.Verdict,
			Output: outputOf(check, c.cleanText), Cut: check.Cut, At: check.At,
		})
	}
	return r.checks.Lacks, nil
}

// digest returns a digest of a status that changes when anything is said or happens.
func digest(s client.PullStatus) string {
	s.Lines = nil // they change with other pull requests
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", s))
	return hex.EncodeToString(sum[:16])
}

// remember keeps the id of a pull request.
func (c *Channel) remember(p PullRequest, s client.PullStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes == nil {
		c.nodes = map[PullRequest]string{}
	}
	c.nodes[p] = s.Node
}

// place returns a pull request as its comments are written to.
func (c *Channel) place(ctx context.Context, p PullRequest) (client.Thread, error) {
	c.mu.Lock()
	node := c.nodes[p]
	c.mu.Unlock()
	if node == "" {
		statuses, _, err := c.GitHub.Pulls.Statuses(ctx, []int{p.Number})
		if err != nil {
			return client.Thread{}, err
		}
		status, known := statuses[p.Number]
		if !known {
			return client.Thread{}, errors.New("GitHub does not find the pull request")
		}
		if err := p.check(status); err != nil {
			return client.Thread{}, err
		}
		c.remember(p, status)
		node = status.Node
	}
	return client.Thread{Node: node, Number: p.Number}, nil
}

// clean returns a comment without secrets. A comment that does not count loses its text,
// because there may be thousands of them; a bot's keeps it, since feedback.bots may name the
// bot.
func (c *Channel) clean(said tracker.Comment) tracker.Comment {
	said.Author = c.cleanText(said.Author)
	if said.Distrust != "" && !said.Bot {
		said.Text = ""
		return said
	}
	said.Text = c.cleanText(said.Text)
	return said
}

// cleanText hides secrets in a text that was read. It removes hidden characters first,
// since they may stand inside a secret.
func (c *Channel) cleanText(s string) string { return c.redact(text.Lines(s)) }

func (c *Channel) redact(text string) string {
	if c.Redact == nil {
		return text
	}
	return c.Redact(text)
}
