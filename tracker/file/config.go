package file

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/symphony-runner/symphony/tracker"
)

// Kind returns the kind of tracker that a folder of Markdown files is.
func Kind() tracker.Kind {
	return tracker.Kind{Name: "file", New: func() tracker.Config { return new(Config) }}
}

// Config holds the settings of this adapter.
type Config struct {
	Path string // the folder of issues
}

// Settings describes the settings; see [tracker.Config].
func (c *Config) Settings() []tracker.Setting {
	return []tracker.Setting{{
		Name: "path", Defaults: []any{"issues"}, Required: true, Path: true,
		Meaning: "the folder of the issues; a relative one starts from the folder of WORKFLOW.md",
		Want:    "the name of a folder",
		Decode:  tracker.DecodeText(&c.Path),
	}}
}

// Scope returns the folder.
func (c *Config) Scope() string { return c.Path }

// IDScope returns a name for the folder. It depends on where the workspaces are, so that a
// project can be moved with them.
func (c *Config) IDScope(workspaces string) string {
	folder, err := filepath.Rel(workspaces, c.Path)
	if err != nil {
		folder = c.Path
	}
	return "the project whose issues are in " + folder + ", seen from workspace.root"
}

// Folder returns the folder.
func (c *Config) Folder() string { return c.Path }

// States returns the default states: people write any state into a file.
func (c *Config) States() tracker.States { return tracker.DefaultStates() }

// Open connects to the folder, which must be an absolute path and exist; otherwise
// the error is [tracker.ErrInvalidConfig], as for a folder in which agents write. Nothing
// stays open between calls. Reader, writer and tool may be used at the same time.
func (c *Config) Open(o tracker.Options, _ *http.Client, _ *slog.Logger) (tracker.Adapter, error) {
	if !filepath.IsAbs(c.Path) {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: the folder %q is not an absolute path",
			tracker.ErrInvalidConfig, c.Path)
	}
	const remedy = "create the folder, or name another in tracker.provider.path"
	info, err := os.Stat(c.Path)
	if err != nil {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: %w: %s", tracker.ErrInvalidConfig, err, remedy)
	}
	if !info.IsDir() {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: %s is not a folder: %s", tracker.ErrInvalidConfig, c.Path, remedy)
	}
	if o.Workspaces != "" && isWithin(o.Workspaces, c.Path) {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: %s is in workspace.root, where an agent could write issues and comments of people: move one of the two",
			tracker.ErrInvalidConfig, c.Path)
	}
	f := &folder{path: c.Path, startsNothing: o.StartsNothing}
	a := tracker.Adapter{Reader: f, Writer: &writer{f, o}, Conversation: f, Pictures: f, Find: f.find, Check: f.checkWritable, Tools: []tracker.Tool{f.updateTool()}, Warnings: warnings(c.Path, o.Checkout)}
	if err := f.checkWritable(context.Background()); err != nil && o.StartsNothing {
		a.Warnings = append(a.Warnings, err.Error())
	}
	return a, nil
}

// warnings returns a warning about a folder that is thrown away with the job: every
// run would work on the same issues again.
func warnings(path, checkout string) []string {
	if checkout == "" || !isWithin(checkout, path) {
		return nil
	}
	return []string{fmt.Sprintf("file tracker: the issues are in the job's checkout, where changes are lost and every run begins again: "+
		"let a later step of the job commit and push %s, or use tracker.kind github or linear", path)}
}

// isWithin reports whether path leads into folder, which need not exist yet.
func isWithin(folder, path string) bool {
	inside, err := filepath.Rel(realPath(folder), realPath(path))
	return err == nil && filepath.IsLocal(inside)
}

// realPath returns an absolute path without links, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}
