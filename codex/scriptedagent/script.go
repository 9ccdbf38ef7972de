package scriptedagent

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// step is one task line of a prompt.
type step struct {
	verb Verb
	args []string // the code spans, which the verb has checked
}

// codeSpan is a code span of Markdown.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// parseScript reads the task lines of a prompt, which the package comment describes: part n is
// the work of turn n of a thread. It fails at the first task that it does not understand, so
// that no part of such a script is run.
func parseScript(text string, verbs []Verb) (parts [][]step, err error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	parts = [][]step{nil}
	for n := 0; n < len(lines); n++ {
		line := strings.TrimSpace(lines[n])
		if title := strings.TrimLeft(line, "#"); title != line && strings.EqualFold(strings.TrimSpace(title), "Next turn") {
			parts = append(parts, nil)
			continue
		}
		task, ok := strings.CutPrefix(line, "- [ ]")
		if !ok {
			_, n = fencedBlock(lines, n) // an example has no tasks
			continue
		}
		at := n + 1
		var s step
		if s, n, err = parseStep(strings.TrimSpace(task), lines, n, verbs); err != nil {
			return nil, fmt.Errorf("script: line %d: %q: %w", at, strings.TrimSpace(task), err)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], s)
	}
	return parts, nil
}

// parseStep reads the task on line n and returns the last line it covers. If the last
// argument of a verb is missing, it is the fenced block that follows.
func parseStep(task string, lines []string, n int, verbs []Verb) (step, int, error) {
	bare := func(s string) string { return strings.TrimRight(codeSpan.ReplaceAllString(s, "`"), " .:;") }
	var args []string
	for _, span := range codeSpan.FindAllStringSubmatch(task, -1) {
		args = append(args, span[1])
	}
	name := bare(task)
	named := func(v Verb) bool { return bare(v.Pattern) == name && strings.Count(name, "`") == len(args) }
	i, last := slices.IndexFunc(verbs, named), n
	if i < 0 {
		var block string
		for n++; n < len(lines)-1 && strings.TrimSpace(lines[n]) == ""; n++ {
		}
		if block, last = fencedBlock(lines, n); last > n {
			name, args = name+" `", append(args, block)
			i = slices.IndexFunc(verbs, named)
		}
	}
	if i < 0 {
		return step{}, 0, errors.New("no such step; the comment of package codex/scriptedagent lists the steps")
	}
	s := step{verbs[i], args}
	if s.verb.Check == nil {
		return s, last, nil
	}
	return s, last, s.verb.Check(args)
}

// fencedBlock returns the text of the fenced block that begins on line n, without the
// fence's own indentation, and the line that it ends on: n if there is none.
func fencedBlock(lines []string, n int) (text string, end int) {
	const fence = "```"
	if n >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[n]), fence) {
		return "", n
	}
	indent, _, _ := strings.Cut(lines[n], fence)
	for end = n + 1; end < len(lines); end++ {
		if strings.TrimSpace(lines[end]) == fence {
			return text, end
		}
		text += strings.TrimPrefix(lines[end], indent) + "\n"
	}
	return text, end // an unclosed block extends to the end
}
