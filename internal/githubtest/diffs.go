package githubtest

import (
	"fmt"
	"strings"
)

// diffs has what git says about commits.
type diffs struct {
	*server
	answers map[string]string
}

// moveLines has the discussions of a pull request follow their lines to its head.
func (g *diffs) moveLines(t *thread) {
	for _, d := range t.discussions {
		d.line = d.original
		for _, h := range g.hunks(0, d.commit, t.head, d.path) {
			switch {
			case d.original >= h.from+h.fromLines && h.fromLines > 0, d.original > h.from && h.fromLines == 0:
				d.line += h.toLines - h.fromLines
			case d.original >= h.from && h.fromLines > 0:
				d.line = 0
			}
			if d.line == 0 {
				break
			}
		}
	}
}

// hunk is a part of a diff with its lines.
type hunk struct {
	from, fromLines, to, toLines int
	text                         []string // the first is that with the numbers
}

// aboutCommits returns the facts about commits that git has. It asks git once, since commits do not
// change and a flood of reviews is about the same lines. g.mu must be held.
func (g *diffs) aboutCommits(args ...string) string {
	key := strings.Join(args, "\x00")
	answer, ok := g.answers[key]
	if !ok {
		answer = g.Git(args...)
		g.answers[key] = answer
	}
	return answer
}

// hunks returns the diff of a file between two commits.
func (g *diffs) hunks(context int, from, to, path string) []hunk {
	var list []hunk
	for line := range strings.SplitSeq(g.aboutCommits("diff", fmt.Sprintf("--unified=%d", context), from, to, "--", ":(literal)"+path), "\n") {
		if numbers, ok := strings.CutPrefix(line, "@@ -"); ok {
			numbers, _, _ = strings.Cut(numbers, " @@")
			before, after, _ := strings.Cut(numbers, " +")
			h := hunk{}
			h.from, h.fromLines = numbered(before)
			h.to, h.toLines = numbered(after)
			list = append(list, h)
		}
		if n := len(list); n > 0 {
			list[n-1].text = append(list[n-1].text, line)
		}
	}
	return list
}

// numbered returns the first line and the number of lines from the head of a hunk.
func numbered(s string) (first, lines int) {
	at, count, ok := strings.Cut(s, ",")
	if !ok {
		return atoi(at), 1
	}
	return atoi(at), atoi(count)
}

// hunkAt returns the part of the diff of a pull request up to a line of its head; empty
// if the diff does not show the line.
func (g *diffs) hunkAt(t *thread, path string, line int) string {
	for _, h := range g.hunks(3, g.aboutCommits("merge-base", g.Head(t.pull.Base), t.head), t.head, path) {
		at := h.to - 1
		for i, text := range h.text {
			if i > 0 && !strings.HasPrefix(text, "-") {
				at++
			}
			if i > 0 && at == line {
				return strings.Join(h.text[:i+1], "\n")
			}
		}
	}
	return ""
}
