package linear

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

// writer implements [tracker.Writer]. Each method reads, in one request, the issue (if the
// project has it) and all other data that the method needs.
type writer struct{ *reader }

// moveSubject asks for an issue and the states of its team, which it can have.
type moveSubject struct {
	Issues page[struct {
		Trashed bool
		State   struct{ Name string }
		Team    struct {
			States page[struct{ ID, Name string }] `graphql:"states(first: 100)"`
		}
	}] `graphql:"issues(first: 1, filter: {id: {in: $ids}, project: {slugId: {eq: $projectSlug}}})"`
}

// labelSubject asks for an issue with its labels, and for all labels of one name.
type labelSubject struct {
	Issues page[struct {
		Trashed bool
		Team    struct{ ID string }
		Labels  page[struct{ ID, Name string }] `graphql:"labels(first: 100)"`
	}] `graphql:"issues(first: 1, filter: {id: {in: $ids}, project: {slugId: {eq: $projectSlug}}})"`
	IssueLabels page[teamLabel] `graphql:"issueLabels(first: 50, filter: {name: {eqIgnoreCase: $label}})"`
}

// teamLabel is a label of a team, or of the whole workspace if it has none. No issue
// carries a group of labels.
type teamLabel struct {
	ID      string
	Name    string
	IsGroup bool
	Team    *struct{ ID string }
}

// fits reports whether an issue of a team can carry the label.
func (l teamLabel) fits(team string) bool { return !l.IsGroup && (l.Team == nil || l.Team.ID == team) }

// labelNamesQuery asks for labels, to name them in an error.
type labelNamesQuery struct {
	IssueLabels page[teamLabel] `graphql:"issueLabels(first: 100)"`
}

// commentSubject asks for an issue, and for the comment with an id.
type commentSubject struct {
	Issues   page[struct{ Trashed bool }] `graphql:"issues(first: 1, filter: {id: {in: $ids}, project: {slugId: {eq: $projectSlug}}})"`
	Comments page[struct {
		Body  string
		User  *struct{ IsMe bool }
		Issue *struct{ ID string }
	}] `graphql:"comments(first: 1, filter: {id: {eq: $comment}})"`
}

// readSubject reads an issue and the other data of into.
func (w writer) readSubject(ctx context.Context, op string, id tracker.ID, into any, more map[string]any) error {
	if id == "" {
		return notVisible(op)
	}
	variables := map[string]any{"ids": []graphql.ID{string(id)}, "projectSlug": graphql.String(w.cfg.ProjectSlug)}
	maps.Copy(variables, more)
	return w.query(ctx, op, into, variables)
}

func notVisible(op string) error {
	return fmt.Errorf("%s: %w: the project has no such issue, or the key cannot see it", op, tracker.ErrNotVisible)
}

// checkPages returns the first error of pages that lack their nodes.
func checkPages[A, B any](op string, a page[A], b page[B]) error {
	_, err := a.nextCursor()
	if err == nil {
		_, err = b.nextCursor()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// Move gives the issue the state of its team that has the name.
func (w writer) Move(ctx context.Context, id tracker.ID, state string) error {
	op := fmt.Sprintf("move Linear issue %s to %s", w.wire.Quote(string(id)), w.wire.Quote(state))
	if err := tracker.CheckName("state", state); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var subject moveSubject
	if err := w.readSubject(ctx, op, id, &subject, nil); err != nil {
		return err
	}
	if err := checkPages(op, subject.Issues, subject.Issues); err != nil {
		return err
	}
	if len(subject.Issues.Nodes) == 0 || subject.Issues.Nodes[0].Trashed {
		return notVisible(op)
	}
	issue := subject.Issues.Nodes[0]
	switch {
	case tracker.NormalState(issue.State.Name) == tracker.NormalState(state):
		return nil
	case w.cfg.Finishes(issue.State.Name) && !w.cfg.Finishes(state):
		return fmt.Errorf("%s: %w: its state is %s: change it by hand if work should go on", op, tracker.ErrFinished, w.wire.Quote(issue.State.Name))
	}
	var names []string
	for _, s := range issue.Team.States.Nodes {
		if tracker.NormalState(s.Name) == tracker.NormalState(state) {
			return w.setState(ctx, op, id, s.ID)
		}
		names = append(names, withoutNUL(s.Name))
	}
	return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("state", state, names))
}

func (w writer) setState(ctx context.Context, op string, id tracker.ID, state string) error {
	type IssueUpdateInput struct {
		StateID string `json:"stateId"`
	}
	return w.change(ctx, op, "issueUpdate(id: $id, input: $input)", map[string]any{"id": graphql.String(id), "input": IssueUpdateInput{state}})
}

// Label adds a label of the issue's team or of the workspace, or removes one.
func (w writer) Label(ctx context.Context, id tracker.ID, label string, on bool) error {
	op := fmt.Sprintf("change the label %s of Linear issue %s", w.wire.Quote(label), w.wire.Quote(string(id)))
	if err := tracker.CheckName("label", label); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	label = strings.TrimSpace(label)
	var subject labelSubject
	if err := w.readSubject(ctx, op, id, &subject, map[string]any{"label": graphql.String(label)}); err != nil {
		return err
	}
	if err := checkPages(op, subject.Issues, subject.IssueLabels); err != nil {
		return err
	}
	if len(subject.Issues.Nodes) == 0 || subject.Issues.Nodes[0].Trashed {
		return notVisible(op)
	}
	issue := subject.Issues.Nodes[0]
	carried := slices.IndexFunc(issue.Labels.Nodes, func(l struct{ ID, Name string }) bool {
		return tracker.NormalLabel(l.Name) == tracker.NormalLabel(label)
	})
	relabel := func(call, label string) error {
		return w.change(ctx, op, call+"(id: $id, labelId: $label)", map[string]any{"id": graphql.String(id), "label": graphql.String(label)})
	}
	switch {
	case on == (carried >= 0):
		return nil
	case !on:
		return relabel("issueRemoveLabel", issue.Labels.Nodes[carried].ID)
	}
	i := slices.IndexFunc(subject.IssueLabels.Nodes, func(l teamLabel) bool { return l.fits(issue.Team.ID) })
	if i < 0 {
		return w.unknownLabelError(ctx, op, label, issue.Team.ID)
	}
	return relabel("issueAddLabel", subject.IssueLabels.Nodes[i].ID)
}

// unknownLabelError returns the error that names the labels of a team.
func (w writer) unknownLabelError(ctx context.Context, op, label, team string) error {
	var answer labelNamesQuery
	if err := w.query(ctx, op, &answer, nil); err != nil {
		return err
	}
	var names []string
	for _, l := range answer.IssueLabels.Nodes {
		if l.fits(team) {
			names = append(names, withoutNUL(l.Name))
		}
	}
	return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("label", label, names))
}

// commentID returns the id of the program's comment with a key, so that no second one can
// be posted.
func commentID(issue tracker.ID, key string) string {
	return derivedID(programComment, "comment", string(issue), key)
}

// Comment posts a comment with the id that belongs to the key, or edits it.
func (w writer) Comment(ctx context.Context, id tracker.ID, key, text string) error {
	op := "comment on Linear issue " + w.wire.Quote(string(id))
	text, err := tracker.PrepareComment(key, text)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	comment := commentID(id, key)
	var subject commentSubject
	if err := w.readSubject(ctx, op, id, &subject, map[string]any{"comment": graphql.ID(comment)}); err != nil {
		return err
	}
	if err := checkPages(op, subject.Issues, subject.Comments); err != nil {
		return err
	}
	if len(subject.Issues.Nodes) == 0 || subject.Issues.Nodes[0].Trashed {
		return notVisible(op)
	}
	if len(subject.Comments.Nodes) == 0 {
		return w.createComment(ctx, op, comment, id, text)
	}
	posted := subject.Comments.Nodes[0]
	switch {
	case posted.User != nil && !posted.User.IsMe, posted.Issue == nil, posted.Issue.ID != string(id):
		return fmt.Errorf("%s: %w: the comment %s, which the program would edit, is not its own: delete it, or give the key of its author", op, tracker.ErrStatus, comment)
	case strings.TrimSpace(posted.Body) == text:
		return nil
	}
	return w.editComment(ctx, op, comment, text)
}

// createComment posts a comment. The request is sent once.
func (w writer) createComment(ctx context.Context, op, comment string, issue tracker.ID, text string) error {
	type CommentCreateInput struct {
		ID      string `json:"id"`
		IssueID string `json:"issueId"`
		Body    string `json:"body"`
	}
	err := w.mutate(ctx, "commentCreate(input: $input)", map[string]any{"input": CommentCreateInput{comment, string(issue), text}})
	if inDoubt(err) {
		return tracker.PerhapsPosted(failed(w.wire, op, err))
	}
	return failed(w.wire, op, err)
}

// inDoubt reports whether a request that failed may have been carried out.
func inDoubt(err error) bool {
	if err == nil || errors.Is(err, errGraphQL) || errors.Is(err, errUndone) {
		return false
	}
	e, ok := errors.AsType[*transport.Error](err)
	return !ok || e.InDoubt()
}

func (w writer) editComment(ctx context.Context, op, comment, text string) error {
	type CommentUpdateInput struct {
		Body string `json:"body"`
	}
	return w.change(ctx, op, "commentUpdate(id: $id, input: $input)", map[string]any{"id": graphql.String(comment), "input": CommentUpdateInput{text}})
}
