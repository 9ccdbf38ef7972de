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
	statuses, err := c.client.IssueStatuses(ctx, numbers)
	if err != nil {
		return nil, failed(op, err)
	}
	all := map[tracker.ID]tracker.Comments{}
	for id, from := range since { // in another order each time: what waits is not always the same
		n, _ := strconv.Atoi(string(id))
		status, there := statuses[n]
		if !there || strconv.Itoa(n) != string(id) || status.Edited.Before(from) {
			continue
		}
		comments, extent := status.Latest, client.Whole
		if !status.LatestSince.IsZero() && !status.LatestSince.Before(from) {
			if comments, extent, err = c.client.IssueComments(ctx, status.Node, from); err != nil {
				return nil, failed(op, err)
			}
		}
		judged, err := c.trust.access.Judge(ctx, comments, from)
		if err != nil {
			return nil, failed(op, err)
		}
		if len(judged) > 0 || extent == client.Postponed {
			all[id] = tracker.Comments{List: toComments(judged), Omitted: extent == client.Omits, Unread: extent == client.Postponed}
		}
	}
	return all, nil
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
	if err := c.client.ReactTo(ctx, comment, content); err != nil {
		return failed(fmt.Sprintf("react to a comment on issue %q", clip(string(id))), err)
	}
	return nil
}
