package workflow

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// variablePattern matches a reference to an environment variable, $NAME or ${NAME}.
var variablePattern = lazy.Regexp(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)

// variableName returns the environment variable that v is a reference to. It reports
// false if v is anything else, or has other text around the reference.
func variableName(v any) (name string, ok bool) {
	text, ok := v.(string)
	if !ok || !strings.HasPrefix(text, "$") || variablePattern().FindString(text) != text {
		return "", false
	}
	return strings.Trim(text, "${}"), true
}

// surroundings holds where a workflow file is read, which its values can refer to.
type surroundings struct {
	env Env
	dir string // folder of the file
}

// lookupVariable returns the value of an environment variable without outer space,
// such as the line end of a secret read from a file. It is empty when the variable
// is not set.
func (s surroundings) lookupVariable(name string) string {
	text, _ := s.env.Lookup(name)
	return strings.TrimSpace(text)
}

// expandPath returns the absolute form of a path: variables and a leading ~ are
// expanded, and a relative path starts from the folder of the workflow file. The
// result is empty when text is blank or is, as a whole, a variable without a value.
func (s surroundings) expandPath(text string) (string, error) {
	if name, ok := variableName(text); ok {
		text = s.lookupVariable(name)
	} else if strings.Contains(text, "$") {
		var unset error
		text = variablePattern().ReplaceAllStringFunc(text, func(ref string) string {
			name, _ := variableName(ref)
			value := s.lookupVariable(name)
			if value == "" {
				unset = errors.New("needs the environment variable " + name + ", which is not set or empty; set it")
			}
			return value
		})
		if unset != nil {
			return "", unset
		}
	}
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	if strings.Contains(text, "\x00") {
		return "", errors.New("must not contain a NUL character")
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", errors.New("begins with ~ and a name; only ~ and ~/ are expanded, write the folder itself")
		}
		if s.env.Home == "" {
			return "", errors.New("needs a home folder, and none is known; write the folder itself")
		}
		text = s.env.Home + rest
	}
	return s.absolute(text), nil
}

// absolute returns path as an absolute one, starting from the folder of the workflow
// file.
func (s surroundings) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// RootOnHost returns the folder of the workspaces on this machine for another one that sends its sessions
// here: text is its [Worker].Root, and env is of this machine. It fails as [PathOnHost] does.
func RootOnHost(text string, env Env) (string, error) {
	root, err := PathOnHost("workspace.root", text, env)
	if err == nil && root == "" {
		root = filepath.Join(env.TempDir, defaultRootName)
	}
	return root, err
}

// PathOnHost returns a path of WORKFLOW.md on this machine for another one that sends its sessions here.
// The text is the value of a key there, and env is of this machine. The error is [ErrInvalid].
func PathOnHost(key, text string, env Env) (string, error) {
	path, err := surroundings{env: env}.expandPath(text)
	if err == nil && path != "" && !filepath.IsAbs(path) {
		err = fmt.Errorf("is %s there, which is relative; write a path that begins with / or ~/", display(path))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s on the host: %w", ErrInvalid, key, err)
	}
	return path, nil
}

// defaultRootName is the name of the workspace root of a file that names none (SPEC §5.3.3), in a folder for
// temporary files.
const defaultRootName = "symphony_workspaces"

// workspaceRoot decodes workspace.root. Inside Actions a root under /tmp is a
// warning: a sandboxed agent may write there, so the agent of one issue could change
// the workspace of another.
func (d *decoder) workspaceRoot(v value) {
	text, ok := v.raw.(string)
	if !ok {
		d.reject(v, "must be a path; put it in quotes if it is")
		return
	}
	if d.hasHosts() {
		d.rootOnHosts(v, text)
		return
	}
	root, err := d.expandPath(text)
	switch {
	case err != nil:
		d.reject(v, "%s", err)
	case root == "":
		d.warn(v, "%s is %s, which is empty: the default is used instead", v.key, display(text))
	case d.env.Actions && (root == "/tmp" || strings.HasPrefix(root, "/tmp/")):
		d.warn(v, "%s is under /tmp, which a sandboxed agent may write; use a folder under $RUNNER_TEMP, or remove the key", v.key)
	}
	d.settings.Workspace.Root = root
}

// defaultRoot returns the workspace root of a file that names none (SPEC §5.3.3).
// Inside Actions it is in the job's own folder, never in /tmp.
func (d *decoder) defaultRoot() string {
	temp, name := d.env.TempDir, "the temporary folder of the system"
	if d.env.Actions {
		temp, name = d.env.RunnerTemp, "$RUNNER_TEMP"
	}
	if temp == "" {
		d.add(Problem{Key: "workspace.root", Reason: "there is no default, because " + name + " is not known; write the folder"})
		return ""
	}
	return d.absolute(filepath.Join(temp, defaultRootName))
}
