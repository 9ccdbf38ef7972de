package transcript

import (
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// logLine bounds a line of a log, and briefLine one without texts, in runes.
	logLine, briefLine = 200, 120
	// logOutput, logMessage and logThoughts bound the lines of a text in a log: of a program's
	// output, of the agent's message, and of its thought.
	logOutput, logMessage, logThoughts = 6, 20, 2
)

// LogLines returns an entry in short, as lines of a log that several sessions write and that
// people read while they run. A line that begins with a space belongs to the one before it.
// Without texts the lines do not show the agent's input and thoughts: neither outputs nor
// arguments, and of messages only the beginning. It returns nothing for the beginning and the
// end of a session, of which the writer of the log knows more.
func LogLines(e Entry, texts bool) []string {
	title, about := e.Title, "" // only title is cut
	if details := e.Details(); details != "" {
		about = "  (" + details + ")"
	}
	shown := 0 // lines of the text
	switch e.Kind {
	case KindSession, KindOutcome:
		return nil
	case KindPrompt:
		about = ", " + count(int64(strings.Count(e.Text, "\n")+1), "line")
	case KindTurn:
		why, tokens := "", e.Text // the tokens are the last line
		if at := strings.LastIndexByte(e.Text, '\n'); at >= 0 {
			why, tokens = ": "+e.Text[:at], e.Text[at+1:]
		}
		title, about = title+why, about+", "+tokens
	case KindCommand:
		title, shown = "$ "+title, logOutput
	case KindHook:
		shown = logOutput
	case KindTool:
		if shown = logOutput; texts && e.Input != "" {
			about += " with " + text.OneLine(e.Input, logLine)
		}
	case KindThought:
		if !texts {
			return nil
		}
		return titledLines(title, e, logThoughts)
	case KindMessage, KindNotice:
		if !texts {
			return []string{text.OneLine(strings.TrimSuffix(title+": "+e.Text, ": "), briefLine)}
		}
		return titledLines(title, e, logMessage)
	}
	lines := []string{text.OneLine(title, logLine) + about}
	if texts && e.Text != "" {
		lines = append(lines, indented(e.Text, shown, e.Omitted)...)
	}
	return lines
}

// titledLines returns a title with the first line of the text of e, and below it the other
// lines.
func titledLines(title string, e Entry, limit int) []string {
	if e.Text == "" {
		return []string{text.OneLine(title, logLine)}
	}
	first, rest, more := strings.Cut(e.Text, "\n")
	lines := []string{text.OneLine(title+": "+first, logLine)}
	if more {
		lines = append(lines, indented(rest, limit-1, e.Omitted)...)
	}
	return lines
}

// indented returns the first and the last lines of a text, limit lines and a note of the
// omitted part, as lines that belong to the one before them. It skips empty lines, and returns
// none for the limit 0.
func indented(s string, limit, omitted int) []string {
	if limit == 0 {
		return nil
	}
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimRight(expand(line), " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	lines = shorten(lines, limit, omitted)
	for i, line := range lines {
		lines[i] = "  " + text.Truncate(line, logLine)
	}
	return lines
}
