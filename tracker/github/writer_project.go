package github

import (
	"context"
	"fmt"
	"slices"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// moveOnProject sets the status of an open issue on the board, or takes it away for
// the state "open". An issue that is not on the board is put there.
func (w writer) moveOnProject(ctx context.Context, op string, rec *record, state string) error {
	node := rec.GetNodeID()
	data, err := w.readProject(ctx, []string{node})
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	status, ok := data.statuses([]string{node})[node]
	switch {
	case !ok:
		return fmt.Errorf("%s: %w: it was deleted", op, tracker.ErrNotVisible)
	case status.unknown != nil:
		return fmt.Errorf("%s: %w: %w", op, tracker.ErrResponse, status.unknown)
	}
	from, _ := w.states.stateOf(rec, status.name)
	if tracker.NormalState(from) == state {
		return nil
	}
	if err := w.checkNotFinished(op, from, state); err != nil {
		return err
	}
	field, _ := data.field(w.cfg.Project.Field) // readProject has checked that it is there
	option := slices.IndexFunc(field.names(), func(name string) bool { return tracker.NormalState(name) == state })
	project := data.RepositoryOwner.Owner.ProjectV2.ID
	switch {
	case option >= 0:
		if status.item == "" {
			if status.item, err = w.addToProject(ctx, op, project, node); err != nil {
				return err
			}
		}
		return w.setStatus(ctx, op, project, status.item, field.ID, field.Options[option].ID)
	case state == stateOpen:
		return w.clearStatus(ctx, op, project, status.item, field.ID)
	}
	return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("state", state, append(field.names(), stateOpen, stateClosed)))
}

// addToProject puts an issue on the board and returns the node id of its place there.
func (w writer) addToProject(ctx context.Context, op, project, node string) (string, error) {
	type AddProjectV2ItemByIdInput struct {
		ProjectID graphql.ID `json:"projectId"`
		ContentID graphql.ID `json:"contentId"`
	}
	return w.changeProject(ctx, op, "addProjectV2ItemById", "item", AddProjectV2ItemByIdInput{project, node})
}

func (w writer) setStatus(ctx context.Context, op, project, item, field, option string) error {
	type value struct {
		Option string `json:"singleSelectOptionId"`
	}
	type UpdateProjectV2ItemFieldValueInput struct {
		ProjectID graphql.ID `json:"projectId"`
		ItemID    graphql.ID `json:"itemId"`
		FieldID   graphql.ID `json:"fieldId"`
		Value     value      `json:"value"`
	}
	input := UpdateProjectV2ItemFieldValueInput{project, item, field, value{option}}
	_, err := w.changeProject(ctx, op, "updateProjectV2ItemFieldValue", "projectV2Item", input)
	return err
}

func (w writer) clearStatus(ctx context.Context, op, project, item, field string) error {
	type ClearProjectV2ItemFieldValueInput struct {
		ProjectID graphql.ID `json:"projectId"`
		ItemID    graphql.ID `json:"itemId"`
		FieldID   graphql.ID `json:"fieldId"`
	}
	_, err := w.changeProject(ctx, op, "clearProjectV2ItemFieldValue", "projectV2Item", ClearProjectV2ItemFieldValueInput{project, item, field})
	return err
}

// changeProject carries out a mutation of the board and returns the node id of its result.
func (w writer) changeProject(ctx context.Context, op, name, object string, input any) (string, error) {
	id, err := w.client.Mutate(ctx, client.Mutation{
		Permission: client.WriteProjects, Name: name, Object: object, Input: input,
		Unseen: "GitHub does not find what to change: it is gone, or the token may not change it",
	})
	return id, failed(op, err)
}
