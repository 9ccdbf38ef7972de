package codextest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Script is what a prompt asks for: part n is the work of turn n of a thread.
type Script struct {
	Turns [][]Step // never empty; a part may be
}

// A Step is one task line of a prompt.
type Step struct {
	Line int      // in the prompt, from 1
	Verb string   // the line with a bare backtick for each code span: names a verb
	Args []string // the code spans, each valid for its place in the verb
}

// ParseScript reads the task lines of a prompt; the package comment describes
// them. It has no effect, and fails at the first task that it does not
// understand: a script is done as a whole or not begun.
func ParseScript(text string) (Script, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	turns := [][]Step{nil}
	for n := 0; n < len(lines); n++ {
		if isNextTurn(lines[n]) {
			turns = append(turns, nil)
			continue
		}
		if task, ok := cutTask(lines[n]); ok {
			step, last, err := parseStep(task, lines, n)
			if err != nil {
				return Script{}, fmt.Errorf("script: line %d: %q: %w", n+1, task, err)
			}
			turns[len(turns)-1] = append(turns[len(turns)-1], step)
			n = last
			continue
		}
		if _, end, ok := fencedBlock(lines, n); ok {
			n = end // an example, not a task
		}
	}
	return Script{Turns: turns}, nil
}

// parseStep reads the task on line n and returns the last line it covers: a
// verb short of its last argument takes the fenced block that follows.
func parseStep(task string, lines []string, n int) (Step, int, error) {
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
		return Step{}, 0, errors.New("no such step; the package comment of codextest lists them")
	}
	for i, kind := range kinds {
		if err := check(kind, args[i]); err != nil {
			return Step{}, 0, fmt.Errorf("%s: %w", kind, err)
		}
	}
	return Step{Line: n + 1, Verb: name, Args: args}, last, nil
}

// check says whether an argument will do where a verb's pattern has kind.
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
