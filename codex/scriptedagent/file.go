package scriptedagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func createFile(ctx context.Context, t *turn, args arguments) error {
	return t.changeFile(ctx, args[0], func([]byte) string { return endLine(args[1]) })
}

func appendFile(ctx context.Context, t *turn, args arguments) error {
	return t.changeFile(ctx, args[1], func(old []byte) string { return endLine(string(old)) + endLine(args[0]) })
}

// changeFile writes new contents to a file in the thread's folder and reports it as
// Codex reports a patch.
func (t *turn) changeFile(ctx context.Context, name string, contents func(old []byte) string) error {
	root, err := os.OpenRoot(t.thread.Cwd)
	if err != nil {
		return err
	}
	defer root.Close()
	kind := object{"type": "update", "move_path": nil}
	old, err := root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		kind = object{"type": "add"}
	} else if err != nil {
		return err
	}
	now := contents(old)
	diff := now
	if err == nil {
		diff = hunk(string(old), now)
	}
	item := object{"type": "fileChange", "id": t.itemID("call"), "status": "inProgress", "changes": []object{
		{"path": filepath.Join(t.thread.Cwd, name), "kind": kind, "diff": diff}}}
	end := t.item(ctx, item)
	item["status"] = "completed"
	if err = writeFile(root, name, now); err != nil {
		item["status"] = "failed"
	}
	t.said = nil
	end(ctx)
	return err
}

func writeFile(root *os.Root, name, contents string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return root.WriteFile(name, []byte(contents), 0o666)
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
