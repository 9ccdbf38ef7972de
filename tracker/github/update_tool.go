package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

const updateName = tracker.UpdateTool

// noteKey is the key of the one comment that an agent writes again and again.
const noteKey = "note"

const updateSchema = `{
  "type": "object",
  "properties": {
    "state": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The new state, one of those the workflow speaks of."},
    "comment": {"type": "string", "minLength": 1, "description": "Markdown of a new comment on the issue."},
    "note": {"type": "string", "minLength": 1, "description": "Markdown of your note on the issue. There is one; it replaces what the note said before."},
    "add_labels": {"type": "array", "items": {"type": "string"}, "description": "Labels to put on the issue."},
    "remove_labels": {"type": "array", "items": {"type": "string"}, "description": "Labels to take off the issue."}
  },
  "minProperties": 1,
  "additionalProperties": false
}`

// updateTool returns the tool with which the agent changes its own issue, and nothing else
// (SPEC §11.5). Its posts are harmless and end with the mark of the agent or of its note.
func (r *repository) updateTool() tracker.Tool {
	return tracker.Tool{
		Name:        updateName,
		Description: "Change the current issue: set its state, add a comment, write your note, put labels on it or take them off. " + r.cfg.labelRule(),
		InputSchema: json.RawMessage(updateSchema),
		Timeout:     toolTime,
		Call: func(ctx context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			steps, err := r.updateSteps(issue, arguments)
			if err != nil {
				return tracker.ToolResult{Text: updateName + ": " + err.Error()}
			}
			var done []string
			for _, step := range steps {
				if err := step.perform(ctx); err != nil {
					text := fmt.Sprintf("%s: %s is not done: %v", updateName, step.name, updateError(err))
					if len(done) > 0 {
						text += ". Done before: " + strings.Join(done, "; ")
					}
					return tracker.ToolResult{Wrote: true, Text: text}
				}
				done = append(done, step.done)
			}
			return tracker.ToolResult{OK: true, Wrote: true, Text: issue.Identifier + ": " + strings.Join(done, "; ") + "."}
		},
	}
}

// labelRule returns the sentence on the labels that the agent may change.
func (c Config) labelRule() string {
	on, off := c.labelsOn(), c.labelsOff()
	switch {
	case len(on) == 0 && len(off) == 0:
		return "No label is yours to change."
	case len(on) == 0:
		return fmt.Sprintf("You may take off the labels %q.", off)
	}
	return fmt.Sprintf("You may put on the labels %q and take off %q.", on, off)
}

// labelsOn returns the labels that the agent may put on. The label of trust never is one.
func (c Config) labelsOn() []string {
	return slices.DeleteFunc(slices.Clone(c.ToolLabels), func(label string) bool { return label == c.TrustLabel })
}

// labelsOff returns the labels that the agent may take off. Without a required one the issue
// is no longer the agent's.
func (c Config) labelsOff() []string { return slices.Concat(c.ToolLabels, c.RequiredLabels) }

// updateStep is one change of an issue.
type updateStep struct {
	name, done string
	perform    func(context.Context) error
}

// updateSteps returns the changes that a call asks for, the state last: the issue may be
// somebody else's then. It refuses, without a request, changes that are not the agent's to
// make.
func (r *repository) updateSteps(issue tracker.Issue, arguments json.RawMessage) ([]updateStep, error) {
	var input *struct {
		tracker.IssueUpdate
		Note         *string  `json:"note"`
		AddLabels    []string `json:"add_labels"`
		RemoveLabels []string `json:"remove_labels"`
	}
	const advice = "give an object with state, comment, note, add_labels or remove_labels"
	if err := tracker.DecodeArguments(arguments, &input, advice); err != nil {
		return nil, err
	}
	if input == nil {
		return nil, errors.New("there is nothing to do: " + advice)
	}
	state, comment, err := input.Read()
	if err != nil {
		return nil, err
	}
	if err := r.cfg.checkUpdate(state, input.AddLabels, input.RemoveLabels); err != nil {
		return nil, err
	}
	w, steps := writer{r}, []updateStep(nil)
	add := func(name, done string, perform func(context.Context) error) {
		steps = append(steps, updateStep{name, done, perform})
	}
	if comment != "" {
		text, err := harmless(comment)
		if err != nil {
			return nil, err
		}
		add("the comment", "the comment is added", func(ctx context.Context) error { return w.post(ctx, issue.ID, text) })
	}
	if input.Note != nil {
		text, err := harmless(*input.Note)
		if err != nil {
			return nil, err
		}
		add("the note", "the note is written", func(ctx context.Context) error {
			r.noting.Lock()
			defer r.noting.Unlock()
			return w.Comment(ctx, issue.ID, noteKey, text)
		})
	}
	for _, label := range input.AddLabels {
		add(fmt.Sprintf("adding the label %q", label), fmt.Sprintf("the label %q is on", label), func(ctx context.Context) error { return w.Label(ctx, issue.ID, label, true) })
	}
	for _, label := range input.RemoveLabels {
		add(fmt.Sprintf("removing the label %q", label), fmt.Sprintf("the label %q is off", label), func(ctx context.Context) error { return w.Label(ctx, issue.ID, label, false) })
	}
	if state != "" {
		add("the state", fmt.Sprintf("the state is %q", state), func(ctx context.Context) error { return w.Move(ctx, issue.ID, state) })
	}
	if steps == nil {
		return nil, errors.New("there is nothing to do: " + advice)
	}
	return steps, nil
}

// checkUpdate refuses labels that are not the agent's to change. A state that would put on the
// label of trust is among them: with it the agent could approve text by outsiders.
func (c Config) checkUpdate(state string, on, off []string) error {
	const most = 20
	switch {
	case len(on)+len(off) > most:
		return fmt.Errorf("there are more than %d labels in a call", most)
	case state != "" && slices.ContainsFunc(newStateSource(c).fromLabels([]string{c.TrustLabel}), func(s string) bool { return tracker.NormalState(s) == tracker.NormalState(state) }):
		return fmt.Errorf("the state %q is a label for people to put on", clip(state))
	}
	for _, list := range []struct {
		labels, allowed []string
		verb            string
	}{{on, c.labelsOn(), "put on"}, {off, c.labelsOff(), "take off"}} {
		for _, label := range list.labels {
			if !slices.Contains(list.allowed, tracker.NormalLabel(label)) {
				return fmt.Errorf("the label %q is not yours to %s. %s Labels of states are set by state", clip(label), list.verb, c.labelRule())
			}
		}
	}
	return nil
}

// harmless returns a text of the agent that notifies nobody, commands nothing and hides
// nothing.
func harmless(text string) (string, error) {
	if text = defuse.Body(text); strings.TrimSpace(text) == "" {
		return "", errors.New("nothing is left of the text when it is made harmless: write it without hidden parts")
	}
	return text, nil
}

// post adds a comment of the agent.
func (w writer) post(ctx context.Context, id tracker.ID, text string) error {
	op := fmt.Sprintf("comment on issue %q", clip(string(id)))
	text, err := tracker.PrepareComment(tracker.AgentKey, text)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	rec, err := w.visible(ctx, op, id)
	if err != nil {
		return err
	}
	err = w.client.Issues.AddComment(ctx, rec.GetNumber(), text+"\n\n"+tracker.CommentMarker(tracker.AgentKey))
	if e, typed := errors.AsType[*transport.Error](err); typed && e.InDoubt() {
		return fmt.Errorf("%w: %w: it may have been posted: read the comments before you post it again", failed(op, err), tracker.ErrInDoubt)
	}
	return failed(op, err)
}

// updateError returns an error as the agent should hear it.
func updateError(err error) error {
	if e, ok := errors.AsType[*transport.Error](err); ok && errors.Is(err, client.ErrContent) {
		return errors.New(e.Reason + ": nothing was posted, so post less, or again after that time")
	}
	return err
}
