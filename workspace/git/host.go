package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// Config holds the settings of a Host.
type Config struct {
	Dir        string   // absolute path of the folder that holds the stores; made with mode 0700
	Workspaces string   // absolute path of the root of the workspaces, below which git is never started; empty if they are on other machines
	Env        []string // our own environment: PATH, proxies and certificates are taken from it
	Log        *slog.Logger
}

// Host starts git.
type Host struct {
	*engine
}

// engine starts git, and nothing else does.
type engine struct {
	dir        string // absolute, without symbolic links
	workspaces string // the same, as far as it exists; empty for none
	git        string // absolute path of the program
	shell      string // absolute path of sh, which sets the limits of a command
	version    version
	env        []string
	log        *slog.Logger
	limits     limits
}

// limits bound the costs of git and of the agent's work.
type limits struct {
	history time.Duration // a fetch, which may bring a long history over a slow line
	network time.Duration // another command that talks to a remote
	local   time.Duration // any other command
	slow    time.Duration // time in which a remote sends not one byte
	pause   time.Duration // wait before a request to a server of Git LFS is repeated
	lock    time.Duration // wait for a store that another process has open

	storeFile int64 // bytes of one file that a fetch writes, which is usually one pack
	packFiles int   // packs of a store, before they are joined
	output    int64 // bytes that git prints

	pack        int64 // bytes of an incoming pack
	objects     int   // objects of an incoming pack
	object      int64 // bytes of one incoming object
	contents    int64 // bytes of all incoming objects
	names       int   // files and folders of a commit that a harvest reads
	trees       int   // trees that a comparison reads
	paths       int   // paths that a comparison finds
	depth       int   // nested folders of a path
	name        int64 // bytes of one path
	lfsObjects  int   // files in Git LFS of one checkout
	lfsObject   int64 // bytes of one
	lfsContents int64 // bytes of all

	memory    int64 // bytes of address space of a command on incoming objects
	processor int   // seconds of processor time of such a command
}

var defaultLimits = limits{
	history: time.Hour, network: 10 * time.Minute, local: time.Minute, slow: 30 * time.Second, pause: 500 * time.Millisecond, lock: 2 * time.Second,
	storeFile: 4 << 30, packFiles: 50, output: 64 << 20,
	pack: 64 << 20, objects: 50_000, object: 32 << 20, contents: 128 << 20,
	names: 1_000_000, trees: 20_000, paths: 5_000, depth: 100, name: 4 << 10,
	lfsObjects: 5_000, lfsObject: 2 << 30, lfsContents: 4 << 30,
	memory: 512 << 20, processor: 30,
}

// version is the version of git.
type version [3]int

// oldest is the first version that takes configuration from its environment.
var oldest = version{2, 31, 0}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) less(w version) bool { return slices.Compare(v[:], w[:]) < 0 }

// Open finds git on the PATH, makes the folder of the stores, and ends the processes of git
// that a killed run has left. The errors are [ErrNoGit] and [ErrFolder].
func Open(ctx context.Context, cfg Config) (*Host, error) {
	h := &Host{engine: &engine{log: cfg.Log, limits: defaultLimits}}
	var err error
	if cfg.Workspaces != "" {
		h.workspaces, err = resolve(cfg.Workspaces)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace.root %q: %w: %w", cfg.Workspaces, ErrFolder, err)
	}
	path := h.safePath(lookup(cfg.Env, "PATH"))
	if h.git, err = findProgram("git", path); err != nil {
		return nil, fmt.Errorf("find git: %w: %w; install git %v or newer, or remove repository and delivery from WORKFLOW.md", ErrNoGit, err, oldest)
	}
	if h.shell, err = findProgram("sh", path); err != nil {
		return nil, fmt.Errorf("find sh: %w: %w; put a POSIX shell on the PATH", ErrNoGit, err)
	}
	if err := h.makeDir(cfg.Dir); err != nil {
		return nil, err
	}
	h.endLeft(ctx)
	h.env = append(environment(cfg.Env, path, filepath.Join(h.dir, emptyHome)), h.ownMark())
	if h.version, err = h.readVersion(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

const emptyHome = "home" // an empty folder below Config.Dir, where git finds no configuration

func (h *Host) makeDir(dir string) error {
	path, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("folder of the stores %q: %w: %w", dir, ErrFolder, err)
	}
	if h.isInWorkspaces(path) || isBelow(h.workspaces, path) {
		return fmt.Errorf("folder of the stores %s: %w: it and workspace.root %s are one inside the other, so an agent could write to it; give one of them another place", path, ErrFolder, h.workspaces)
	}
	for _, folder := range []string{path, filepath.Join(path, emptyHome)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("folder of the stores %s: %w: %w", path, ErrFolder, err)
		}
		if err := os.Chmod(folder, 0o700); err != nil {
			return fmt.Errorf("folder of the stores %s: %w: %w; it has to belong to the user that runs symphony", path, ErrFolder, err)
		}
	}
	h.dir = path
	return nil
}

var versionLine = lazy.Regexp(`^git version ([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?`)

func (e *engine) readVersion(ctx context.Context) (version, error) {
	out, err := e.run(ctx, command{args: []string{"version"}, dir: e.dir})
	if err != nil {
		return version{}, fmt.Errorf("ask %s for its version: %w: %w", e.git, ErrNoGit, err)
	}
	m := versionLine().FindSubmatch(out)
	if m == nil {
		return version{}, fmt.Errorf("ask %s for its version: %w: it answers %q; install git %v or newer", e.git, ErrNoGit, sanitize(string(out)), oldest)
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(string(m[i+1])) // 0 for a part that is missing
	}
	if v.less(oldest) {
		return version{}, fmt.Errorf("%s: %w: version %v is too old; install git %v or newer", e.git, ErrNoGit, v, oldest)
	}
	return v, nil
}

// Dir returns the folder of the stores, which no agent should be able to read.
func (h *Host) Dir() string { return h.dir }

// checkFolder returns an error if git must not be started in a folder: it is below the
// root of the workspaces, or cannot be resolved.
func (e *engine) checkFolder(folder string) error {
	path, err := resolve(folder)
	if err != nil {
		return fmt.Errorf("start git in %s: %w: %w", folder, ErrFolder, err)
	}
	if e.isInWorkspaces(path) {
		return fmt.Errorf("start git in %s: %w: an agent can write there, because it is below workspace.root %s", folder, ErrFolder, e.workspaces)
	}
	return nil
}

// resolve returns an absolute path without symbolic links. The end of the path may be
// missing.
func resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("it is not an absolute path")
	}
	path = filepath.Clean(path)
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return filepath.Join(real, rest), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("%s is a link to nothing", path)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = filepath.Dir(path)
	}
}

// isInWorkspaces reports whether an agent of this machine could write to a resolved path.
func (e *engine) isInWorkspaces(path string) bool {
	return e.workspaces != "" && isBelow(path, e.workspaces)
}

// isBelow reports whether path is folder or below it. Both are resolved.
func isBelow(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// safePath returns the folders of a PATH in which an agent cannot put programs.
func (e *engine) safePath(path string) string {
	var folders []string
	for _, folder := range filepath.SplitList(path) {
		if real, err := resolve(folder); err == nil && !e.isInWorkspaces(real) {
			folders = append(folders, folder)
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

// findProgram returns the absolute path of a program on a PATH of absolute folders.
func findProgram(name, path string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		file := filepath.Join(folder, name)
		if _, err := exec.LookPath(file); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w on the PATH %q", exec.ErrNotFound, path)
}

func lookup(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}
