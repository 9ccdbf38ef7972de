package scriptedagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Verb is one kind of step. An error of a step ends the turn; ctx is done when the turn is
// interrupted, with [ErrInterrupted] as its cause, or the agent ends.
type Verb struct {
	Pattern string                    // form of a step, with the kind of each argument as a code span
	Check   func(args []string) error // check of the script's arguments; nil if every text will do
	Run     func(ctx context.Context, t *Turn, args []string) error
}

func verbs() []Verb {
	return []Verb{
		{"Create `path` containing `text`", func(args []string) error { return checkPath(args[0]) }, createFile},
		{"Append `text` to `path`", func(args []string) error { return checkPath(args[1]) }, appendFile},
		{"Run `command`", nil, func(ctx context.Context, t *Turn, args []string) error { return t.Command(ctx, args[0]) }},
		{"Call `tool` with `arguments`", func(args []string) error { return json.Unmarshal([]byte(args[1]), &map[string]any{}) }, callTool},
		{"Move this issue to `state`", nil, moveIssue},
	}
}

func checkPath(path string) error {
	if !filepath.IsLocal(path) {
		return fmt.Errorf("the path %q leads out of the workspace", path)
	}
	return nil
}

func createFile(_ context.Context, t *Turn, args []string) error {
	return t.changeFile(args[0], func(string) string { return endLine(args[1]) })
}

func appendFile(_ context.Context, t *Turn, args []string) error {
	return t.changeFile(args[1], func(old string) string { return endLine(old) + endLine(args[0]) })
}

// changeFile writes new contents to a file in the thread's folder and reports it as
// Codex reports a patch.
func (t *Turn) changeFile(name string, contents func(old string) string) error {
	root, err := os.OpenRoot(t.Cwd)
	if err != nil {
		return err
	}
	defer root.Close()
	old, err := root.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now := contents(string(old))
	kind, diff := Object{"type": "update", "move_path": nil}, hunk(string(old), now)
	if err != nil {
		kind, diff = Object{"type": "add"}, now
	}
	item := Object{"type": "fileChange", "id": t.itemID("call"), "status": "inProgress", "changes": []Object{
		{"path": filepath.Join(t.Cwd, name), "kind": kind, "diff": diff}}}
	end := t.Item(item)
	item["status"] = "completed"
	if err = root.MkdirAll(filepath.Dir(name), 0o777); err == nil {
		err = root.WriteFile(name, []byte(now), 0o666)
	}
	if err != nil {
		item["status"] = "failed"
	}
	end()
	return err
}

// hunk returns a unified diff, without context, of two whole files.
func hunk(old, now string) string {
	kept := 0
	if strings.HasPrefix(now, old) && strings.HasSuffix(old, "\n") {
		kept = len(old) // lines were only added
	}
	before := strings.Count(old[:kept], "\n")
	gone, come := marked("-", old[kept:]), marked("+", now[kept:])
	start := before
	if gone != "" {
		start++
	}
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s%s",
		start, strings.Count(gone, "\n"), before+1, strings.Count(come, "\n"), gone, come)
}

func marked(mark, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(mark + endLine(line))
	}
	return b.String()
}

// endLine ends text with a newline, as a patch of Codex does, unless it is empty.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// callTool asks the client to run a tool that it offered. A call that fails is reported in a
// message and does not end the turn, because a model would get the failure as an answer.
func callTool(ctx context.Context, t *Turn, args []string) error {
	name, input := args[0], json.RawMessage(args[1])
	if !slices.Contains(t.thread.Tools, tool{name}) {
		t.Say("unsupported call: " + name)
		return nil
	}
	item := Object{"type": "dynamicToolCall", "id": t.itemID("call"), "namespace": nil, "tool": name,
		"arguments": input, "status": "inProgress", "contentItems": nil, "success": nil, "durationMs": nil}
	end := t.Item(item)
	_, answer, err := t.Ask(ctx, "item/tool/call", Object{"callId": item["id"], "namespace": nil, "tool": name, "arguments": input})
	if err != nil {
		return err
	}
	success, content, said := readToolReply(answer)
	item["success"], item["contentItems"], item["durationMs"] = success, content, 0
	if item["status"] = "completed"; !success {
		item["status"] = "failed"
	}
	end()
	if !success {
		t.Say(name + " failed: " + said)
	}
	return nil
}

// readToolReply returns a client's answer to a tool call, and its text. Both of its fields
// are required.
func readToolReply(answer Message) (success bool, content []Object, text string) {
	var r struct {
		Success      *bool
		ContentItems []Object
	}
	switch err := json.Unmarshal(answer.Result, &r); {
	case answer.Error != nil:
		text = "dynamic tool request failed"
	case err != nil || r.Success == nil || r.ContentItems == nil:
		text = "dynamic tool response was invalid"
	default:
		for _, item := range r.ContentItems {
			text += fmt.Sprintln(item["text"])
		}
		return *r.Success, r.ContentItems, strings.TrimSuffix(text, "\n")
	}
	return false, []Object{{"type": "inputText", "text": text}}, text
}

func moveIssue(ctx context.Context, t *Turn, args []string) error {
	input, err := json.Marshal(Object{"state": args[0]})
	if err != nil {
		return err
	}
	return callTool(ctx, t, []string{"issue_update", string(input)})
}
