package discussion

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/tracker/github/client"
)

// nameOf returns what people call a check.
func nameOf(c client.FailedCheck) string {
	if c.Workflow != "" {
		return c.Workflow + " / " + c.Name
	}
	return c.Name
}

// outputOf returns what a check says of its failure. The end of a log comes last, since a
// text that is too long loses its end: it begins with what is short and says most. Secrets
// are hidden before anything is cut.
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
	switch {
	case c.Log != "":
		fmt.Fprintf(&b, "\nThe end of the log:\n\n%s\n", lastBytes(redact(c.Log), maxLog))
	case c.NoLog != "":
		fmt.Fprintf(&b, "\nThere is no log: %s\n", c.NoLog)
	}
	return strings.TrimSpace(redact(b.String()))
}

// maxLog bounds the bytes of a log that the agent is given.
const maxLog = 10_000

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
