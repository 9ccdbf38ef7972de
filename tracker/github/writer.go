package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shurcooL/graphql"

	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/tracker/transport"
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
		if err := w.client.CloseIssue(ctx, rec.GetNumber()); err != nil {
			return failed(op, err)
		}
		return nil
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

// checkNotFinished returns why an open issue is not moved from one state to another.
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
		if err := w.client.AddIssueLabel(ctx, rec.GetNumber(), all[i]); err != nil {
			return failed(op, err)
		}
	}
	for _, label := range rec.labelNames() {
		if !stateLabel(label) || wanted(label) {
			continue
		}
		if err := w.client.RemoveIssueLabel(ctx, rec.GetNumber(), label); err != nil {
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
		if err := w.client.RemoveIssueLabel(ctx, rec.GetNumber(), name); err != nil {
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
	if err := w.client.AddIssueLabel(ctx, rec.GetNumber(), all[i]); err != nil {
		return failed(op, err)
	}
	return nil
}

// maxCommentPages bounds how many comments are searched for one by the program: the
// newest 1,000. A comment that more people have answered than that is posted again.
const maxCommentPages = 10

// commentsQuery asks for a page of the comments of an issue, and whose the token is.
type commentsQuery struct {
	Viewer struct{ Login string }
	Nodes  []*struct {
		Issue struct {
			Comments struct {
				PageInfo struct {
					HasPreviousPage bool
					StartCursor     graphql.String
				}
				Nodes []*issueComment
			} `graphql:"comments(last: 100, before: $before)"`
		} `graphql:"... on Issue"`
	} `graphql:"nodes(ids: $ids)"`
}

type issueComment struct {
	ID     string
	Body   string
	Author *struct {
		Typename string `graphql:"__typename"`
		Login    string
	}
}

// isBy reports whether the account of a token wrote the comment. The login of an App
// has a suffix only where it asks for itself.
func (c *issueComment) isBy(viewer string) bool {
	login, bot := strings.CutSuffix(viewer, "[bot]")
	return c.Author != nil && c.Author.Login == login && (c.Author.Typename == "Bot") == bot
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
	marker := tracker.CommentMarker(key)
	comment, err := w.findComment(ctx, op, rec.GetNodeID(), marker)
	if err != nil {
		return err
	}
	body := text + "\n\n" + marker
	switch {
	case comment == nil:
		return w.createComment(ctx, op, rec.GetNumber(), body)
	case plainBody(comment.Body) == body:
		return nil
	}
	return w.editComment(ctx, op, comment.ID, body)
}

// plainBody returns the text of a comment as [writer.Comment] writes it.
func plainBody(body string) string { return strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")) }

// findComment returns the newest comment of the program that ends with a marker, nil
// when there is none. A marker in a comment of somebody else counts for nothing.
func (w writer) findComment(ctx context.Context, op, nodeID, marker string) (*issueComment, error) {
	var before *graphql.String
	for range maxCommentPages {
		var data commentsQuery
		err := w.client.Query(ctx, client.ReadIssues, &data, map[string]any{"ids": nodeIDs([]string{nodeID}), "before": before})
		if err != nil {
			return nil, failed(op, err)
		}
		if data.Viewer.Login == "" || len(data.Nodes) != 1 || data.Nodes[0] == nil {
			return nil, fmt.Errorf("%s: %w: GitHub gave no comments: try again later", op, tracker.ErrResponse)
		}
		comments := data.Nodes[0].Issue.Comments
		for _, c := range slices.Backward(comments.Nodes) {
			if c != nil && c.isBy(data.Viewer.Login) && strings.HasSuffix(plainBody(c.Body), "\n"+marker) {
				return c, nil
			}
		}
		if !comments.PageInfo.HasPreviousPage {
			return nil, nil
		}
		before = &comments.PageInfo.StartCursor
	}
	return nil, nil
}

func (w writer) createComment(ctx context.Context, op string, number int, body string) error {
	err := w.client.CreateComment(ctx, number, body)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*transport.Error](err); ok && e.InDoubt() {
		return tracker.PerhapsPosted(failed(op, err))
	}
	return failed(op, err)
}

func (w writer) editComment(ctx context.Context, op, nodeID, body string) error {
	type UpdateIssueCommentInput struct {
		ID   graphql.ID `json:"id"`
		Body string     `json:"body"`
	}
	var done struct {
		Update *struct {
			IssueComment *struct{ ID string }
		} `graphql:"updateIssueComment(input: $input)"`
	}
	err := w.client.Mutate(ctx, client.WriteIssues, &done, map[string]any{"input": UpdateIssueCommentInput{nodeID, body}})
	return carriedOut(op, err, done.Update != nil && done.Update.IssueComment != nil)
}

// carriedOut returns the error of a mutation: GitHub answers null for what the token
// cannot see.
func carriedOut(op string, err error, done bool) error {
	switch {
	case err != nil:
		return failed(op, err)
	case !done:
		return fmt.Errorf("%s: %w: GitHub does not find what to change: it is gone, or the token may not change it", op, tracker.ErrStatus)
	}
	return nil
}
