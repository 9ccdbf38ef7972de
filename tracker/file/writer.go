package file

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// writer implements [tracker.Writer]. People write any state and any label into a
// file, so none is unknown.
type writer struct {
	folder  *folder
	options tracker.Options
}

// Comment writes a comment as the tool does, under the program's own name.
func (w *writer) Comment(ctx context.Context, id tracker.ID, key, text string) error {
	text, err := tracker.PrepareComment(key, text)
	if err != nil {
		return err
	}
	return w.rewrite(ctx, "comment on", id, func(content []byte, _ tracker.Issue) (change, error) {
		doc, err := splitDocument(content)
		if err != nil || doc.commentOf(key) == escapeHeadings(text) {
			return change{}, err
		}
		return change{comment: text, key: key}, nil
	})
}

// Move writes the state into the front matter.
func (w *writer) Move(ctx context.Context, id tracker.ID, state string) error {
	if err := tracker.CheckName("state", state); err != nil {
		return err
	}
	state = strings.TrimSpace(state)
	return w.rewrite(ctx, "move", id, func(_ []byte, issue tracker.Issue) (change, error) {
		switch {
		case tracker.NormalState(issue.State) == tracker.NormalState(state):
			return change{}, nil
		case w.options.Finishes(issue.State) && !w.options.Finishes(state):
			return change{}, fmt.Errorf("%w: its state is %q: change it by hand if work should go on", tracker.ErrFinished, issue.State)
		}
		return change{state: state}, nil
	})
}

// Label changes the labels in the front matter.
func (w *writer) Label(ctx context.Context, id tracker.ID, label string, on bool) error {
	if err := tracker.CheckName("label", label); err != nil {
		return err
	}
	label = tracker.NormalLabel(label)
	return w.rewrite(ctx, "label", id, func(_ []byte, issue tracker.Issue) (change, error) {
		if issue.HasLabel(label) == on {
			return change{}, nil
		}
		return change{label: label, remove: !on}, nil
	})
}

// rewrite performs the change that decide returns for an issue and the content of its
// file. The zero change writes nothing.
func (w *writer) rewrite(ctx context.Context, op string, id tracker.ID, decide func([]byte, tracker.Issue) (change, error)) error {
	op = fmt.Sprintf("%s the issue %q", op, id)
	err := w.folder.rewrite(ctx, string(id), func(content []byte, modified time.Time) ([]byte, error) {
		issue, err := parse(string(id), content, time.Time{})
		if err != nil {
			return nil, fmt.Errorf("%w: its file is malformed: %w", tracker.ErrResponse, err)
		}
		change, err := decide(content, issue)
		if err != nil || change.empty() {
			return content, err
		}
		change.at, change.modified = time.Now(), modified
		edited, err := change.apply(content)
		if err == nil {
			_, err = parse(string(id), edited, time.Time{})
		}
		if err != nil {
			return nil, fmt.Errorf("%w: nothing is changed, because the file would be malformed: %w", tracker.ErrResponse, err)
		}
		return edited, nil
	})
	known := func(category error) bool { return errors.Is(err, category) }
	switch {
	case err == nil:
		return nil
	case known(errGone):
		return fmt.Errorf("%s: %w: there is no file of it in %s", op, tracker.ErrNotVisible, w.folder.path)
	case known(tracker.ErrResponse), known(tracker.ErrFinished):
		return fmt.Errorf("%s: %w", op, err)
	}
	return fmt.Errorf("%s: %w: %w", op, tracker.ErrRequest, err)
}
