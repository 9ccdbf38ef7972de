package github

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// writer implements [tracker.Writer]. Each method first reads the issue, which is free
// of charge if it has not changed. A closed issue is never opened again.
type writer struct{ *repository }

// visible returns the issue to change as it is now.
func (w writer) visible(ctx context.Context, op string, id tracker.ID) (*record, error) {
	var rec *record
	for _, n := range issueNumbers([]tracker.ID{id}) {
		var err error
		if rec, err = w.readRecord(ctx, n); err != nil {
			return nil, err
		}
	}
	if rec == nil {
		return nil, fmt.Errorf("%s: %w: there is no such issue in %s, or the token cannot see it", op, tracker.ErrNotVisible, w.cfg.Repo)
	}
	return rec, nil
}

// Move closes the issue, exchanges its state label, or sets its status on the board.
func (w writer) Move(ctx context.Context, id tracker.ID, state string) error {
	op := fmt.Sprintf("move issue %q to %q", clip(string(id)), clip(state))
	if err := tracker.CheckName("state", state); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rec, err := w.visible(ctx, op, id)
	if err != nil {
		return err
	}
	state = tracker.NormalState(state)
	switch {
	case state == stateClosed && !rec.isOpen():
		return nil
	case state == stateClosed:
		return failed(op, w.client.Issues.Close(ctx, rec.GetNumber()))
	case !rec.isOpen():
		return fmt.Errorf("%s: %w: it is closed: open it again if work should go on", op, tracker.ErrFinished)
	case w.states.onProject:
		return w.moveOnProject(ctx, op, rec, state)
	case w.states.prefix != "":
		return w.moveByLabel(ctx, op, rec, state)
	case state == stateOpen:
		return nil
	}
	return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("state", state, []string{stateOpen, stateClosed}))
}

// checkNotFinished returns the reason why an open issue is not moved from one state to another.
func (w writer) checkNotFinished(op, from, to string) error {
	if w.cfg.Finishes(from) && !w.cfg.Finishes(to) {
		return fmt.Errorf("%s: %w: its state is %q: change it by hand if work should go on", op, tracker.ErrFinished, clip(from))
	}
	return nil
}

// moveByLabel exchanges the state label. The new one comes first: an issue that a
// killed run leaves with two has several states, so nothing works on it, and the next
// call takes the other one off.
func (w writer) moveByLabel(ctx context.Context, op string, rec *record, state string) error {
	from, _ := w.states.stateOf(rec, "")
	if err := w.checkNotFinished(op, from, state); err != nil {
		return err
	}
	stateLabel := func(label string) bool { return len(w.states.fromLabels([]string{label})) > 0 }
	wanted := func(label string) bool {
		return stateLabel(label) && tracker.NormalState(w.states.fromLabels([]string{label})[0]) == state
	}
	if state != stateOpen && !slices.ContainsFunc(rec.labelNames(), wanted) {
		all, err := w.listLabels(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, wanted)
		if i < 0 {
			return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("state", state, append(w.states.fromLabels(all), stateOpen, stateClosed)))
		}
		if err := w.client.Issues.AddLabel(ctx, rec.GetNumber(), all[i]); err != nil {
			return failed(op, err)
		}
	}
	for _, label := range rec.labelNames() {
		if !stateLabel(label) || wanted(label) {
			continue
		}
		if err := w.client.Issues.RemoveLabel(ctx, rec.GetNumber(), label); err != nil {
			return failed(op, err)
		}
	}
	return nil
}

// Label changes one label of the issue.
func (w writer) Label(ctx context.Context, id tracker.ID, label string, on bool) error {
	op := fmt.Sprintf("change the label %q of issue %q", clip(label), clip(string(id)))
	if err := tracker.CheckName("label", label); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rec, err := w.visible(ctx, op, id)
	if err != nil {
		return err
	}
	same := func(name string) bool { return tracker.NormalLabel(name) == tracker.NormalLabel(label) }
	if on {
		return w.addLabel(ctx, op, rec, label, same)
	}
	for _, name := range rec.labelNames() {
		if !same(name) {
			continue
		}
		if err := w.client.Issues.RemoveLabel(ctx, rec.GetNumber(), name); err != nil {
			return failed(op, err)
		}
	}
	return nil
}

// addLabel adds the label of the repository that is the same as the one to add. It
// looks for it first, because GitHub would make a new one.
func (w writer) addLabel(ctx context.Context, op string, rec *record, label string, same func(string) bool) error {
	if slices.ContainsFunc(rec.labelNames(), same) {
		return nil
	}
	all, err := w.listLabels(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, same)
	if i < 0 {
		return fmt.Errorf("%s: %w", op, tracker.UnknownNameError("label", label, all))
	}
	return failed(op, w.client.Issues.AddLabel(ctx, rec.GetNumber(), all[i]))
}

// Comment posts a comment that ends with a hidden marker, or edits the one that does.
func (w writer) Comment(ctx context.Context, id tracker.ID, key, text string) error {
	op := fmt.Sprintf("comment on issue %q", clip(string(id)))
	text, err := tracker.PrepareComment(key, text)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rec, err := w.visible(ctx, op, id)
	if err != nil {
		return err
	}
	created, err := w.client.Issues.SetComment(ctx, client.Thread{Node: rec.GetNodeID(), Number: rec.GetNumber()}, tracker.CommentMarker(key), text)
	if e, typed := errors.AsType[*transport.Error](err); typed && created && e.InDoubt() {
		return tracker.PerhapsPosted(failed(op, err))
	}
	return failed(op, err)
}
