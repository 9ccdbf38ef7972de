package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
)

// Where a run cannot write is found before it claims, fetches or spends anything.
func TestAPlaceThatCannotBeWrittenIsFoundBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	isFolder, isFile := " is a folder; name a file", " is a file, and not a folder; name a "
	for name, test := range map[string]struct {
		args []string // DIR is the folder with the file F, the folder D, and L, a link that leads nowhere
		old  string   // what new replaces in WORKFLOW.md
		new  string
		want []string
	}{
		"the report is a folder":                 {args: []string{"--report", "DIR/D"}, want: []string{"--report: ", "D" + isFolder}},
		"the report is below a file":             {args: []string{"--report", "DIR/F/r.json"}, want: []string{"--report: ", "F" + isFile}},
		"the report of a plan is a folder":       {args: []string{"--dry-run", "--report", "DIR/D"}, want: []string{"--report: ", "D" + isFolder}},
		"the logs are a file":                    {args: []string{"--logs", "DIR/F"}, want: []string{"--logs: ", "F" + isFile}},
		"the logs are below a file":              {args: []string{"--logs", "DIR/F/a/b"}, want: []string{"--logs: ", "F" + isFile}},
		"the logs are a link that leads nowhere": {args: []string{"--logs", "DIR/L"}, want: []string{"--logs: ", "L is a link that leads nowhere"}},
		"the state is a folder":                  {args: []string{"--state", "file:DIR/D"}, want: []string{"--state \"file:", "D" + isFolder}},
		"the state is below a file":              {args: []string{"--state", "file:DIR/F/s.json"}, want: []string{"--state \"file:", "F" + isFile}},
		"the cached state is a folder":           {args: []string{"--state", "cache:DIR/D"}, want: []string{"--state \"cache:", "D" + isFolder}},
		"the workspaces are below a file":        {old: "root: workspaces", new: "root: F/w", want: []string{"workspace.root", "F" + isFile}},
		"the patches go to a file":               {old: "root: workspaces", new: "root: workspaces\nrepository: {url: ./D}\ndelivery: {kind: patch, folder: F}", want: []string{"delivery.folder", "F" + isFile}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "no-such-agent", map[string]string{"A-1": task("Move this issue to `Review`")})
			p.write("F", "")
			p.write("D/in/file", "")
			if err := os.Symlink("nowhere", filepath.Join(p.dir, "L")); err != nil {
				t.Fatal(err)
			}
			if test.old != "" {
				p.replace(test.old, test.new)
			}
			args := []string{"--once"}
			for _, arg := range test.args {
				args = append(args, strings.Replace(arg, "DIR", p.dir, 1))
			}
			var said strings.Builder
			ctx, interrupts := wiring.NewInterrupts(t.Context())
			code := run(ctx, wiring.Process{
				Args: append(args, filepath.Join(p.dir, "WORKFLOW.md")), Environ: []string{"HOME=" + p.dir, "TMPDIR=" + p.dir, "PATH=" + os.Getenv("PATH")},
				Stdout: io.Discard, Stderr: &said, Stdin: strings.NewReader(""), Interrupts: interrupts,
			})
			if code != exitUsage {
				t.Errorf("exit status %d, want %d", code, exitUsage)
			}
			for _, want := range test.want {
				if !hasLine(said.String(), "symphony: ", want) {
					t.Errorf("no line of standard error has %q:\n%s", want, said.String())
				}
			}
			if _, err := os.Lstat(filepath.Join(p.dir, ".symphony")); err == nil {
				t.Error("something was written")
			}
		})
	}
}
