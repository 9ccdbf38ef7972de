package feedback

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// Waiting returns the comment that tells the people of an issue that it is parked: why,
// or the question of its agent, and how to let it go on, as [schedule.Comments.GoOn] says it.
func Waiting(why, question, goOn string) string {
	if question != "" {
		return "The agent asks:\n\n" + quoted(question) + "\n\n" + goOn
	}
	return "This issue waits for a person: " + reason(why) + ".\n\n" + goOn
}

// The bounds of reasons in a comment. A reason of one line has fewer characters than the state
// keeps, so that the next run says the same.
const (
	maxReason  = 300
	maxRefused = 2_000 // bytes of the list of refusals
	maxSaid    = 2_000 // bytes of the agent's last words
)

func reason(why string) string {
	return defuse.Body(text.OneLine(text.InWords(why), maxReason))
}

// GoesOn takes the place of [Waiting] when the issue goes on.
const GoesOn = "This issue waited for a person. It goes on."

// Digest returns a digest of a text; empty for an empty text.
func Digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Result describes a session on feedback that has ended.
type Result struct {
	Number       int    // number of the session on feedback since somebody let the issue go on; 0 if it began without feedback
	On           string // summary of its feedback, see [schedule.Feedback.Summary]
	Outcome      schedule.Outcome
	Next         schedule.Next
	Delivers     bool   // the program publishes the work
	Before, Head string // commits of the program's branch before the session and now
}

// Text returns the comment that tells people the result of their feedback.
func (r Result) Text() string {
	var result string
	switch o := r.Outcome; {
	case o.Class == schedule.NeedsInput:
		result = "The agent has a question, which is in another comment."
	case o.Refused != "":
		result = "Its work was not published: " + defuse.Body(text.Cut(text.Lines(o.Refused), maxRefused, ""))
	case o.Class == schedule.Done && r.Head != "" && r.Head != r.Before:
		result = "Its work is published as " + r.Head[:min(len(r.Head), 12)] + "."
	case o.Class == schedule.Done && r.Delivers:
		result = "It changed nothing in the repository."
	case o.Class == schedule.Done:
		result = "It came to its end."
	default:
		result = "It did not come to an end: " + reason(o.Why)
		if r.Next.Phase == schedule.Waiting {
			result += ". It is tried again"
		}
		result += "."
	}
	s := fmt.Sprintf("A session was given this while it worked: %s. %s", defuse.Body(r.On), result)
	if r.Number > 0 {
		s = fmt.Sprintf("Session %d on feedback, for %s. %s", r.Number, defuse.Body(r.On), result)
	}
	if said := text.Cut(strings.TrimSpace(r.Outcome.Said), maxSaid, "…"); said != "" && r.Outcome.Class == schedule.Done {
		s += "\n\nIt wrote no reply. Its last words:\n\n" + quoted(said)
	}
	return s
}

// Standing describes how an issue stands.
type Standing struct {
	Phase    schedule.Phase // phase of the claim; empty for none
	Why      string
	Owner    schedule.Owner // owner of a running claim
	Due      time.Time      // due time of a waiting claim
	Sessions int
	Tokens   int64
	Cost     string // price of the tokens, such as ", $0.12"; empty without prices
	URL      string // address of the work; empty for none
	GoOn     string // sentence that tells people how to let a parked issue go on, see [schedule.Comments.GoOn]
}

// maxURL bounds the address of the work, which a state has kept.
const maxURL = 500

// Text returns the comment that tells people how their issue stands.
func (s Standing) Text(now time.Time) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, "- "+fmt.Sprintf(format, args...)) }
	switch s.Phase {
	case schedule.Running:
		where := ""
		if s.Owner.Shard > 0 {
			where = " in " + reason(s.Owner.Name())
		}
		add("a session works on it%s", where)
	case schedule.Stopping:
		add("its session is being ended: %s", reason(s.Why))
	case schedule.Waiting:
		if s.Due.After(now) {
			add("it waits until %s: %s", s.Due.UTC().Format("2006-01-02 15:04 MST"), reason(s.Why))
		} else {
			add("it is due: the next run goes on with it")
		}
	case schedule.Parked:
		add("it waits for a person: %s. %s", reason(s.Why), s.GoOn)
	default:
		add("%s", reason(s.Why))
	}
	sessions := "sessions"
	if s.Sessions == 1 {
		sessions = "session"
	}
	add("%d %s and %d tokens so far%s", s.Sessions, sessions, s.Tokens, s.Cost)
	if s.URL != "" {
		add("its work: %s", defuse.Body(text.OneLine(s.URL, maxURL)))
	}
	return "How this issue stands at " + now.UTC().Format("2006-01-02 15:04 MST") + ":\n\n" + strings.Join(lines, "\n")
}

// quoted returns the text of an agent as a quotation of Markdown.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(defuse.Body(text)), "\n", "\n> ")
}
