package scriptedagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// script holds the steps that a prompt asks for: part n is the work of turn n of a thread.
type script struct {
	Turns [][]step // never empty; a part may be
}

// step is one task line of a prompt.
type step struct {
	Line int      // in the prompt, from 1
	Verb string   // the line with a bare backtick for each code span: names a verb
	Args []string // the code spans, each valid for its place in the verb
}

// parseScript reads the task lines of a prompt, which the package comment describes. It
// fails at the first task that it does not understand, so that no part of such a script
// is run.
func parseScript(text string) (script, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	turns := [][]step{nil}
	for n := 0; n < len(lines); n++ {
		if isNextTurn(lines[n]) {
			turns = append(turns, nil)
			continue
		}
		if task, ok := cutTask(lines[n]); ok {
			step, last, err := parseStep(task, lines, n)
			if err != nil {
				return script{}, fmt.Errorf("script: line %d: %q: %w", n+1, task, err)
			}
			turns[len(turns)-1] = append(turns[len(turns)-1], step)
			n = last
			continue
		}
		if _, end, ok := fencedBlock(lines, n); ok {
			n = end // an example, not a task
		}
	}
	return script{Turns: turns}, nil
}

// parseStep reads the task on line n and returns the last line it covers. If the last
// argument of a verb is missing, it is the fenced block that follows.
func parseStep(task string, lines []string, n int) (step, int, error) {
	name, args := codeSpans(task)
	last := n
	v, ok := lookup(name)
	if !ok {
		var block string
		if block, last, ok = blockAfter(lines, n); ok {
			name, args = name+" `", append(args, block)
			v, ok = lookup(name)
		}
	}
	kinds := v.kinds()
	if !ok || len(args) != len(kinds) {
		return step{}, 0, errors.New("no such step; the comment of package codex/scriptedagent lists the steps")
	}
	for i, kind := range kinds {
		if err := check(kind, args[i]); err != nil {
			return step{}, 0, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return step{Line: n + 1, Verb: name, Args: args}, last, nil
}

// check checks an argument for a place where the verb's pattern has kind.
func check(kind, arg string) error {
	switch kind {
	case "path":
		if !filepath.IsLocal(arg) {
			return fmt.Errorf("%q leads out of the workspace", arg)
		}
	case "count":
		if n, err := strconv.Atoi(arg); err != nil || n < 0 || n > 1<<30 {
			return fmt.Errorf("%q is not a whole number up to 2^30", arg)
		}
	case "delay":
		if d, err := time.ParseDuration(arg); err != nil || d < 0 {
			return fmt.Errorf("%q is not a duration like 250ms", arg)
		}
	case "arguments":
		return json.Unmarshal([]byte(arg), &map[string]any{})
	case "failure":
		if _, err := parseFailure(arg); err != nil {
			return err
		}
	}
	return nil
}

// isNextTurn reports whether a line is the heading that ends a turn's part, at any
// level.
func isNextTurn(line string) bool {
	title := strings.TrimLeft(line, "#")
	return title != line && strings.EqualFold(strings.TrimSpace(title), "Next turn")
}

// cutTask returns the text of an open task-list item: `- [ ] text`.
func cutTask(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if line == "" || !strings.Contains("-*+", line[:1]) {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(line[1:]), "[ ]")
	return strings.TrimSpace(text), ok
}

// codeSpans extracts the code spans of a line. It returns the line with one backtick in
// place of each span and without closing punctuation, and the contents of the spans. As
// in Markdown a span fenced by several backticks may contain fewer.
func codeSpans(line string) (bare string, spans []string) {
	var b strings.Builder
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			break
		}
		after := strings.TrimLeft(line[start:], "`")
		fence := line[start : len(line)-len(after)]
		length := closing(after, fence)
		if length < 0 {
			break
		}
		b.WriteString(line[:start] + "`")
		spans = append(spans, unpad(after[:length]))
		line = after[length+len(fence):]
	}
	b.WriteString(line)
	return strings.TrimRight(strings.Join(strings.Fields(b.String()), " "), " .:;"), spans
}

// closing returns the index of the run of backticks in s that is exactly as long as
// fence, or -1.
func closing(s, fence string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], fence)
		if i < 0 {
			return -1
		}
		at += i
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if run == len(fence) {
			return at
		}
		at += run
	}
}

// unpad removes one space on each side, which lets a span begin or end with a backtick.
func unpad(s string) string {
	if len(s) > 2 && s[0] == ' ' && s[len(s)-1] == ' ' && strings.TrimSpace(s) != "" {
		return s[1 : len(s)-1]
	}
	return s
}

// blockAfter returns the fenced block that follows line n, possibly after blank lines,
// and the line that it ends on.
func blockAfter(lines []string, n int) (text string, end int, ok bool) {
	for n++; n < len(lines); n++ {
		if strings.TrimSpace(lines[n]) != "" {
			return fencedBlock(lines, n)
		}
	}
	return "", 0, false
}

// fencedBlock returns the text of the fenced block that begins on line n, without the
// fence's own indentation, and the line that it ends on.
func fencedBlock(lines []string, n int) (text string, end int, ok bool) {
	open := strings.TrimLeft(lines[n], " \t")
	indent := lines[n][:len(lines[n])-len(open)]
	fence := open[:len(open)-len(strings.TrimLeft(open, "`"))]
	if fence == "" {
		fence = open[:len(open)-len(strings.TrimLeft(open, "~"))]
	}
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(open[len(fence):], "`") {
		return "", 0, false
	}
	var b strings.Builder
	for end = n + 1; end < len(lines); end++ {
		line := strings.TrimSpace(lines[end])
		if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
			return b.String(), end, true
		}
		b.WriteString(strings.TrimPrefix(lines[end], indent) + "\n")
	}
	return b.String(), end - 1, true // an unclosed block extends to the end
}
