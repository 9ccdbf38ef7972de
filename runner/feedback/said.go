package feedback

import (
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// Said holds the comments on one issue, and its pull request, as they were read.
type Said struct {
	Comments tracker.Comments // comments on the issue
	Pull     *Pull            // nil if there is none, or if it could not be read
}

func (s Said) isUnread() bool { return s.Comments.Unread || s.Pull != nil && s.Pull.Unread }

// items returns everything that people said, oldest first.
func (s Said) items() []Item {
	items := make([]Item, 0, len(s.Comments.List))
	for _, c := range s.Comments.List {
		items = append(items, newItem(c))
	}
	if s.Pull != nil {
		items = append(items, s.Pull.Items...)
	}
	slices.SortStableFunc(items, func(a, b Item) int { return a.At.Compare(b.At) })
	return items
}

// Pull is a pull request of the program.
type Pull struct {
	URL       string
	Branch    string // the program's branch, which need not exist any more
	State     schedule.PullState
	By        string    // person who merged or closed it; may be empty
	Ended     time.Time // time of that
	Drafted   string    // person who made it a draft after it was opened; empty for nobody
	Head      string    // commit
	Ours      string    // commit that the program published last; people pushed if Head differs
	Base      string    // branch
	For       string    // branch that the work was published for; somebody retargeted it if Base differs
	Conflicts bool      // it cannot be merged because of its base
	Digest    string    // changes when anything is said or happens
	Complete  bool      // the fields below were read; otherwise they are from the last reading
	Unread    bool      // too large to be read this time; a later run reads it
	Truncated bool      // the oldest comments of a list with more than [tracker.MaxComments] are left out
	Items     []Item
	Checks    []Check         // failed checks of Head; read only if it is Ours
	Standing  schedule.Checks // state of all checks of Head
	Running   int             // checks of Head that have not ended
}

func (p *Pull) isWhole() bool { return p != nil && p.Complete && !p.Truncated }

// Check is one check of a commit that did not succeed.
type Check struct {
	ID         string
	Name       string
	Bot        string // login of the App that reports it, or of the bot; empty for a job of the repository
	URL        string
	Conclusion string    // failure, timed_out, action_required …
	Output     string    // failed steps, annotations and the end of the log, bounded
	Cut        bool      // the log is so long that only its end was read
	At         time.Time // end of the check
}

// Item is one item of feedback, with its place.
type Item struct {
	prompt.Feedback
	ReviewThread string // empty for none

	comment tracker.Comment // zero for a check and a conflict
	order   bool            // it may begin with a command
	quiet   bool            // does not start a session on its own, such as an approval
	isNew   bool            // newer than the feedback of the latest session
	quotes  bool            // a line would be a command if it were the first
	moved   bool            // the code at its place has changed since
	cut     bool            // only the end of its log was read
}

func newItem(c tracker.Comment) Item {
	return Item{Feedback: prompt.Feedback{Kind: prompt.FeedbackComment, Author: c.Author, URL: c.URL, At: c.At, Text: c.Text, Comment: c.ID}, comment: c, order: true}
}

func onPull(c tracker.Comment) Item {
	item := newItem(c)
	item.OnPull = true
	return item
}

// inReview returns the text of a review as an item; verdict is GitHub's word for the state of
// the review.
func inReview(c tracker.Comment, verdict string) Item {
	item := onPull(c)
	item.Kind = prompt.FeedbackReview
	switch verdict {
	case "APPROVED", "DISMISSED":
		item.quiet = true
	case "CHANGES_REQUESTED":
		item.Text = strings.TrimSpace("Asks for changes.\n\n" + c.Text)
	}
	return item
}

func onLine(c tracker.Comment, t client.ReviewThread) Item {
	item := onPull(c)
	item.Kind, item.ReviewThread, item.Path, item.Line, item.Code = prompt.FeedbackThread, t.Node, t.Path, t.Line, t.Code
	item.order, item.quiet = false, t.Resolved
	if item.moved = t.Outdated || t.Line == 0; item.moved {
		item.Text = "(The code at this place has changed since.)\n\n" + c.Text
	}
	return item
}
