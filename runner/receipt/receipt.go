// Package receipt writes the part of a pull request that tells a reviewer, in the words of the
// program, what was asked, how the work was checked and what it has cost. The agent's own words
// follow it. Each line is there only if there is something to say, and what is long is folded.
package receipt

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/symphony-runner/symphony/internal/defuse"
	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/internal/text"
)

// Receipt holds the facts about work on an issue. The zero value has none.
type Receipt struct {
	Identifier, Title, URL string // issue; empty for none

	Unfinished bool    // the session ended before the agent was done, and nothing was checked
	Unchecked  bool    // delivery.verify has no command
	Checks     []Check // commands of delivery.verify that ran, in their order; the last one may have failed

	Look     string // sentence on the second look, in harmless Markdown; empty for none
	Findings string // list of its findings, likewise

	Blocked string // hosts that commands of the agent were refused, in Markdown; empty for none

	Model string // the model of the session and how it works, in harmless Markdown; empty for Codex's own settings

	Sessions int    // sessions on the issue so far
	Tokens   int64  // tokens of all of them
	Cost     string // price of all of them, such as "$1.23"; empty if it is not known
}

// Check is a command that ran on the work.
type Check struct {
	Command string // empty for the preparation before the first one
	Failed  string // how it failed; empty if it passed
	Output  string // the end of its output, if it failed
}

// The bounds of a receipt, in characters.
const (
	maxTitle   = 200
	maxCommand = 60
	maxOutput  = 4000
	maxItem    = 2000
)

// Markdown returns the receipt as a list and the parts that are too long for it; empty if there is
// nothing to say.
func (r Receipt) Markdown() string {
	var list strings.Builder
	word, check := r.Checked()
	for _, item := range []struct{ name, text string }{
		{"Asked", r.asked()}, {word, check}, {"Second look", r.Look}, {"Refused hosts", r.blocked()}, {"Model", r.Model}, {"Spent", r.spent()},
	} {
		if item.text != "" {
			fmt.Fprintf(&list, "- **%s:** %s\n", item.name, item.text)
		}
	}
	return strings.TrimSpace(list.String() + r.output() + "\n" + r.Findings)
}

// Volatile matches the line that changes with each session whatever the work is.
var Volatile = lazy.Regexp(`(?m)^- \*\*Spent:\*\* .*\n*`)

// folded matches a list of findings that is folded.
var folded = lazy.Regexp(`^(?s:(<details><summary>[\w ]{1,100}</summary>\n\n)(.*)(\n\n</details>))$`)

// Harmless returns a receipt whose Markdown another machine has written, as that was to write it.
func (r Receipt) Harmless() Receipt {
	begin, end := "", ""
	if parts := folded().FindStringSubmatch(r.Findings); parts != nil {
		begin, r.Findings, end = parts[1], parts[2], parts[3]
	}
	r.Findings = begin + defuse.Body(r.Findings) + end
	for _, item := range []*string{&r.Look, &r.Blocked, &r.Model, &r.Cost} {
		*item = defuse.Body(text.OneLine(*item, maxItem))
	}
	return r
}

// asked returns the issue.
func (r Receipt) asked() string {
	if r.Identifier == "" {
		return ""
	}
	name := Code(r.Identifier)
	if u, err := url.Parse(r.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http") && !strings.ContainsAny(r.URL, " ()<>\"\\\n") {
		name = "[" + strings.Trim(name, "`") + "](" + r.URL + ")"
	}
	return strings.TrimSpace(name + " " + defuse.Body(text.OneLine(r.Title, maxTitle)))
}

// Checked returns a sentence on the check of the work, and the word that stands before it.
func (r Receipt) Checked() (word, sentence string) {
	var passed []string
	for _, c := range r.Checks {
		if c.Failed == "" {
			passed = append(passed, script(c.Command))
		}
	}
	switch last := len(r.Checks) - 1; {
	case r.Unfinished:
		return "Not finished", "the session ended before the agent was done, and nothing has checked this work"
	case r.Unchecked:
		return "Not checked", "nothing but the agent has checked this work: `delivery.verify` is empty"
	case last < 0:
		return "", ""
	case r.Checks[last].Failed == "":
		return "Checked", strings.Join(passed, " and ") + " passed in a clean checkout of this work"
	default:
		failed := "in a clean checkout of this work, "
		if command := r.Checks[last].Command; command != "" {
			failed += script(command) + " ended with: "
		}
		failed += defuse.Body(text.OneLine(r.Checks[last].Failed, maxTitle))
		if len(passed) > 0 {
			failed += "; " + strings.Join(passed, " and ") + " passed before"
		}
		return "Check failed", failed
	}
}

// output returns the end of the output of the command that failed, folded.
func (r Receipt) output() string {
	if len(r.Checks) == 0 || strings.TrimSpace(r.Checks[len(r.Checks)-1].Output) == "" {
		return ""
	}
	end := []rune(strings.ReplaceAll(text.Lines(r.Checks[len(r.Checks)-1].Output), "```", "'''"))
	end = end[max(0, len(end)-maxOutput):]
	return "\n<details><summary>End of its output</summary>\n\n```text\n" + strings.Trim(string(end), "\n") + "\n```\n\n</details>\n"
}

func (r Receipt) blocked() string {
	if r.Blocked == "" {
		return ""
	}
	return r.Blocked + "; not in `codex.network`"
}

// spent returns the spending on the issue.
func (r Receipt) spent() string {
	if r.Sessions == 0 {
		return ""
	}
	spent := text.Count(r.Sessions, "session") + ", " + text.Number(r.Tokens) + " tokens"
	if r.Cost != "" {
		spent += ", " + r.Cost + " (by `budget.prices`)"
	}
	return spent + ", on this issue so far"
}

// script returns the name of a command: its first line.
func script(command string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(command), "\n")
	if !more {
		return Code(first)
	}
	return Code(first) + " (" + text.Count(strings.Count(rest, "\n")+2, "line") + ")"
}

// Code returns a text as a code span that it cannot leave, on one line.
func Code(s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(text.OneLine(s, maxCommand), "`", "'"))
	return "`" + cmp.Or(s, "?") + "`"
}
