package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
)

// item is an item of a thread: a message or an action of the agent. Fields that it does not
// have, or that have another type, are zero.
type item struct {
	ID, Type, Status string

	Text    string          // agentMessage, plan
	Summary json.RawMessage // reasoning: a list of texts

	Command          string // commandExecution
	CommandActions   []struct{ Command string }
	AggregatedOutput string
	ExitCode         *int
	DurationMs       int64

	Changes []change // fileChange

	Server, Tool string // dynamicToolCall, mcpToolCall, collabAgentToolCall
	Arguments    json.RawMessage
	ContentItems []struct{ Text string }
	Success      *bool
	Result       json.RawMessage
	Error        json.RawMessage
	Prompt       string

	Query string // webSearch
	Path  string // imageView

	began   time.Duration // time since the session began
	turn    string        // the id of its turn
	omitted int           // bytes that the log leaves out
	byOther bool          // it is of a sub-agent
}

// change is the change of one file.
type change struct {
	Path string
	Kind json.RawMessage // "add" or {"type": "add"}
	Diff string          // diff; the content of a file that is new or removed
}

// acts reports whether the item is named before it has ended.
func (i item) acts() bool {
	switch i.Type {
	case "", "userMessage", "agentMessage", "reasoning", "plan", "contextCompaction":
		return false
	}
	return true
}

// shown reports whether an item that has ended is shown. The prompt was shown when it was
// sent.
func (i item) shown() bool {
	switch i.Type {
	case "", "userMessage":
		return false
	case "agentMessage", "plan":
		return strings.TrimSpace(i.Text) != ""
	case "reasoning":
		return i.thought() != ""
	}
	return true
}

func (i item) thought() string {
	var texts []string
	if json.Unmarshal(i.Summary, &texts) != nil {
		return ""
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

func (r *Reader) itemEntry(i item) Entry {
	e := r.entry(KindNotice, i.Type)
	switch i.Type {
	case "agentMessage":
		e.Kind, e.Title = KindMessage, "message"
		e.Text, e.Omitted = r.bounded(i.Text)
	case "plan":
		e.Kind, e.Title = KindMessage, "plan"
		e.Text, e.Omitted = r.bounded(i.Text)
	case "reasoning":
		e.Kind, e.Title = KindThought, "thought"
		e.Text, e.Omitted = r.bounded(i.thought())
	case "commandExecution":
		r.commandEntry(&e, i)
	case "fileChange":
		r.filesEntry(&e, i)
	case "dynamicToolCall", "mcpToolCall", "collabAgentToolCall":
		r.toolEntry(&e, i)
	case "webSearch":
		e.Kind, e.Title = KindTool, r.line("searched the web for "+i.Query)
	case "imageView":
		e.Kind, e.Title = KindTool, r.line("looked at "+r.relative(i.Path))
	case "contextCompaction":
		e.Title = "the context was compacted"
	}
	e.Took = r.now - i.began
	if i.DurationMs > 0 && i.DurationMs < maxMillis {
		e.Took = time.Duration(i.DurationMs) * time.Millisecond
	}
	if !i.acts() {
		e.Took = 0
	}
	e.Omitted = max(e.Omitted, i.omitted)
	e.Failed = e.Failed || i.Status == "failed" || i.Status == "declined"
	if i.byOther {
		e.Title = r.line("sub-agent: " + e.Title)
	}
	return e
}

func (r *Reader) commandEntry(e *Entry, i item) {
	command := i.Command
	if len(i.CommandActions) == 1 && i.CommandActions[0].Command != "" {
		command = i.CommandActions[0].Command // the command alone, not the shell that runs it
	}
	e.Kind, e.Title, e.Exit = KindCommand, r.line(command), i.ExitCode
	if full := r.lines(command); full != e.Title {
		e.Input, e.Omitted = WithoutMiddle(full, maxText)
	}
	text, omitted := r.bounded(i.AggregatedOutput)
	e.Text, e.Omitted = text, e.Omitted+omitted
	if e.Failed = i.ExitCode != nil && *i.ExitCode != 0; i.Status == "declined" {
		e.Text = strings.TrimPrefix(e.Text+"\n(it was not allowed to run)", "\n")
	}
}

func (r *Reader) filesEntry(e *Entry, i item) {
	var names []string
	var diff strings.Builder
	for _, c := range i.Changes {
		name := r.relative(c.Path)
		kind, moved := c.kind()
		title, to := name, name
		if moved != "" {
			to = r.relative(moved)
			title = name + " → " + to
			c.Diff = strings.TrimSuffix(c.Diff, "\n\nMoved to: "+moved) // Codex says it there too
		}
		names = append(names, title)
		if diff.Len() < 4*maxText { // most of more would be left out
			writeDiff(&diff, kind, name, to, c.Diff)
		}
	}
	const shown = 3
	title := "changed " + strings.Join(names[:min(len(names), shown)], ", ")
	switch more := len(names) - shown; {
	case len(names) == 0:
		title = "changed files"
	case more > 0:
		title += fmt.Sprintf(" and %d more", more)
	}
	e.Kind, e.Title = KindFiles, r.line(title)
	e.Text, e.Omitted = r.bounded(diff.String())
}

// kind returns the kind of a change, such as add, and for a file that was moved its new path.
func (c change) kind() (kind, moved string) {
	var k struct {
		Type     string
		MovePath string `json:"move_path"`
	}
	if json.Unmarshal(c.Kind, &k) != nil {
		return strings.Trim(string(c.Kind), `"`), ""
	}
	return k.Type, k.MovePath
}

// writeDiff writes the change of a file, which may have moved it, as a unified diff.
func writeDiff(b *strings.Builder, kind, name, to, diff string) {
	from, to, mark := "a/"+name, "b/"+to, ""
	switch kind {
	case "add":
		from, mark = "/dev/null", "+"
	case "delete":
		to, mark = "/dev/null", "-"
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", from, to)
	for line := range strings.Lines(diff) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}

func (r *Reader) toolEntry(e *Entry, i item) {
	name := i.Tool
	if i.Server != "" {
		name = i.Server + "." + name
	}
	e.Kind, e.Title = KindTool, r.line("called "+name)
	var omitted int
	e.Input, omitted = r.bounded(strings.TrimSpace(i.Prompt + "\n" + compact(i.Arguments)))
	var results []string
	for _, c := range i.ContentItems {
		results = append(results, c.Text)
	}
	for _, raw := range []json.RawMessage{i.Result, i.Error} {
		if text := compact(raw); text != "" {
			results = append(results, text)
		}
	}
	e.Text, e.Omitted = r.bounded(strings.Join(results, "\n"))
	e.Omitted += omitted
	e.Failed = i.Success != nil && !*i.Success
}

// compact returns JSON on one line, a string as its text, and null as nothing.
func compact(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func (r *Reader) relative(name string) string {
	if rest, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(r.cwd, "/")+"/"); ok && r.cwd != "" {
		return rest
	}
	return name
}
