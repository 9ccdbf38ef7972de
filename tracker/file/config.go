package file

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/symphony-runner/symphony/tracker"
)

const defaultPath = "issues"

// Config holds the settings of this adapter.
type Config struct {
	Path     string // the folder of issues
	Checkout string // a folder that is thrown away when the run ends, as the checkout of an Actions job; empty for none
}

// ConfigFrom reads tracker.provider. A relative path stays as it is: it starts
// from the folder of WORKFLOW.md, which the caller knows. Errors are
// [tracker.ErrInvalidConfig].
func ConfigFrom(provider map[string]any) (Config, error) {
	cfg := Config{Path: defaultPath}
	for _, key := range slices.Sorted(maps.Keys(provider)) {
		if key != "path" {
			return Config{}, fmt.Errorf("file tracker: %w: tracker.provider.%s is unknown: the only key is path",
				tracker.ErrInvalidConfig, key)
		}
		path, ok := provider[key].(string)
		if !ok || path == "" {
			return Config{}, fmt.Errorf("file tracker: %w: tracker.provider.path is %#v: write the name of a folder",
				tracker.ErrInvalidConfig, provider[key])
		}
		cfg.Path = path
	}
	return cfg, nil
}

// Open connects to the folder at cfg.Path, which must be absolute and exist;
// otherwise the error is [tracker.ErrInvalidConfig]. Nothing stays open between
// calls, so there is nothing to close. Its methods and tool may be used at the
// same time.
func Open(cfg Config) (tracker.Adapter, error) {
	if !filepath.IsAbs(cfg.Path) {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: the folder %q is not an absolute path",
			tracker.ErrInvalidConfig, cfg.Path)
	}
	const remedy = "create the folder, or name another in tracker.provider.path"
	info, err := os.Stat(cfg.Path)
	if err != nil {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: %w: %s", tracker.ErrInvalidConfig, err, remedy)
	}
	if !info.IsDir() {
		return tracker.Adapter{}, fmt.Errorf("file tracker: %w: %s is not a folder: %s", tracker.ErrInvalidConfig, cfg.Path, remedy)
	}
	f := &folder{path: cfg.Path}
	return tracker.Adapter{Reader: f, Tools: []tracker.Tool{f.updateTool()}, Warnings: cfg.warnings()}, nil
}

// warnings warns of a folder that is thrown away with the job: every run would work
// on the same issues again.
func (c Config) warnings() []string {
	if c.Checkout == "" || !isWithin(c.Checkout, c.Path) {
		return nil
	}
	return []string{fmt.Sprintf("file tracker: the issues are in the job's checkout, where changes are lost and every run begins again: "+
		"let a later step of the job commit and push %s, or use tracker.kind github or linear", c.Path)}
}

// isWithin reports whether path leads into folder.
func isWithin(folder, path string) bool {
	resolve := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return path
	}
	inside, err := filepath.Rel(resolve(folder), resolve(path))
	return err == nil && filepath.IsLocal(inside)
}
