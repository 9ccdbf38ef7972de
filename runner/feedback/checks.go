package feedback

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/prompt"
)

// patience is how long a failed check waits for the others to end: some never do.
const patience = 30 * time.Minute

// failures describes the failed checks of the commit that the program published.
type failures struct {
	checks []Check
	digest string // of the commit and what failed; empty if nothing did
	ended  bool   // nothing more is to be expected, or it was waited for long enough
}

// failuresOf returns the failed checks of a pull request. It ignores those of a commit
// that people pushed.
func failuresOf(p *Pull, now time.Time) failures {
	if p.Head != p.Ours || len(p.Checks) == 0 {
		return failures{ended: true}
	}
	f := failures{checks: slices.Clone(p.Checks), ended: p.Running == 0}
	slices.SortStableFunc(f.checks, func(a, b Check) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.ID, b.ID))
	})
	sum := sha256.New()
	fmt.Fprintln(sum, p.Head)
	for _, c := range f.checks {
		fmt.Fprintf(sum, "%q %q\n", c.Name, c.Verdict)
		if !c.At.IsZero() && now.Sub(c.At) > patience {
			f.ended = true
		}
	}
	f.digest = hex.EncodeToString(sum.Sum(nil)[:16])
	return f
}

// items returns the failed checks as feedback.
func (f failures) items() []Item {
	var items []Item
	for _, c := range f.checks {
		items = append(items, Item{Feedback: prompt.Feedback{
			Kind: prompt.FeedbackCheck, Author: c.Name, URL: c.URL, At: c.At,
			Text: strings.TrimSpace(c.Verdict + "\n\n" + c.Output),
		}, cut: c.Cut})
	}
	return items
}

// names returns the names of the failed checks, for people.
func (f failures) names() []string {
	var names []string
	for _, c := range f.checks {
		names = append(names, c.Name)
	}
	return slices.Compact(names)
}
