package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/githubtest"
)

// TestDrawTheSummary draws the summary of a real run in a job, as GitHub draws it: two issues
// get their pull requests, one session fails, and one asks.
func TestDrawTheSummary(t *testing.T) {
	t.Parallel()
	draws(t)
	s := newShop(t, "Spend `1180000` tokens", sameWork)
	s.replace("  max_turns: 1\n", "  max_turns: 1\n  max_issues_per_tick: 4\n  max_concurrent_agents: 1\n") // one after the other, so that pull requests have the same numbers each time
	s.replace("workspace:\n  root: workspaces\n", "")
	for _, issue := range []struct{ title, steps string }{
		{"Show prices with tax", "Spend `310000` tokens|Create `tax.go` containing `package shop`"},
		{"Import the old orders", "Spend `96000` tokens|Fail with `serverOverloaded`"},
		{"Export the orders to the warehouse", "Spend `45000` tokens|Call `ask` with `{\"question\": \"Which database should the export read?\", \"choices\": [\"the replica\", \"the primary\"]}`"},
	} {
		s.hub.AddIssue(githubtest.Issue{Title: issue.title, Body: "- [ ] " + strings.ReplaceAll(issue.steps, "|", "\n- [ ] ") + "\n", Labels: []string{"symphony"}})
	}
	s.hub.AddLabel("needs-human")
	summary := s.inJob()
	s.env = append(s.env, "RUNNER_TEMP="+s.dir)
	s.tick("--deadline", "50m")
	text := strings.ReplaceAll(withoutTimes(summary()), s.hub.ServerURL(), "https://github.com")
	picture, widest := draw(text)
	if widest > pictureWidth {
		t.Errorf("a table of the picture is cut: it needs %g of %g pixels", widest, pictureWidth)
	}
	if len(picture) > 60_000 {
		t.Errorf("the picture has %d bytes", len(picture))
	}
	writePicture(t, "summary.svg", picture)
}

// withoutTimes returns a summary in which everything that differs between two runs is the
// same: its times.
func withoutTimes(summary string) string {
	took := []string{"12m34s", "6m10s", "3m48s", "1m15s", "41s"} // of the run, and of its rows
	lines := strings.Split(summary, "\n")
	span := regexp.MustCompile(`[0-9.]+(ms|s|m[0-9]+s)`)
	for i, line := range lines {
		switch cells := strings.Split(line, " | "); {
		case strings.HasPrefix(line, "### "):
			lines[i] = span.ReplaceAllString(line, took[0])
		case strings.HasPrefix(line, "| [GH-"):
			cells[len(cells)-1] = took[1] + " |"
			took = slices.Delete(took, 1, 2)
			lines[i] = strings.Join(cells, " | ")
		case strings.HasPrefix(line, "| This tick") || strings.HasPrefix(line, "| Today, "):
			cells[0] = regexp.MustCompile(`[0-9]+-[0-9]+-[0-9]+`).ReplaceAllString(cells[0], picturedAt.Format("2006-01-02"))
			cells[len(cells)-1] = "11m54s |"
			lines[i] = strings.Join(cells, " | ")
		}
	}
	return strings.Join(lines, "\n")
}

// canvas is a picture in the making. Lengths are in pixels.
type canvas struct {
	out           strings.Builder
	y             float64 // the lower edge of what is drawn
	width, margin float64
	widest        float64 // that a table needs
}

const textSize, lineHeight, pictureWidth = 13.0, 20.0, 1200.0

// draw renders the Markdown that a report consists of: headings, paragraphs,
// quotations, lists and tables, with links, code and bold words in them. widest is what the widest
// table needs.
func draw(markdown string) (picture string, widest float64) {
	c := &canvas{width: pictureWidth, margin: 24, y: 14}
	lines := strings.Split(strings.TrimSpace(markdown), "\n")
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case line == "":
			c.y += 10
		case strings.HasPrefix(line, "#"):
			level := strings.Index(line, " ")
			c.paragraph(0, textSize+2*float64(6-level)/2, "h", line[level+1:])
		case strings.HasPrefix(line, "|"):
			rows := 0
			for i+rows < len(lines) && strings.HasPrefix(lines[i+rows], "|") {
				rows++
			}
			c.table(lines[i : i+rows])
			i += rows - 1
		case strings.HasPrefix(line, ">"):
			c.item(0, "▏", strings.TrimPrefix(strings.TrimPrefix(line, ">"), " "))
		case strings.HasPrefix(line, "- "):
			c.item(0, "•", line[2:])
		case strings.HasPrefix(line, "  - "):
			c.item(20, "◦", line[4:])
		default:
			c.paragraph(0, textSize, "", line)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img" aria-label="The summary of a run">
<style>
text { font: %gpx -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; white-space: pre }
.h { font-weight: 600 } .l { fill: #0969da } .c { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .85em }
.page { fill: #fff; stroke: #d1d9e0 } .even { fill: #f6f8fa } .rule { stroke: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .l { fill: #4493f8 } .page { fill: #0d1117; stroke: #3d444d } .even { fill: #151b23 } .rule { stroke: #3d444d }
}
</style>
<rect class="page" x=".5" y=".5" width="%g" height="%g" rx="6"/>
%s</svg>
`, c.width, c.y+16, textSize, c.width-1, c.y+15, c.out.String()), c.widest
}

// item draws an item of a list, whose bullet is right of indent.
func (c *canvas) item(indent float64, bullet, text string) {
	fmt.Fprintf(&c.out, "<text x=\"%g\" y=\"%g\">%s</text>\n", c.margin+indent+6, c.y+lineHeight-6, bullet)
	c.paragraph(indent+20, textSize, "", text)
}

// span is text of one kind: h (bold), l (a link), c (code), or plain.
type span struct{ kind, text string }

var (
	marked    = regexp.MustCompile("\\[((?:\\\\.|[^\\]\\\\])*)\\]\\([^)]*\\)|`([^`]*)`|\\*\\*(.*?)\\*\\*")
	backslash = regexp.MustCompile(`\\(.)`)
)

// spans returns the words of a piece of Markdown, each with its kind.
func spans(text string) []span {
	var all []span
	add := func(kind, text string) {
		if kind != "c" {
			text = backslash.ReplaceAllString(text, "$1")
		}
		for _, word := range strings.SplitAfter(text, " ") {
			all = append(all, span{kind, word})
		}
	}
	for text != "" {
		at := marked.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		add("", text[:at[0]])
		for group, kind := range []string{"l", "c", "h"} {
			if from := at[2*group+2]; from >= 0 {
				add(kind, text[from:at[2*group+3]])
			}
		}
		text = text[at[1]:]
	}
	add("", text)
	return all
}

// measure estimates the width of words in a sans-serif font.
func measure(words []span, size float64) float64 {
	width := 0.0
	for _, word := range words {
		for _, r := range word.text {
			switch {
			case word.kind == "c":
				width += .55
			case word.kind == "h":
				width += .62
			case strings.ContainsRune("ijl.,:;'|()[]!ftr ", r):
				width += .33
			case strings.ContainsRune("mwMW", r):
				width += .86
			case r >= 'A' && r <= 'Z':
				width += .68
			case r > 0x2fff:
				width += 1.4
			default:
				width += .56
			}
		}
	}
	return width * size
}

// text draws words that fit into a line; anchor is start or end.
func (c *canvas) text(x, y, size float64, kind, anchor string, words []span) {
	fmt.Fprintf(&c.out, `<text x="%g" y="%.1f"`, x, y)
	if size != textSize {
		fmt.Fprintf(&c.out, ` style="font-size:%gpx"`, size)
	}
	if kind != "" {
		fmt.Fprintf(&c.out, ` class="%s"`, kind)
	}
	if anchor != "start" {
		fmt.Fprintf(&c.out, ` text-anchor="%s"`, anchor)
	}
	c.out.WriteString(">")
	for i := 0; i < len(words); {
		kind, run := words[i].kind, ""
		for ; i < len(words) && words[i].kind == kind; i++ {
			run += words[i].text
		}
		if run = html.EscapeString(run); kind != "" {
			run = fmt.Sprintf(`<tspan class="%s">%s</tspan>`, kind, run)
		}
		c.out.WriteString(run)
	}
	c.out.WriteString("</text>\n")
}

// paragraph draws text that is broken into lines where it is too wide.
func (c *canvas) paragraph(indent, size float64, kind, text string) {
	words := spans(text)
	for len(words) > 0 {
		n := 1
		for n < len(words) && measure(words[:n+1], size) <= c.width-2*c.margin-indent {
			n++
		}
		c.y += lineHeight
		c.text(c.margin+indent, c.y-6, size, kind, "start", words[:n])
		words = words[n:]
	}
}

// table draws a table: its heads, the line with the alignments, its rows.
func (c *canvas) table(lines []string) {
	const padding, height = 9.0, 28.0
	var rows [][][]span
	widths := make([]float64, strings.Count(lines[0], " | ")+1)
	for _, line := range lines {
		var cells [][]span
		for i, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			words := spans(strings.TrimSpace(cell))
			if len(rows) == 0 {
				words = []span{{"h", strings.TrimSpace(cell)}}
			}
			cells = append(cells, words)
			widths[i] = max(widths[i], measure(words, textSize)*1.06+2*padding)
		}
		rows = append(rows, cells)
	}
	right := strings.Split(strings.Trim(lines[1], "|"), "|")
	total := 0.0
	for _, width := range widths {
		total += width
	}
	c.widest = max(c.widest, total+2*c.margin)
	rule := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&c.out, "<path class=\"rule\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2)
	}
	c.y += 6
	top, n := c.y, 0
	rule(c.margin, top, c.margin+total, top)
	for i, cells := range rows {
		if i == 1 {
			continue // the alignments
		}
		if n++; n > 1 && n%2 == 1 {
			fmt.Fprintf(&c.out, "<rect class=\"even\" x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%g\"/>\n", c.margin, c.y+.5, total, height-1)
		}
		x := c.margin
		for j, words := range cells {
			anchor, at := "start", x+padding
			if strings.HasSuffix(right[j], ":") {
				anchor, at = "end", x+widths[j]-padding
			}
			c.text(at, c.y+height/2+5, textSize, "", anchor, words)
			x += widths[j]
		}
		c.y += height
		rule(c.margin, c.y, c.margin+total, c.y)
	}
	for x, j := c.margin, 0; j <= len(widths); j++ {
		rule(x, top, x, c.y)
		if j < len(widths) {
			x += widths[j]
		}
	}
}
