package discussion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Discussion reaches the people of a tracker and of the pull requests in a repository.
// Any number of goroutines may use it.
type Discussion struct {
	Issues tracker.Conversation // nil if the tracker cannot be listened to
	Writer tracker.Writer
	Where  schedule.Comments // the place of the comments, for people
	GitHub *client.Client    // where the pull requests are; nil for none
	Access *client.Access    // to the repository of the pull requests; nil without GitHub
	// OwnWorkflow is the name of the workflow file that runs the program where the pull
	// requests are, whose jobs are no checks of the agent's work; empty if none does.
	OwnWorkflow string
	// Redact hides secrets in what was said, before anything cuts it; nil hides none.
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

// errForeign reports that a pull request is not the one of the branch.
var errForeign = errors.New("it is not the pull request of the issue")

// check returns an error that is [errForeign] unless the status is the one of the pull
// request.
func (p PullRequest) check(s client.PullStatus) error {
	if s.Fork || s.HeadRef != p.Branch {
		return fmt.Errorf("%w: #%d is not of the branch %s", errForeign, p.Number, text.OneLine(p.Branch, 100))
	}
	return nil
}

// Topic is an issue about which something may have been said.
type Topic struct {
	ID    tracker.ID
	Since time.Time // what was said before is not of interest
	PullRequest
	Head string // commit that the program published there last
	Base string // branch that it was published for
	Pull string // digest of the pull request, of which nothing is unanswered; empty to read all of it
}

// Heard is what was read about a topic.
type Heard struct {
	feedback.World
	Pulled string // digest of the pull request; empty if there is none
}

// Read reads what was said about topics. A topic that the trackers do not know has no
// entry. What the token may not read is a warning, one sentence each.
func (d *Discussion) Read(ctx context.Context, topics []Topic) (heard map[tracker.ID]Heard, warnings []string, err error) {
	heard = make(map[tracker.ID]Heard, len(topics))
	since := make(map[tracker.ID]time.Time, len(topics))
	for _, t := range topics {
		heard[t.ID], since[t.ID] = Heard{}, t.Since
	}
	if d.Issues != nil {
		comments, err := d.Issues.CommentsSince(ctx, since)
		if err != nil {
			return nil, nil, err
		}
		for id, list := range comments {
			for i := range list.List {
				list.List[i] = d.clean(list.List[i])
			}
			h := heard[id]
			h.Comments = list
			heard[id] = h
		}
	}
	if d.GitHub == nil {
		return heard, nil, nil
	}
	d.forget(topics)
	warnings, err = d.readPulls(ctx, topics, heard)
	return heard, warnings, err
}

// maxFailed is the number of unreadable pull requests that counts as an outage.
const maxFailed = 3

// readPulls adds the pull requests of topics to what was heard.
func (d *Discussion) readPulls(ctx context.Context, topics []Topic, heard map[tracker.ID]Heard) ([]string, error) {
	var numbers []int
	for _, t := range topics {
		if t.Number > 0 {
			numbers = append(numbers, t.Number)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	statuses, lacks, err := d.GitHub.PullStatuses(ctx, numbers)
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
		d.remember(t.PullRequest, status)
		h := heard[t.ID]
		h.Pulled = digest(status)
		h.Pull = pullOf(status, t)
		if status.State == "OPEN" && h.Pulled != t.Pull {
			more, err := d.readPull(ctx, status, t, h.Pull)
			if err != nil {
				err = fmt.Errorf("read pull request #%d: %w", t.Number, err)
				if failed++; failed == maxFailed || ctx.Err() != nil {
					return nil, err
				}
				h.Pull.Unread = true // the other pull requests are still heard
				warnings = append(warnings, err.Error())
			}
			lacks = append(lacks, more...)
		}
		heard[t.ID] = h
	}
	for _, lack := range lacks {
		if text := lack.Error(); !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}

// pullOf returns the pull request that a status describes.
func pullOf(s client.PullStatus, t Topic) *feedback.Pull {
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
	return &feedback.Pull{
		Standing: standing[s.Checks],
		Number:   s.Number, URL: s.URL, Branch: s.HeadRef, State: state, By: s.By, Drafted: s.Drafted,
		Head: s.Head, Ours: t.Head, Base: s.Base, For: t.Base, Conflicts: s.Mergeable == "CONFLICTING",
	}
}

// readPull reads everything that is said about an open pull request. Whose word counts is
// decided again in each poll, also for what was read before.
func (d *Discussion) readPull(ctx context.Context, s client.PullStatus, t Topic, p *feedback.Pull) ([]client.Lack, error) {
	r, err := d.reading(ctx, s, t)
	if err != nil {
		return nil, err
	}
	said := r.said
	p.Complete, p.Unread, p.Omitted = true, said.Extent == client.Postponed, said.Extent == client.Omits
	comments, err := d.Access.Judge(ctx, said.Comments, t.Since)
	if err != nil {
		return nil, err
	}
	p.Comments = d.toComments(comments)
	for _, r := range said.Reviews {
		judged, err := d.Access.Judge(ctx, []client.PullComment{r.PullComment}, t.Since)
		if err != nil {
			return nil, err
		}
		for _, c := range d.toComments(judged) {
			p.Reviews = append(p.Reviews, feedback.Review{Comment: c, Verdict: feedback.Verdict(strings.ToLower(r.Verdict))})
		}
	}
	for _, r := range said.Threads {
		judged, err := d.Access.Judge(ctx, r.Comments, t.Since)
		if err != nil {
			return nil, err
		}
		p.Threads = append(p.Threads, feedback.Thread{
			ID: r.Node, Path: d.cleanText(r.Path), Line: r.Line, Code: d.cleanText(r.Code), Outdated: r.Outdated, Resolved: r.Resolved, Comments: d.toComments(judged),
		})
	}
	p.Running = r.checks.Running
	for _, c := range r.checks.Failed {
		p.Checks = append(p.Checks, feedback.Check{
			ID: c.Node, Name: d.cleanText(nameOf(c)), Bot: d.cleanText(c.Bot), URL: c.URL, Verdict: c.Verdict, Output: outputOf(c, d.cleanText), Cut: c.Cut, At: c.At,
		})
	}
	return r.checks.Lacks, nil
}

// toComments returns comments of pull requests as comments of issues are.
func (d *Discussion) toComments(list []client.PullComment) []tracker.Comment {
	comments := make([]tracker.Comment, len(list))
	for i, c := range list {
		comments[i] = d.clean(tracker.Comment{
			ID: c.Node, Author: c.Author.Login, Own: c.Own, Bot: c.Author.Type == "Bot", Distrust: c.Distrust,
			Text: c.Text, URL: c.URL, At: c.At,
		})
	}
	return comments
}

// digest returns a digest of a status that changes when anything is said or happens.
func digest(s client.PullStatus) string {
	s.Lines = nil // they change with other pull requests
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", s))
	return hex.EncodeToString(sum[:16])
}

// remember keeps the id of a pull request.
func (d *Discussion) remember(p PullRequest, s client.PullStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes == nil {
		d.nodes = map[PullRequest]string{}
	}
	d.nodes[p] = s.Node
}

// thread returns a pull request as its comments are written to.
func (d *Discussion) thread(ctx context.Context, p PullRequest) (client.Thread, error) {
	d.mu.Lock()
	node := d.nodes[p]
	d.mu.Unlock()
	if node == "" {
		statuses, _, err := d.GitHub.PullStatuses(ctx, []int{p.Number})
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
		d.remember(p, status)
		node = status.Node
	}
	return client.Thread{Node: node, Number: p.Number}, nil
}

// clean returns a comment without secrets. One that does not count loses its text, because
// there may be thousands of these; that of a bot keeps it, since feedback.bots may name it.
func (d *Discussion) clean(c tracker.Comment) tracker.Comment {
	c.Author = d.cleanText(c.Author)
	if c.Distrust != "" && !c.Bot {
		c.Text = ""
		return c
	}
	c.Text = d.cleanText(c.Text)
	return c
}

// cleanText hides secrets in a text that was read. It removes hidden characters first,
// since they may stand inside a secret.
func (d *Discussion) cleanText(s string) string { return d.redact(text.Lines(s)) }

// redact hides secrets in a text.
func (d *Discussion) redact(text string) string {
	if d.Redact == nil {
		return text
	}
	return d.Redact(text)
}
