package transcript

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

// Style is the form of the output of [Text].
type Style struct {
	Width int  // columns of a line; 0 does not wrap
	Color bool // use the escape codes of a terminal
}

const (
	minWidth = 20
	// margin is the indent of the lines below a title, narrowMargin that on a narrow screen.
	margin, narrowMargin = 10, 2
	narrow               = 60
	// shownLines bounds the lines of a text, half of them from its end. Messages and
	// outcomes are shown in full, a prompt and a diff with more.
	shownLines, moreLines = 30, 80
	shownThoughts         = 6
)

// Text returns an entry as a person reads it on a terminal or in a file, with a line end. A
// long text loses its middle; the page of [WritePage] has more.
func Text(e Entry, s Style) string {
	var b strings.Builder
	paint := painter(s.Color)
	title := e.Title
	if e.Kind == KindCommand {
		title = "$ " + title
	}
	if details := e.Details(); details != "" {
		title += "  (" + details + ")"
	}
	color := titleColors[e.Kind]
	if e.Failed {
		color = red
	}
	indent := strings.Repeat(" ", margin)
	lead := fmt.Sprintf("%-*s", margin, e.Clock())
	switch {
	case s.Width > 0 && s.Width < narrow:
		indent, lead = strings.Repeat(" ", narrowMargin), e.Clock()+" "
	case len(lead) > margin:
		lead = e.Clock() + "  "
	}
	if e.Kind == KindSession {
		lead = ""
	}
	wrap := func(line string, below int) []string {
		if s.Width == 0 {
			return []string{line}
		}
		return text.Break(line, max(max(s.Width, minWidth)-below, minWidth/2))
	}
	for i, line := range wrap(title, len(lead)) {
		if i == 0 {
			b.WriteString(paint(dim, lead))
		} else {
			b.WriteString(strings.Repeat(" ", len(lead)))
		}
		b.WriteString(paint(color, line) + "\n")
	}
	if e.Kind == KindSession {
		indent = ""
	}
	write := func(content, color string, limit int) {
		if content == "" {
			return
		}
		for _, line := range shorten(strings.Split(content, "\n"), limit, e.Omitted) {
			of := color
			if e.Kind == KindFiles {
				of = diffColor(line)
			}
			for _, part := range wrap(expand(line), len(indent)) {
				b.WriteString(strings.TrimRight(indent+paint(of, part), " ") + "\n")
			}
		}
	}
	input := e.Input
	if e.Kind == KindTool && input != "" {
		input = "with " + input
	}
	write(input, dim, shownLines)
	write(e.Text, textColors[e.Kind], linesOf(e.Kind))
	return b.String()
}

// linesOf returns the number of lines that are shown of the text of an entry; 0 is all.
func linesOf(k Kind) int {
	switch k {
	case KindPrompt, KindFiles:
		return moreLines
	case KindThought:
		return shownThoughts
	case KindMessage, KindOutcome, KindSession:
		return 0
	}
	return shownLines
}

// shorten returns the first and the last lines of at most n, with a note between them; 0
// is all. omitted is the number of bytes that the middle lacks already.
func shorten(lines []string, n, omitted int) []string {
	if n == 0 || len(lines) <= n+1 {
		return lines
	}
	head := (n + 1) / 2
	short := append([]string{}, lines[:head]...)
	left := fmt.Sprintf("%d lines", len(lines)-n)
	if omitted > 0 {
		left += fmt.Sprintf(" and another %d bytes", omitted)
	}
	short = append(short, "[… "+left+" are left out …]")
	return append(short, lines[len(lines)-n/2:]...)
}

// expand replaces tabs, whose width a terminal decides, by spaces.
func expand(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// The colors of a terminal.
const (
	bold, dim                 = "1", "2"
	red, green, yellow, boldC = "31", "32", "33", "1;36"
)

var titleColors = map[Kind]string{
	KindSession: bold, KindPrompt: boldC, KindMessage: bold, KindTurn: boldC, KindCommand: yellow, KindFiles: yellow, KindTool: yellow,
	KindThought: dim, KindOutcome: "1;32",
}

var textColors = map[Kind]string{KindCommand: dim, KindTool: dim, KindThought: dim, KindHook: dim, KindPrompt: dim}

func diffColor(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	}
	return dim
}

// painter returns a function that colors a text, or leaves it as it is.
func painter(colors bool) func(color, text string) string {
	return func(color, text string) string {
		if !colors || color == "" || text == "" {
			return text
		}
		return "\x1b[" + color + "m" + text + "\x1b[0m"
	}
}
