package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A pager that is closed, or a full disk, must not end a tick with sessions in it.
func TestATickGoesOnWhenItsLogCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*os.File, error){
		"a pipe that nobody reads": func() (*os.File, error) {
			r, w, err := os.Pipe()
			if err == nil {
				err = r.Close()
			}
			return w, err
		},
		"a disk that is full": func() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := open()
			if err != nil {
				t.Skip(err) // no such device here
			}
			defer log.Close()
			p := newProject(t, scripted(t, filepath.Join(t.TempDir(), "agent")), map[string]string{
				"A-1": "---\ntitle: A title\nstate: Todo\n---\n- [ ] Create `new.txt` containing `new`\n- [ ] Move this issue to `Review`\n",
			})
			var report bytes.Buffer
			cmd := p.command(t.Context(), "--once")
			cmd.Stdout, cmd.Stderr = &report, log
			if err := cmd.Run(); err != nil {
				t.Errorf("the tick: %v\n%s", err, &report)
			}
			if text := p.read("workspaces/A-1/new.txt"); text != "new\n" {
				t.Errorf("the agent wrote %q", text)
			}
			if !strings.Contains(report.String(), "the log cannot be written") {
				t.Errorf("the report does not say so:\n%s", &report)
			}
		})
	}
}
