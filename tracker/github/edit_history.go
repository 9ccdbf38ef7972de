package github

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/parallel"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// editHistoryQuery asks who changed the text of issues and who labeled them. It
// also asks for the text, to prove that the history belongs to the text that was read.
type editHistoryQuery struct {
	Nodes []*struct {
		Issue editHistory `graphql:"... on Issue"`
	} `graphql:"nodes(ids: $ids)"`
}

// editHistory is the part of an issue with the authors of its text. A field that GitHub does
// not return is nil, which means unknown.
type editHistory struct {
	ID               string
	Title            string
	Body             string
	LastEditedAt     *time.Time
	Editor           *client.Account
	UserContentEdits *struct {
		TotalCount int
		Nodes      []*struct {
			EditedAt time.Time
			Editor   *client.Account
		}
	} `graphql:"userContentEdits(first: 100)"`
	Renames *struct {
		PageInfo struct{ HasPreviousPage bool }
		Nodes    []*struct {
			Event struct {
				CreatedAt time.Time
				Actor     *client.Account
			} `graphql:"... on RenamedTitleEvent"`
		}
	} `graphql:"renames: timelineItems(last: 100, itemTypes: [RENAMED_TITLE_EVENT])"`
	Labelings *struct {
		Nodes []*struct {
			Event labeling `graphql:"... on LabeledEvent"`
		}
	} `graphql:"labelings: timelineItems(last: 100, itemTypes: [LABELED_EVENT])"`
}

type labeling struct {
	CreatedAt time.Time
	Actor     *client.Account
	Label     struct{ Name string }
}

type change struct {
	at time.Time
	by client.Account // the zero value is a deleted one
}

// changes returns all changes of title and body since the issue was written. It
// returns false when GitHub does not list all of them.
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
		list = append(list, change{e.EditedAt, client.AccountOf(e.Editor)})
	}
	if h.LastEditedAt != nil {
		list = append(list, change{*h.LastEditedAt, client.AccountOf(h.Editor)})
	}
	for _, e := range h.Renames.Nodes {
		if e == nil {
			return nil, false
		}
		list = append(list, change{e.Event.CreatedAt, client.AccountOf(e.Event.Actor)})
	}
	return list, true
}

// lastLabeling returns the event that last added the label, nil when it is unknown.
func (h *editHistory) lastLabeling(label string) *labeling {
	if h.Labelings == nil {
		return nil
	}
	var last *labeling
	for _, e := range h.Labelings.Nodes {
		if e != nil && tracker.NormalLabel(e.Event.Label.Name) == label && (last == nil || !e.Event.CreatedAt.Before(last.CreatedAt)) {
			last = &e.Event
		}
	}
	return last
}

// matches reports whether the history belongs to the text of the record.
func (h *editHistory) matches(r *record) bool {
	same := func(a, b string) bool {
		return a == b || strings.ReplaceAll(a, "\r\n", "\n") == strings.ReplaceAll(b, "\r\n", "\n")
	}
	return same(h.Title, r.GetTitle()) && same(h.Body, r.GetBody())
}

// readEditHistories returns the history of each candidate, nil for an issue that
// GraphQL does not return.
func (r *repository) readEditHistories(ctx context.Context, candidates []candidate) ([]*editHistory, error) {
	op := "read who edited the issues of " + r.cfg.Repo
	chunks := slices.Collect(slices.Chunk(candidates, maxNodes))
	parts := make([][]*editHistory, len(chunks))
	err := parallel.Each(ctx, requestsAtOnce, chunks, func(ctx context.Context, i int, chunk []candidate) error {
		return client.InHalves(chunk, func(part []candidate) error {
			histories, err := r.readHistoriesOf(ctx, op, part)
			parts[i] = append(parts[i], histories...)
			return err
		})
	})
	return slices.Concat(parts...), err
}

func (r *repository) readHistoriesOf(ctx context.Context, op string, candidates []candidate) ([]*editHistory, error) {
	ids := make([]string, len(candidates))
	for i, c := range candidates {
		ids[i] = c.GetNodeID()
	}
	var data editHistoryQuery
	if err := r.client.Query(ctx, client.ReadIssues, &data, map[string]any{"ids": nodeIDs(ids)}); err != nil {
		return nil, failed(op, err)
	}
	if len(data.Nodes) != len(ids) {
		return nil, fmt.Errorf("%s: %w: %d nodes for %d ids: try again later", op, tracker.ErrResponse, len(data.Nodes), len(ids))
	}
	histories := make([]*editHistory, len(ids))
	for i, node := range data.Nodes {
		if node == nil {
			continue
		}
		if node.Issue.ID != ids[i] {
			return nil, fmt.Errorf("%s: %w: the nodes are not those asked for: try again later", op, tracker.ErrResponse)
		}
		histories[i] = &node.Issue
	}
	return histories, nil
}
