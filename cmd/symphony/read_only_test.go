package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatOnlyLooksChangesNothingOnDisk(t *testing.T) {
	t.Parallel()
	actions := []string{
		"GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=schedule", "GITHUB_JOB=tick", "RUNNER_OS=Linux",
		"GITHUB_OUTPUT=/dev/null", "GITHUB_STEP_SUMMARY=/dev/null",
	}
	for name, look := range map[string]struct {
		args []string
		env  []string
		root string // workspace.root; empty for the default
	}{
		"a dry run":                        {args: []string{"--once", "--dry-run"}, root: "workspaces"},
		"a dry run with the default root":  {args: []string{"--dry-run"}},
		"a dry run with a cache":           {args: []string{"--dry-run", "--state", "cache:kept/state.json"}},
		"a dry run inside Actions":         {args: []string{"--dry-run"}, env: actions},
		"explain for a candidate":          {args: []string{"explain", "A-1"}, root: "workspaces"},
		"explain for an issue of no state": {args: []string{"explain", "A-2"}, root: "workspaces"},
		"validate":                         {args: []string{"validate"}, root: "workspaces"},
		"state show":                       {args: []string{"state", "show"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, scripted(t, t.TempDir()), map[string]string{
				"A-1": task("Hang"), "A-2": "---\ntitle: Later\nstate: Backlog\n---\n",
			})
			if look.root == "" {
				p.replace("workspace:\n  root: workspaces\n", "")
			} else {
				p.replace("root: workspaces", "root: "+look.root)
			}
			p.write("temp/kept", "") // everything that the program may write to is in the project
			p.env = append(p.env, "TMPDIR="+filepath.Join(p.dir, "temp"), "RUNNER_TEMP="+filepath.Join(p.dir, "temp"))
			p.env = append(p.env, look.env...)
			before := p.everything()
			p.ok(look.args...)
			if diff := cmp.Diff(before, p.everything()); diff != "" {
				t.Errorf("before and after (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatOnlyLooksNeedsNoRightToWrite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	p := newProject(t, scripted(t, t.TempDir()), map[string]string{"A-1": task("Hang")})
	p.write("workspaces/kept", "")
	for _, name := range []string{"", "issues", "workspaces"} {
		folder := filepath.Join(p.dir, name)
		if err := os.Chmod(folder, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(folder, 0o755)
	}
	const startable = "A-1 would be started now."
	if got := p.ok("explain", "A-1").stdout; !strings.Contains(got, startable) {
		t.Errorf("explain says %q, without %q", got, startable)
	}
	if got := p.ok("prompt", "A-1").stdout; !strings.Contains(got, "A-1") {
		t.Errorf("the prompt is %q", got)
	}
	plan := p.ok("--once", "--dry-run").stdout
	for _, want := range []string{"Would start 1 of 1 candidate", "issues cannot be written", "workspaces cannot be written"} {
		if !strings.Contains(strings.Join(strings.Fields(plan), " "), want) {
			t.Errorf("no %q in the plan:\n%s", want, plan)
		}
	}
	if r := p.run("--once"); r.code == 0 {
		t.Errorf("a tick runs there:\n%s", r.stdout)
	}
}

// everything lists the files of the project with what can be seen to change.
func (p *project) everything() string {
	p.t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "/temp") { // validate makes a folder here and removes it
			fmt.Fprintln(&list, path)
			return nil
		}
		_, err = fmt.Fprintln(&list, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list.String()
}
