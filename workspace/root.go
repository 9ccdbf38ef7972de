package workspace

import (
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
	"syscall"
	"time"
	"unicode"
)

// Config holds the workspace and hooks sections of WORKFLOW.md (SPEC §5.3.3, §5.3.4).
type Config struct {
	Root   string // absolute path of the folder that holds the workspaces
	Hooks  Hooks
	Limits Limits // limits of each agent
	// Project names where the issues come from, if only that makes their ids unique, as with
	// the numbers of a repository. Workspaces of another project are left alone. Empty if ids
	// are unique everywhere.
	Project string
}

// Hooks are shell scripts, run by `bash -lc` in the workspace. An empty script is not
// run.
type Hooks struct {
	AfterCreate  string
	BeforeRun    string
	AfterRun     string
	BeforeRemove string
	Timeout      time.Duration // time of each hook; must be positive
	Env          []string      // names of the variables that hooks see in addition to those that every child sees

	// GuardGit is for hooks that are trusted with workspaces whose .git the host makes
	// and an agent uses: a hook fails, without being started, if git would find anything
	// else there, and git in it runs no program that the agent names.
	GuardGit bool
}

// Issue holds the fields of an issue that this package and its hooks use.
type Issue struct {
	ID, Identifier string
	Attempt        int // 0 for the first attempt
}

// Variables returns the variables by which scripts know the issue.
func (i Issue) Variables() []string {
	return []string{"SYMPHONY_ISSUE_ID=" + i.ID, "SYMPHONY_ISSUE_IDENTIFIER=" + i.Identifier, "SYMPHONY_ATTEMPT=" + strconv.Itoa(i.Attempt)}
}

// Workspace is the folder of an issue, as [Root.Prepare] left it.
type Workspace struct {
	Issue      Issue
	Key        string // see [Key]
	Path       string // absolute, directly under the root
	CreatedNow bool   // Prepare created the folder (SPEC §9.2)

	scratch bool // it is a scratch folder; see [Root.Scratch]
}

// Grace is the time that each step of ending a process waits before the next step.
type Grace struct {
	EOF  time.Duration // wait after the input was closed
	Term time.Duration // wait after SIGTERM
	Kill time.Duration // wait after SIGKILL, for the process and again for its descendants
}

// Root is the folder that holds the workspaces. Its methods may be used
// concurrently for different issues.
type Root struct {
	Grace Grace // Open sets it to 2 s, 1 s and 1 s; it may be changed only before the first use
	// Killed kills every process at once when it is closed, and none is started after
	// that. It may be set only before the first use; nil for never.
	Killed <-chan struct{}

	*folders
	*metadata
	*holds
	*gitFolders

	cfg  Config
	env  Env
	log  *slog.Logger
	bash string // absolute path
}

// folders are the workspaces below a root, as folders.
type folders struct {
	path string // path of the root; absolute, without symbolic links
	dir  *os.Root
}

// Open makes the root and its folder of metadata if they are missing, and opens them. Symbolic
// links in its path are followed, but only this once: the operator created them. The errors are
// [ErrRoot]. On Linux this process becomes the subreaper of its children.
func Open(cfg Config, env Env, log *slog.Logger) (*Root, error) {
	if err := Check(cfg, env); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Root, 0o700); err != nil {
		return nil, rootError(cfg.Root, err)
	}
	path, err := filepath.EvalSymlinks(cfg.Root)
	if err != nil {
		return nil, rootError(cfg.Root, err)
	}
	bash, err := findBash(env.get("PATH"))
	if err != nil {
		return nil, err
	}
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, rootError(cfg.Root, err)
	}
	f := &folders{path: path, dir: dir}
	m := &metadata{folders: f, project: cfg.Project}
	if err := m.open(); err != nil {
		dir.Close()
		return nil, rootError(cfg.Root, err)
	}
	return &Root{
		Grace:   Grace{EOF: 2 * time.Second, Term: time.Second, Kill: time.Second},
		folders: f, metadata: m, holds: &holds{metadata: m, all: make(map[string]*hold)}, gitFolders: &gitFolders{f},
		cfg: cfg, env: env, log: log, bash: bash,
	}, nil
}

// Check returns the error with which Open would refuse the configuration, without
// making anything. A missing root is accepted if nothing on its path prevents making
// it.
func Check(cfg Config, env Env) error {
	if !filepath.IsAbs(cfg.Root) {
		return rootError(cfg.Root, errors.New("it is not absolute"))
	}
	if filepath.Clean(cfg.Root) == "/" || sameFolder(cfg.Root, "/") || sameFolder(cfg.Root, env.get("HOME")) {
		return rootError(cfg.Root, errors.New("the file system's root and the home folder hold other things than workspaces"))
	}
	if err := CheckWritable(cfg.Root); err != nil {
		return rootError(cfg.Root, err)
	}
	_, err := findBash(env.get("PATH"))
	return err
}

// CheckWritable returns an error for a folder in which this process cannot make files; nil for an
// empty path. If the folder does not exist, it checks the nearest parent that does. It makes nothing.
func CheckWritable(folder string) error {
	if folder == "" {
		return nil
	}
	for path := filepath.Clean(folder); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) && path != "/":
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s is a link that leads nowhere", path)
			}
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is a file, and not a folder", path)
		}
		if isKernelFS(path) {
			return fmt.Errorf("%s shows the kernel and holds no files", path)
		}
		const writeAndSearch = 0o3
		if err := syscall.Access(path, writeAndSearch); err != nil {
			return fmt.Errorf("%s cannot be written: %w", path, err)
		}
		return nil
	}
}

// Path returns the root's path, absolute and without symbolic links.
func (f *folders) Path() string { return f.path }

// Close releases the root. Processes that were started in it are not affected.
func (r *Root) Close() error { return errors.Join(r.folder.Load().Close(), r.dir.Close()) }

// Check returns an error if the root is no longer the folder at its path, because somebody
// removed or replaced it. Nothing can be started then; another Open makes it again. The
// error is [ErrRootGone].
func (f *folders) Check() error {
	opened, err1 := f.dir.Stat(".")
	there, err2 := os.Lstat(f.path)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("workspace.root %s: %w: %w", f.path, ErrRootGone, err)
	}
	if !os.SameFile(opened, there) {
		return fmt.Errorf("workspace.root %s: %w: another folder is in its place", f.path, ErrRootGone)
	}
	return nil
}

// Keys returns the keys of the workspaces that exist, sorted.
func (f *folders) Keys() ([]string, error) {
	entries, err := fs.ReadDir(f.dir.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the workspaces in %s: %w", f.path, err)
	}
	var keys []string
	for _, e := range entries {
		if e.IsDir() && e.Name()[0] != '.' {
			keys = append(keys, e.Name())
		}
	}
	return keys, nil
}

// workspace returns the path of an issue's folder. It does not check whether the folder
// exists.
func (f *folders) workspace(issue Issue) Workspace {
	key := Key(issue.Identifier)
	return Workspace{Issue: issue, Key: key, Path: f.pathOf(key)}
}

func (f *folders) pathOf(key string) string { return filepath.Join(f.path, key) }

// find returns the info of a workspace's folder, or nil if nothing is there. If
// anything else is in its place, the error is [ErrUnsafe].
func (f *folders) find(ws Workspace) (fs.FileInfo, error) {
	info, err := f.dir.Lstat(ws.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("workspace %s: %w", ws.Path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("workspace %s: %w: %s is in the place of the folder; look at it, then remove it",
			ws.Path, ErrUnsafe, describeMode(info.Mode()))
	}
	// On a file system that ignores case this may be the folder of another key.
	if other, err := f.dir.Lstat(swapCase(ws.Key)); ws.scratch || err != nil || !os.SameFile(info, other) {
		return info, nil
	}
	keys, err := f.Keys()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(keys, ws.Key) {
		return nil, fmt.Errorf("workspace %s: %w: the file system ignores case, and the folder belongs to an issue whose identifier differs only in case; rename one of the issues",
			ws.Path, ErrUnsafe)
	}
	return info, nil
}

// openVerified opens a workspace's folder as the working directory of a child. The
// folder must be the one under our root and the one that its path leads to. The error
// is [ErrInvalidCwd].
func (f *folders) openVerified(ws Workspace) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("working directory %s: %w: %w", ws.Path, ErrInvalidCwd, err)
	}
	want := f.workspace(ws.Issue)
	if ws.scratch {
		want = f.scratchFolder(ws)
	}
	if ws.Key != want.Key || ws.Path != want.Path {
		return fail(fmt.Errorf("the workspace of %s is %s", ws.Issue.Identifier, want.Path))
	}
	info, err := f.find(ws)
	if err != nil {
		return fail(err)
	}
	if info == nil {
		return fail(errors.New("it is gone; the next attempt creates it again"))
	}
	dir, err := f.dir.OpenFile(ws.Key, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fail(err)
	}
	opened, err1 := dir.Stat()
	reached, err2 := os.Lstat(ws.Path)
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(info, opened) || !os.SameFile(info, reached) {
		dir.Close()
		return fail(errors.Join(err, errors.New("it was replaced while it was opened; find out what else writes to the workspace root")))
	}
	return dir, nil
}

func rootError(path string, err error) error {
	return fmt.Errorf("workspace.root %q: %w: %w; give it an absolute path to a folder of its own", path, ErrRoot, err)
}

func sameFolder(a, b string) bool {
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// findBash returns the path of bash on our own PATH. The scripts that bash runs use
// the PATH of the login shell.
func findBash(path string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		if bash := filepath.Join(folder, "bash"); filepath.IsAbs(bash) {
			if _, err := exec.LookPath(bash); err == nil {
				return bash, nil
			}
		}
	}
	return "", fmt.Errorf("find bash: %w; install bash: hooks and the agent are run by `bash -lc`; the PATH is %q", exec.ErrNotFound, path)
}

func swapCase(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, s)
}

func describeMode(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	case 0:
		return "a file"
	}
	return "a special file"
}
