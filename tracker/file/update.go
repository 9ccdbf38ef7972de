package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/tracker"
)

const updateSchema = `{
  "type": "object",
  "properties": {
    "state": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The new state, one of those the workflow speaks of."},
    "comment": {"type": "string", "minLength": 1, "description": "Markdown to add to the comments of the issue."}
  },
  "minProperties": 1,
  "additionalProperties": false
}`

// updateTool returns the tool with which the agent changes its own issue (SPEC
// §11.5).
func (f *folder) updateTool() tracker.Tool {
	return tracker.Tool{
		Name:        tracker.UpdateTool,
		Description: "Set the state of the current issue, add a comment to it, or both.",
		InputSchema: json.RawMessage(updateSchema),
		Call: func(ctx context.Context, issue tracker.Issue, arguments json.RawMessage) tracker.ToolResult {
			text, err := f.update(ctx, string(issue.ID), arguments)
			if err != nil {
				return tracker.ToolResult{Text: tracker.UpdateTool + ": " + err.Error()}
			}
			return tracker.ToolResult{OK: true, Wrote: true, Text: text}
		},
	}
}

// update performs a call of the tool and returns its effects in words.
func (f *folder) update(ctx context.Context, id string, arguments json.RawMessage) (string, error) {
	requested, err := decodeArguments(arguments)
	if err != nil {
		return "", err
	}
	var results []string
	err = f.rewrite(ctx, id, func(content []byte, modified time.Time) ([]byte, error) {
		issue, err := parse(id, content, time.Time{})
		if err != nil {
			return nil, fmt.Errorf("its file is malformed: %w", err)
		}
		results = nil
		change := requested
		change.at, change.modified = time.Now(), modified
		switch {
		case change.state == "":
		case tracker.NormalState(change.state) == tracker.NormalState(issue.State):
			change.state = ""
			results = append(results, fmt.Sprintf("the state is %q already", issue.State))
		default:
			results = append(results, fmt.Sprintf("the state is now %q, it was %q", change.state, issue.State))
		}
		if change.comment != "" {
			results = append(results, "the comment is added")
		}
		if change.state == "" && change.comment == "" {
			return content, nil
		}
		edited, err := change.apply(content)
		if err != nil {
			return nil, err
		}
		if _, err := parse(id, edited, time.Time{}); err != nil {
			return nil, fmt.Errorf("nothing is changed, because then the file would be malformed: %w", err)
		}
		return edited, nil
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", id, err)
	}
	return id + ": " + strings.Join(results, "; ") + ".", nil
}

// decodeArguments decodes the arguments according to the schema. Null counts as
// absent.
func decodeArguments(arguments json.RawMessage) (change, error) {
	var input *tracker.IssueUpdate
	if err := tracker.DecodeArguments(arguments, &input, "give an object with state, comment or both, each a string"); err != nil {
		return change{}, err
	}
	if input == nil || input.State == nil && input.Comment == nil {
		return change{}, errors.New("there is nothing to do: give state, comment or both")
	}
	state, comment, err := input.Read()
	return change{state: state, comment: comment}, err
}
