package github

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// conversation implements [tracker.Conversation].
type conversation struct{ *repository }

// CommentsSince sends one query for each 100 issues, with their latest comments, and reads
// the comments of those in which more is new.
func (c conversation) CommentsSince(ctx context.Context, since map[tracker.ID]time.Time) (map[tracker.ID]tracker.Comments, error) {
	numbers := issueNumbers(slices.Sorted(maps.Keys(since)))
	if len(numbers) == 0 {
		return nil, nil
	}
	op := "read the comments on issues of " + c.cfg.Repo
	statuses, err := c.client.Issues.Statuses(ctx, numbers)
	if err != nil {
		return nil, failed(op, err)
	}
	all := map[tracker.ID]tracker.Comments{}
	for id, from := range since { // the order of a map is random, so it is not always the same issues that wait
		n, _ := strconv.Atoi(string(id))
		status, there := statuses[n]
		if !there || strconv.Itoa(n) != string(id) || status.Edited.Before(from) {
			continue
		}
		comments, extent, err := c.comments(ctx, n, status, from)
		if err != nil {
			return nil, failed(op, err)
		}
		judged, err := c.trust.access.Judge(ctx, comments, from)
		if err != nil {
			return nil, failed(op, err)
		}
		if len(judged) > 0 || extent == client.Postponed {
			all[id] = tracker.Comments{List: toComments(judged), Truncated: extent == client.Omits, Unread: extent == client.Postponed}
		}
	}
	return all, nil
}

// talk holds the comments of a conversation with more new comments than the query for all
// issues gives: after a change only the new ones are read again.
type talk struct {
	node     string
	from     time.Time // time from which changes are in it
	edited   time.Time // last change of a comment
	total    int       // number of all comments then, older ones included
	comments []client.PullComment
}

// maxTalks bounds the bytes of the texts of all conversations that are kept.
const maxTalks = 16 << 20

// size returns about how many bytes a conversation has.
func (t talk) size() (n int) {
	for _, c := range t.comments {
		n += 500 + len(c.Text) // names, addresses and times
	}
	return n
}

// comments returns the comments on an issue that changed since a time.
func (c conversation) comments(ctx context.Context, n int, s client.IssueStatus, from time.Time) ([]client.PullComment, client.Extent, error) {
	if s.LatestSince.IsZero() || s.LatestSince.Before(from) {
		return s.Latest, client.Whole, nil
	}
	c.mu.Lock()
	last, known := c.talks[n]
	c.mu.Unlock()
	if known && last.node == s.Node && !last.from.After(from) {
		now, err := c.extend(ctx, last, s)
		if err != nil {
			return nil, client.Whole, err
		}
		if now.total == s.Total {
			c.keep(n, now)
			return now.comments, client.Whole, nil
		}
	}
	comments, extent, err := c.client.Issues.Comments(ctx, s.Node, from)
	if err == nil && extent == client.Whole {
		c.keep(n, talk{s.Node, from, s.Edited, s.Total, comments})
	}
	return comments, extent, err
}

// extend returns a conversation with its changes since the last read. If a comment was deleted,
// the result has fewer comments than the status counts.
func (c conversation) extend(ctx context.Context, t talk, s client.IssueStatus) (talk, error) {
	news := s.Latest
	if !s.LatestSince.Before(t.edited) {
		var extent client.Extent
		var err error
		if news, extent, err = c.client.Issues.Comments(ctx, s.Node, t.edited); err != nil || extent != client.Whole {
			return talk{total: -1}, err
		}
	}
	comments, added := client.Merge(t.comments, news, t.edited)
	t.comments, t.total = comments, t.total+added
	t.edited = s.Edited
	return t, nil
}

// keep keeps a conversation in place of the last of the issue, if there is room.
func (c conversation) keep(n int, t talk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.talks, n)
	size := t.size()
	for _, other := range c.talks {
		size += other.size()
	}
	if size > maxTalks {
		clear(c.talks)
	}
	if t.size() <= maxTalks {
		c.talks[n] = t
	}
}

// toComments returns comments as the rest of the program knows them, in the order of their
// last edits.
func toComments(list []client.PullComment) []tracker.Comment {
	comments := make([]tracker.Comment, len(list))
	for i, c := range list {
		comments[i] = tracker.Comment{
			ID: c.Node, Author: c.Author.Login, Own: c.Own, Bot: c.Author.Type == "Bot", Distrust: c.Distrust,
			Text: c.Text, URL: c.URL, At: c.At,
		}
	}
	slices.SortStableFunc(comments, func(a, b tracker.Comment) int { return a.At.Compare(b.At) })
	return comments
}

// React adds a reaction that GitHub has.
func (c conversation) React(ctx context.Context, id tracker.ID, comment string, r tracker.Reaction) error {
	content := map[tracker.Reaction]string{tracker.Obeyed: "THUMBS_UP", tracker.Unknown: "CONFUSED"}[r]
	return failed(fmt.Sprintf("react to a comment on issue %q", clip(string(id))), c.client.Issues.React(ctx, comment, content))
}
