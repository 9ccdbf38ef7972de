package github

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// editHistoryQuery is who changed the text of issues and who labelled them. The text
// comes along to prove that the history is that of the text in hand.
type editHistoryQuery struct {
	Nodes []*struct {
		Issue editHistory `graphql:"... on Issue"`
	} `graphql:"nodes(ids: $ids)"`
}

// editHistory is what GitHub knows of the text of an issue. What it does not tell is
// nil, and then not known.
type editHistory struct {
	ID               string
	Title            string
	Body             string
	LastEditedAt     *time.Time
	Editor           *actor
	UserContentEdits *struct {
		TotalCount int
		Nodes      []*struct {
			EditedAt time.Time
			Editor   *actor
		}
	} `graphql:"userContentEdits(first: 100)"`
	Renames *struct {
		PageInfo struct{ HasPreviousPage bool }
		Nodes    []*struct {
			Event struct {
				CreatedAt time.Time
				Actor     *actor
			} `graphql:"... on RenamedTitleEvent"`
		}
	} `graphql:"renames: timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT])"`
	Labellings *struct {
		Nodes []*struct {
			Event labelling `graphql:"... on LabeledEvent"`
		}
	} `graphql:"labelings: timelineItems(last: 100, itemTypes: [LABELED_EVENT])"`
}

type labelling struct {
	CreatedAt time.Time
	Actor     *actor
	Label     struct{ Name string }
}

// actor is who did something; nil is somebody whose account is gone.
type actor struct {
	Typename string `graphql:"__typename"` // User, Bot, …
	Login    string
}

// change is one change of the text.
type change struct {
	at time.Time
	by *actor
}

// changes returns all changes of title and body since the issue was written; false
// when GitHub does not tell all of them.
func (h *editHistory) changes() ([]change, bool) {
	if h.UserContentEdits == nil || h.Renames == nil || h.Renames.PageInfo.HasPreviousPage ||
		h.UserContentEdits.TotalCount > len(h.UserContentEdits.Nodes) {
		return nil, false
	}
	var list []change
	for _, e := range h.UserContentEdits.Nodes {
		if e == nil {
			return nil, false
		}
		list = append(list, change{e.EditedAt, e.Editor})
	}
	if h.LastEditedAt != nil {
		list = append(list, change{*h.LastEditedAt, h.Editor})
	}
	for _, e := range h.Renames.Nodes {
		if e == nil {
			return nil, false
		}
		list = append(list, change{e.Event.CreatedAt, e.Event.Actor})
	}
	return list, true
}

// lastLabelling returns when the label on the issue was added, nil when that is
// not known.
func (h *editHistory) lastLabelling(label string) *labelling {
	if h.Labellings == nil {
		return nil
	}
	var last *labelling
	for _, e := range h.Labellings.Nodes {
		if e != nil && tracker.NormalLabel(e.Event.Label.Name) == label && (last == nil || !e.Event.CreatedAt.Before(last.CreatedAt)) {
			last = &e.Event
		}
	}
	return last
}

// matches reports whether the history is that matches the text in the record.
func (h *editHistory) matches(r *record) bool {
	same := func(a, b string) bool {
		return a == b || strings.ReplaceAll(a, "\r\n", "\n") == strings.ReplaceAll(b, "\r\n", "\n")
	}
	return same(h.Title, r.GetTitle()) && same(h.Body, r.GetBody())
}

// readEditHistories reads the history of each candidate, nil where there is none.
func (r *repository) readEditHistories(ctx context.Context, candidates []candidate) ([]*editHistory, error) {
	op := "read who edited the issues of " + r.cfg.Repo
	all := make([]*editHistory, len(candidates))
	chunks := slices.Collect(slices.Chunk(candidates, maxNodes))
	err := together(ctx, len(chunks), func(ctx context.Context, i int) error {
		ids := make([]string, len(chunks[i]))
		for j, c := range chunks[i] {
			ids[j] = c.GetNodeID()
		}
		var data editHistoryQuery
		if err := r.query(ctx, op, needIssues, &data, map[string]any{"ids": nodeIDs(ids)}); err != nil {
			return err
		}
		if len(data.Nodes) != len(ids) {
			return fmt.Errorf("%s: %w: %d nodes for %d ids: try again later", op, tracker.ErrResponse, len(data.Nodes), len(ids))
		}
		for j, node := range data.Nodes {
			if node == nil {
				continue
			}
			if node.Issue.ID != ids[j] {
				return fmt.Errorf("%s: %w: the nodes are not those asked for: try again later", op, tracker.ErrResponse)
			}
			all[i*maxNodes+j] = &node.Issue
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
