package feedback

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// patience bounds the time in which a failed check waits for the others to end: some never do.
const patience = 30 * time.Minute

// failures describes the failed checks of the commit that the program published.
type failures struct {
	checks []Check
	digest string // digest of the commit and its failures; empty without failures
	ended  bool   // nothing more is to be expected, or it was waited for long enough

	unheard []Check // checks of bots whose word does not count
}

// failuresOf returns the failed checks of a pull request. It ignores all checks of a commit
// that people pushed, and checks of bots that the rules do not name: their text is the word of
// whoever may write checks.
func failuresOf(p *Pull, rules Rules, now time.Time) failures {
	f := failures{ended: p.Running == 0}
	if p.Head != p.Ours {
		return failures{ended: true}
	}
	for _, c := range p.Checks {
		if c.Bot == "" || rules.names(c.Bot) {
			f.checks = append(f.checks, c)
		} else {
			f.unheard = append(f.unheard, c)
		}
	}
	if len(f.checks) == 0 {
		return failures{ended: true, unheard: f.unheard}
	}
	slices.SortStableFunc(f.checks, func(a, b Check) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Conclusion, b.Conclusion), cmp.Compare(a.ID, b.ID))
	})
	failed := p.Head + "\n"
	for _, c := range f.checks {
		failed += fmt.Sprintf("%q %q\n", c.Name, c.Conclusion)
		if !c.At.IsZero() && now.Sub(c.At) > patience {
			f.ended = true
		}
	}
	f.digest = Digest(failed)
	return f
}

func (f failures) items() []Item {
	var items []Item
	for _, c := range f.checks {
		items = append(items, Item{Feedback: prompt.Feedback{
			Kind: prompt.FeedbackCheck, Author: c.Name, URL: c.URL, At: c.At,
			Text: strings.TrimSpace(c.Conclusion + "\n\n" + c.Output),
		}, cut: c.Cut})
	}
	return items
}

func (f failures) ignored() (sentences []string) {
	for _, c := range f.unheard {
		sentences = append(sentences, fmt.Sprintf("the failed check %s of %s: neither shown to the agent nor counted, since feedback.bots does not name %[2]s",
			text.OneLine(c.Name, maxCheckName), text.OneLine(c.Bot, maxCheckName)))
	}
	slices.Sort(sentences)
	return slices.Compact(sentences)
}

// maxCheckName bounds the name of a check in a sentence, in runes.
const maxCheckName = 60

func (f failures) names() []string {
	var names []string
	for _, c := range f.checks {
		names = append(names, c.Name)
	}
	return slices.Compact(names)
}

func checkName(c client.FailedCheck) string {
	if c.Workflow != "" {
		return c.Workflow + " / " + c.Name
	}
	return c.Name
}

// The bounds of the text of a check. The conclusion goes before it.
const (
	maxReport  = maxOutput - 100 // bytes of all
	maxRemarks = 6_000           // bytes of the text before a log
	logTitle   = "\n\nThe end of the log:\n\n"
)

// outputOf returns the output of a check that failed. It begins with the short parts that say
// most; the end of a log has all the remaining room. Secrets are hidden before anything is cut.
func outputOf(c client.FailedCheck, redact func(string) string) string {
	var b strings.Builder
	if c.Summary != "" {
		b.WriteString(c.Summary + "\n\n")
	}
	if len(c.Steps) > 0 {
		fmt.Fprintf(&b, "Failed steps: %s\n\n", strings.Join(c.Steps, ", "))
	}
	for _, a := range c.Annotations {
		fmt.Fprintf(&b, "%s %s:%d: %s\n", strings.ToLower(a.Level), a.Path, a.Line, strings.TrimSpace(a.Title+" "+a.Message))
	}
	if c.Log == "" && c.NoLog != "" {
		fmt.Fprintf(&b, "\nThere is no log: %s\n", c.NoLog)
	}
	said := strings.TrimSpace(redact(b.String()))
	if c.Log == "" {
		return said
	}
	said = text.Cut(said, maxRemarks, "")
	return strings.TrimSpace(said + logTitle + lastBytes(redact(c.Log), maxReport-len(said)-len(logTitle)))
}

// lastBytes returns the last lines of a text, at most n bytes.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
