package feedback

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Say posts a text as the comment of the program with a key, or replaces the text of that
// comment. The comment is where people look: on the pull request of the issue, or on the issue
// if it has none. [tracker.Writer] limits keys and texts.
func (c *Channel) Say(ctx context.Context, id tracker.ID, pull PullRequest, key, text string) error {
	if pull.Number == 0 || c.GitHub == nil {
		return c.Writer.Comment(ctx, id, key, text)
	}
	on, err := c.place(ctx, pull)
	if errors.Is(err, errForeign) {
		return c.Writer.Comment(ctx, id, key, text)
	}
	if err == nil {
		text, err = tracker.PrepareComment(key, text)
	}
	if err == nil {
		_, err = c.GitHub.Issues.SetComment(ctx, on, tracker.CommentMarker(key), text)
	}
	if err != nil {
		return fmt.Errorf("comment on pull request #%d: %w", pull.Number, err)
	}
	return nil
}

// Reply posts the answer of an agent to an item of feedback, where its author reads it:
// in the thread of a review, or else as a comment of its own, which a second answer to the
// item replaces. With resolve it closes the thread. Secrets are hidden last: a text that is
// made harmless loses what may have stood inside one.
func (c *Channel) Reply(ctx context.Context, id tracker.ID, pull PullRequest, item Item, text string, resolve bool) error {
	text = c.redact(defuse.Body(text))
	if strings.TrimSpace(text) == "" {
		return errors.New("nothing is left of the text when it is made harmless: write it without hidden parts")
	}
	if item.ReviewThread == "" || c.GitHub == nil {
		if !item.OnPull {
			pull = PullRequest{}
		}
		return c.Say(ctx, id, pull, replyKey(item), "In reply to "+reference(item)+":\n\n"+text)
	}
	text, err := tracker.PrepareComment("reply", text)
	if err == nil {
		err = c.GitHub.Pulls.Reply(ctx, item.ReviewThread, text+"\n\n"+tracker.CommentMarker("reply"))
	}
	if err != nil || !resolve {
		return err
	}
	if err := c.GitHub.Pulls.Resolve(ctx, item.ReviewThread); err != nil {
		return fmt.Errorf("the answer is posted, and the thread is not resolved: %w", err)
	}
	return nil
}

// replyKey returns the key of the comment that answers an item.
func replyKey(item Item) string {
	sum := sha256.Sum256([]byte(string(item.Kind) + "\x00" + item.URL + "\x00" + item.Author + "\x00" + item.At.UTC().String()))
	return "reply-" + hex.EncodeToString(sum[:8])
}

// reference names an item for people, without mentioning anybody.
func reference(item Item) string {
	text := defuse.Title(item.Author, "somebody")
	if item.URL != "" && !strings.ContainsAny(item.URL, " ()<>\n") {
		return fmt.Sprintf("[%s](%s)", strings.NewReplacer("[", "(", "]", ")").Replace(text), item.URL)
	}
	return text
}

// React adds a reaction to a command, which shows its author the result.
func (c *Channel) React(ctx context.Context, id tracker.ID, o Order, r tracker.Reaction) error {
	if !o.OnPull {
		return c.Issues.React(ctx, id, o.Comment, r)
	}
	content := "THUMBS_UP"
	if r == tracker.Unknown {
		content = "CONFUSED"
	}
	return c.GitHub.Issues.React(ctx, o.Comment, content)
}

// Merged cleans up after a merged pull request: it removes the branch, if that is still at the
// head that was merged; and it moves the issue to a state unless that is empty or the issue is
// finished or gone.
func (c *Channel) Merged(ctx context.Context, id tracker.ID, branch, head, state string) error {
	var err error
	if state != "" {
		err = c.Writer.Move(ctx, id, state)
		if errors.Is(err, tracker.ErrFinished) || errors.Is(err, tracker.ErrNotVisible) {
			err = nil
		}
	}
	if err == nil && c.GitHub != nil && branch != "" && head != "" {
		err = c.GitHub.Git.DeleteBranchAt(ctx, branch, head)
		if errors.Is(err, client.ErrBranchMoved) {
			err = nil // somebody goes on with it
		}
	}
	return err
}
