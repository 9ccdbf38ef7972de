package discussion

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner/feedback"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// nameOf returns the name by which people know a check.
func nameOf(c client.FailedCheck) string {
	if c.Workflow != "" {
		return c.Workflow + " / " + c.Name
	}
	return c.Name
}

// The bounds of what a check says. The verdict goes before it.
const (
	maxSaid    = feedback.MaxOutput - 100 // bytes of all
	maxRemarks = 6_000                    // bytes of what stands before a log
	logTitle   = "\n\nThe end of the log:\n\n"
)

// outputOf returns the output of a check that failed. It begins with what is short and says
// most; the end of a log has all the room that this leaves. Secrets are hidden before
// anything is cut.
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
	return strings.TrimSpace(said + logTitle + lastBytes(redact(c.Log), maxSaid-len(said)-len(logTitle)))
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
