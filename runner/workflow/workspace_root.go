package workflow

import (
	"path/filepath"
	"strings"
)

// applyDerivedDefaults works out what depends on more than one key.
func (d *decoder) applyDerivedDefaults() {
	s := &d.settings
	s.Policy.Stall = s.Codex.StallTimeout
	if s.Policy.MaxPerTick == 0 {
		s.Policy.MaxPerTick = s.Policy.MaxConcurrent
	}
	if s.Workspace.Root == "" {
		s.Workspace.Root = d.defaultRoot()
	}
}

// root takes workspace.root. Inside Actions a root under /tmp is a warning: a
// sandboxed agent may write there, so one issue's could reach into another's.
func (d *decoder) root(v value) {
	text, ok := v.raw.(string)
	if !ok {
		d.reject(v, "must be a path; put it in quotes if it is")
		return
	}
	root, err := d.expandPath(text)
	switch {
	case err != nil:
		d.reject(v, "%s", err)
	case root == "":
		d.warn("%s is %s, which is empty: the default is used instead", v.key, display(text))
	case d.env.Actions && (root == "/tmp" || strings.HasPrefix(root, "/tmp/")):
		d.warn("%s is under /tmp, which a sandboxed agent may write; use a folder under $RUNNER_TEMP, or remove the key", v.key)
	}
	d.settings.Workspace.Root = root
}

// defaultRoot is the workspace root of a file that names none (SPEC §5.3.3). Inside
// Actions it is in the job's own folder, never in /tmp.
func (d *decoder) defaultRoot() string {
	temp, name := d.env.TempDir, "the temporary folder of the system"
	if d.env.Actions {
		temp, name = d.env.RunnerTemp, "$RUNNER_TEMP"
	}
	if temp == "" {
		d.add(Problem{Key: "workspace.root", Reason: "there is no default, because " + name + " is not known; write the folder"})
		return ""
	}
	return d.absolute(filepath.Join(temp, "symphony_workspaces"))
}
