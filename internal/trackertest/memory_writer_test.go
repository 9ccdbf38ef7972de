package trackertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

// memoryComment is a comment in a memoryTracker; only those of the program have a key.
type memoryComment struct {
	id, author, key, text string
	at                    time.Time
	reactions             []tracker.Reaction
}

// change begins a write: it returns the issue, or why it cannot be changed.
func (m *memoryTracker) change(ctx context.Context, id tracker.ID) (*tracker.Issue, error) {
	err := m.request(ctx, 0)
	switch {
	case err != nil && ctx.Err() != nil && m.defect == "deaf writer":
	case err != nil && ctx.Err() != nil && m.defect == "no cause of a write":
		return nil, tracker.ErrRequest
	case err != nil && m.refused && m.defect == "refusal is not visible":
		return nil, fmt.Errorf("%w: %w", tracker.ErrNotVisible, err)
	case err != nil:
		return nil, err
	}
	issue := m.find(id)
	if issue == nil && m.defect == "writes nowhere" {
		return new(tracker.Issue), nil
	}
	if issue == nil {
		return nil, tracker.ErrNotVisible
	}
	return issue, nil
}

func (m *memoryTracker) Comment(ctx context.Context, id tracker.ID, key, text string) error {
	prepared, err := tracker.PrepareComment(key, text)
	if err != nil && m.defect != "posts anything" {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.change(ctx, id); err != nil {
		return err
	}
	at := slices.IndexFunc(m.comments[id], func(c memoryComment) bool {
		return c.key == key || m.defect == "one comment" || m.defect == "finds by text" && strings.Contains(text+c.text, tracker.CommentMarker(key))
	})
	if m.defect == "comments twice" || m.defect == "posts again" && m.loses {
		at = -1
	}
	switch m.defect {
	case "finds by text":
		prepared = text
	case "posts anything":
		prepared = strings.TrimSpace(text)
	}
	if at >= 0 {
		m.comments[id][at].text = prepared
		return nil
	}
	m.say(id, memoryComment{author: program, key: key, text: prepared, at: time.Now()})
	if m.loses && m.defect == "posts again" {
		return nil
	}
	if m.loses && m.defect != "sure of a lost answer" {
		m.loses = false
		return fmt.Errorf("%w: %w: it may have been posted", tracker.ErrRequest, tracker.ErrInDoubt)
	}
	return nil
}

func (m *memoryTracker) Move(ctx context.Context, id tracker.ID, state string) error {
	if err := tracker.CheckName("state", state); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	issue, err := m.change(ctx, id)
	if err != nil {
		return err
	}
	states := []string{"Todo", "Done"}
	at := slices.IndexFunc(states, func(s string) bool { return tracker.NormalState(s) == tracker.NormalState(state) })
	switch {
	case at < 0 && m.defect != "makes states":
		return tracker.UnknownNameError("state", state, states)
	case at >= 0:
		state = states[at]
	}
	switch {
	case issue.State == state && m.defect == "touching move":
		issue.UpdatedAt = issue.UpdatedAt.Add(1)
	case issue.State == "Done" && state != "Done" && m.defect != "reopens":
		return fmt.Errorf("%w: its state is Done", tracker.ErrFinished)
	case m.defect != "idle move":
		issue.State = state
	}
	return nil
}

func (m *memoryTracker) Label(ctx context.Context, id tracker.ID, label string, on bool) error {
	if err := tracker.CheckName("label", label); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	issue, err := m.change(ctx, id)
	if err != nil {
		return err
	}
	label = tracker.NormalLabel(label)
	has := issue.HasLabel(label)
	switch {
	case on && label != "review" && m.defect != "makes labels":
		return tracker.UnknownNameError("label", label, []string{"Review"})
	case on && m.defect == "replaces labels":
		issue.Labels = []string{label}
	case on && (!has || m.defect == "labels twice"):
		issue.Labels = append(slices.Clone(issue.Labels), label)
	case !on:
		issue.Labels = slices.DeleteFunc(slices.Clone(issue.Labels), func(l string) bool { return l == label })
	}
	return nil
}
