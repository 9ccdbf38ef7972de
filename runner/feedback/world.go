package feedback

import (
	"time"

	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// World is what was read about the conversation on one issue.
type World struct {
	Comments tracker.Comments // on the issue
	Pull     *Pull            // nil if there is none, or if it could not be read
}

// isUnread reports whether a part of the conversation was too large to be read now.
func (w World) isUnread() bool { return w.Comments.Unread || w.Pull != nil && w.Pull.Unread }

// Pull is a pull request of the program.
type Pull struct {
	Number    int
	URL       string
	Branch    string // of the program, which need not exist any more
	State     schedule.PullState
	By        string // who merged or closed it; may be empty
	Drafted   string // who made it a draft after it was opened; empty for nobody
	Head      string // commit
	Ours      string // commit that the program published last; people pushed if Head differs
	Base      string // branch
	For       string // branch that the work was published for; somebody retargeted it if Base differs
	Conflicts bool   // it cannot be merged because of its base
	Complete  bool   // what follows was read; otherwise it is as it was when it was read last
	Unread    bool   // too large to be read this time; a later run reads it
	Omitted   bool   // the oldest comments of a list with more than [tracker.MaxComments] are left out
	Comments  []tracker.Comment
	Reviews   []Review
	Threads   []Thread
	Checks    []Check         // of Head, that failed; read only if it is Ours
	Standing  schedule.Checks // of all checks of Head
	Running   int             // checks of Head that have not ended
}

// Review is the verdict of a review, with its text.
type Review struct {
	tracker.Comment
	Verdict Verdict
}

// Verdict is what a review decided.
type Verdict string

// The verdicts.
const (
	Commented        Verdict = "commented"
	Approved         Verdict = "approved"
	ChangesRequested Verdict = "changes_requested"
	Dismissed        Verdict = "dismissed"
)

// Thread is a discussion of a review at a line of a file.
type Thread struct {
	ID       string
	Path     string
	Line     int    // 0 if the line is gone
	Code     string // the part of the diff
	Outdated bool   // the diff has changed there since
	Resolved bool
	Comments []tracker.Comment // oldest first
}

// Check is one check of a commit that did not succeed.
type Check struct {
	ID      string
	Name    string
	Bot     string // login of the App that reports it, or of the bot; empty for a job of the repository
	URL     string
	Verdict string    // failure, timed_out, action_required …
	Output  string    // failed steps, annotations and the end of the log, bounded
	Cut     bool      // the log is so long that only its end was read
	At      time.Time // when it ended
}
