package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// trustedGitEnv is the environment of git in hooks that run outside the sandbox where an
// agent has worked (Hooks.GuardGit). It takes precedence over the configuration there:
// git obeys no repository that it finds inside the work, and runs no program that one
// names. git before 2.38 does not know safe.bareRepository, and git before 2.31 none of
// the settings.
var trustedGitEnv = gitConfigEnv(
	"safe.bareRepository", "explicit", "core.fsmonitor", "false", "core.hooksPath", os.DevNull,
	"maintenance.auto", "false", "gc.auto", "0", "protocol.ext.allow", "never",
)

// gitConfigEnv returns the variables that give git settings, each a key and its value,
// and those that have no setting.
func gitConfigEnv(settings ...string) []string {
	env := []string{"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)/2)}
	for i := 0; i < len(settings); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, settings[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, settings[i+1]))
	}
	return env
}

// maxRefFile bounds the bytes read of HEAD and of a file in refs.
const maxRefFile = 1 << 10

// headContent matches a HEAD that git accepts. For any other, git looks for a repository
// elsewhere.
var headContent = lazy.Regexp(`^(ref: refs/heads/[^\x00-\x20~^:?*\[\\\x7f]+|[0-9a-f]{40}([0-9a-f]{24})?)\n?$`)

// checkGit returns [ErrUnsafe] with a reason if git must not run outside the sandbox in a
// workspace that an agent has used: its .git is not one that git makes. It only reads. No
// process may run in the workspace.
func (g *gitFolders) checkGit(ws Workspace) error {
	err := g.findInGit(ws)
	if err == nil {
		return nil
	}
	return fmt.Errorf("workspace %s: %w: git must not run there outside the sandbox: %w; the next session puts a new .git there", ws.Path, ErrUnsafe, err)
}

// findInGit returns the first thing in .git that does not belong there.
func (g *gitFolders) findInGit(ws Workspace) error {
	for _, name := range []string{"", "objects", "refs"} {
		if info, err := g.dir.Lstat(gitFile(ws, name)); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a folder", path.Join(".git", name))
		}
	}
	for _, name := range []string{"HEAD", "config"} {
		if info, err := g.dir.Lstat(gitFile(ws, name)); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf(".git/%s is not a file", name)
		}
	}
	dir, err := g.dir.OpenRoot(gitFile(ws, ""))
	if err != nil {
		return err
	}
	defer dir.Close()
	if head, err := readRefFile(dir, "HEAD"); err != nil || !headContent().MatchString(head) {
		return errors.New(".git/HEAD names neither a branch nor a commit")
	}
	if _, err := dir.Lstat("objects/info/alternates"); err == nil {
		return errors.New(".git/objects/info/alternates names another repository")
	}
	w := walk{budget: maxSearchedEntries, readOnly: true}
	w.visitFile = func(dir *os.Root, folder string, e fs.DirEntry) {
		name := path.Join(".git", folder, e.Name())
		switch {
		case !e.Type().IsRegular():
			w.fail(fmt.Errorf("%s is %s", name, describeMode(e.Type())))
		case strings.HasPrefix(folder+"/", "refs/heads/"), strings.HasPrefix(folder+"/", "refs/tags/"):
			if text, err := readRefFile(dir, e.Name()); err != nil {
				w.fail(err)
			} else if strings.HasPrefix(text, "ref:") {
				w.fail(fmt.Errorf("%s stands for another reference", name))
			}
		}
	}
	w.walkFolder(dir, "", 0)
	return w.err
}

// readRefFile reads the beginning of a file, and does not wait for a named pipe. The caller
// has seen that it is a regular file, because an [os.Root] follows links that stay below it.
func readRefFile(dir *os.Root, name string) (string, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRefFile))
	return string(text), err
}
