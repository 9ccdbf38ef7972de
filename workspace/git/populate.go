package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Person is an author or committer.
type Person struct {
	Name, Email string
	When        time.Time // only of a commit that is made
}

// Checkout describes the content of a new workspace.
type Checkout struct {
	Base     Branch
	BaseHead ObjectID   // commit of origin/<base>
	Branch   Branch     // branch of the issue; it is checked out
	Head     ObjectID   // commit at which the branch starts
	Pushed   ObjectID   // commit of origin/<branch>; zero if the remote does not have it
	Aside    []ObjectID // earlier work that the branch does not have; see [AsideBranch]
	User     Person     // author and committer of the agent's commits
	Paths    []string   // folders whose files are checked out, with the files beside and above them; empty is everything
	ReadOnly bool       // there are files in folders that a sandbox may keep read-only; see [Store.ReadOnly]
	Objects  *Objects   // objects of Git LFS; nil leaves pointers
	Exclude  []string   // patterns of files that are neither committed nor cleaned away, such as caches

	// Submodules lists the submodules of Head that get their files, as [Store.Submodules]
	// returns them; the folders of others stay empty.
	Submodules []Submodule
}

// repositoryFolders are the folders of a new repository.
var repositoryFolders = []string{"objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info", "hooks"}

// AsideBranch returns the name of the local branch for the work at an index of
// [Checkout].Aside.
func AsideBranch(index int) string {
	if index == 0 {
		return "unpublished"
	}
	return fmt.Sprintf("unpublished-%d", index+1)
}

// Populate writes a new .git into an empty folder. The packs are copies, so that the agent may
// do anything with them, and nothing in it leads back to the store. They hold the whole
// repository, also if Paths is set. The only remote is the URL, without a credential. The work
// tree is filled by the commands of [Host.CheckoutCommands] and [Host.SubmodulesCommand].
//
// It ends when ctx does. No process is started: the folder may be below the root of the
// workspaces as long as no agent can write to it. The error is of the file system,
// [ErrStore], or [ErrNoGit] if git is too old for Paths.
func (s *Store) Populate(ctx context.Context, into *os.Root, c Checkout) error {
	fail := func(err error) error { return fmt.Errorf("make .git in %s: %w", into.Name(), err) }
	if err := s.host.CanCheckOut(c.Paths); err != nil {
		return fail(err)
	}
	config, err := c.config(s.remote)
	if err != nil {
		return fail(err)
	}
	entries, err := fs.ReadDir(into.FS(), ".")
	if err != nil {
		return fail(err)
	}
	if len(entries) > 0 {
		return fail(errors.New("the folder is not empty"))
	}
	if c.Base.IsZero() || c.Branch.IsZero() || c.BaseHead.IsZero() || c.Head.IsZero() {
		return fail(errors.New("a branch or its commit is missing"))
	}
	files := map[string]string{
		"HEAD":         "ref: " + c.Branch.ref() + "\n",
		"config":       config,
		"packed-refs":  c.packedRefs(),
		"info/exclude": strings.Join(append(c.Exclude, ""), "\n"),
	}
	if c.isSparse() {
		files["info/sparse-checkout"] = sparsePatterns(c.Paths)
	}
	if err := s.writeRepository(ctx, into, "", files); err != nil {
		return fail(err)
	}
	if c.Objects != nil {
		if err := populateObjects(ctx, into, s.lfsFolder(), c.Objects.pointers); err != nil {
			return fail(err)
		}
	}
	for _, m := range c.Submodules {
		if err := m.populate(ctx, into, c.Submodules); err != nil {
			return fail(fmt.Errorf("submodule %s: %w", m.Path, err))
		}
	}
	return nil
}

// writeRepository makes a repository in a folder, with these files and copies of the packs of
// the store.
func (s *Store) writeRepository(ctx context.Context, into *os.Root, folder string, files map[string]string) error {
	for _, name := range repositoryFolders {
		if err := into.MkdirAll(path.Join(folder, name), 0o755); err != nil {
			return err
		}
	}
	s.packs.RLock()
	defer s.packs.RUnlock()
	shallow, err1 := readShallow(s.repository())
	packs, err2 := s.packFiles()
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	if shallow != "" {
		files["shallow"] = shallow
	}
	for name, text := range files {
		if err := into.WriteFile(path.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, name := range packs {
		if err := copyFile(ctx, into, path.Join(folder, "objects/pack", name), filepath.Join(s.packFolder(), name)); err != nil {
			return err
		}
	}
	return nil
}

// CopyPacks copies the work into a .git that [Store.Populate] has made, so that Head or an
// Aside can be its tip, and the objects of Git LFS that were taken with it.
func (in *Incoming) CopyPacks(ctx context.Context, into *os.Root) error {
	const folder = "objects/pack"
	entries, err := os.ReadDir(filepath.Join(in.dir, folder))
	for _, entry := range entries {
		name := entry.Name()
		if ext := filepath.Ext(name); err != nil || ext != ".pack" && ext != ".idx" {
			continue
		}
		err = copyFile(ctx, into, path.Join(folder, name), filepath.Join(in.dir, folder, name))
		if errors.Is(err, fs.ErrExist) {
			err = nil // the store has the same pack
		}
	}
	if err == nil {
		err = in.copyLoose(ctx, into)
	}
	if err == nil {
		err = populateObjects(ctx, into, in.lfsFolder(), slices.Collect(maps.Values(in.taken)))
	}
	if err != nil {
		return fmt.Errorf("copy the work: %w", err)
	}
	return nil
}

// copyLoose copies the objects that the host has made in the quarantine.
func (q *quarantine) copyLoose(ctx context.Context, into *os.Root) error {
	names, err := filepath.Glob(filepath.Join(escapeGlob(q.dir), "objects", "[0-9a-f][0-9a-f]", "*"))
	for _, name := range names {
		folder := path.Join("objects", filepath.Base(filepath.Dir(name)))
		if err == nil {
			err = into.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = copyFile(ctx, into, path.Join(folder, filepath.Base(name)), name)
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return err
}

// copyPart is the part of a file that is copied before a copy looks whether it is to end.
const copyPart = 16 << 20 // bytes

// copyFile copies a file of the host. A pack can have gigabytes, so the copy ends when ctx does.
func copyFile(ctx context.Context, into *os.Root, name, from string) error {
	return newCopy(into, name, from, func(dst io.Writer, src io.Reader) error {
		for {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			switch _, err := io.CopyN(dst, src, copyPart); {
			case err == io.EOF:
				return nil
			case err != nil:
				return err
			}
		}
	})
}

// newCopy makes a read-only file that copy fills with a file of the host. They share no inode.
func newCopy(into *os.Root, name, from string, copy func(dst io.Writer, src io.Reader) error) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	return errors.Join(copy(dst, src), dst.Close())
}

// packedRefs returns the references of the new repository in the format of git's
// packed-refs, which wants them sorted.
func (c Checkout) packedRefs() string {
	refs := map[string]ObjectID{}
	for i, commit := range c.Aside {
		refs[Branch{AsideBranch(i)}.ref()] = commit
	}
	refs[c.Branch.ref()], refs[c.Base.tracking()] = c.Head, c.BaseHead
	if !c.Pushed.IsZero() {
		refs[c.Branch.tracking()] = c.Pushed
	}
	return formatPackedRefs(refs)
}

// workspaceConfig begins the configuration of each repository in a workspace. It turns off the
// commands that would change the packs while the agent works.
const workspaceConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" +
	"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n"

func (c Checkout) config(remote Remote) (string, error) {
	var text strings.Builder
	text.WriteString(workspaceConfig)
	if c.isSparse() {
		fmt.Fprintf(&text, "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = %t\n", !c.ReadOnly)
	}
	if c.ReadOnly { // a folder that a sandbox makes in the place of a link is not a change of the link
		text.WriteString("[sparse]\n\texpectFilesOutsideOfPatterns = true\n")
	}
	for _, entry := range []struct{ head, key, value string }{
		{"[remote \"origin\"]", "url", remote.url},
		{"", "fetch", "+" + c.Base.ref() + ":" + c.Base.tracking()},
		{"[user]", "name", c.User.Name},
		{"", "email", c.User.Email},
	} {
		if strings.ContainsAny(entry.value, "\x00\n\r") || entry.value == "" {
			return "", fmt.Errorf("%s of the configuration is empty or has more than one line: %q", entry.key, entry.value)
		}
		if entry.head != "" {
			text.WriteString(entry.head + "\n")
		}
		fmt.Fprintf(&text, "\t%s = %s\n", entry.key, quoteValue(entry.value))
	}
	text.WriteString(configureSubmodules(c.Submodules, ""))
	if c.Objects != nil {
		text.WriteString(lfsConfig())
	}
	return text.String(), nil
}

// Command is a command that the caller runs inside the sandbox of the agent, in the
// folder of the workspace.
type Command struct {
	Args []string
	Env  []string // variables NAME=value, in addition to the sandbox's own
}

// sandboxEnv is the environment of git inside the sandbox.
var sandboxEnv = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"}

// removePipes removes named pipes: git would open one in the place of a .gitignore or
// .gitattributes, and wait.
const removePipes = "find . -type p -exec rm -f {} + 2>/dev/null; true"

// removeOutside removes files and folders in the place of files outside of the paths of a
// [Checkout], which would look like a change of them: git leaves a folder there and an ignored
// link, and only warns of a file that it cannot remove. A link goes before anything is looked
// for behind it. Arguments: the path of git, and pathspecs that leave out the paths.
const removeOutside = `git=$1
shift
outside=$(outside_read_only)
"$git" ls-files --killed -z -- $outside | xargs -0 rm -rf -- &&
  "$git" -c sparse.expectFilesOutsideOfPatterns=false diff-files --ignore-submodules=dirty --name-only -z -- $outside "$@" | xargs -0 rm -rf --`

// CheckoutCommands returns the commands that bring the work tree to the commit of a new .git,
// in this order. Files that are ignored stay, which keeps caches; named pipes do not. They
// print the folders that are left out; see [LeftOut]. A checkout of a large repository can take
// minutes.
func (h *Host) CheckoutCommands(c Checkout) []Command {
	script := func(text string, args ...string) Command {
		return Command{Args: append([]string{h.shell, "-c", text, "sh"}, args...), Env: sandboxEnv}
	}
	command := func(args ...string) Command {
		return Command{Args: append([]string{h.git, "-c", "core.hooksPath=/dev/null"}, args...), Env: sandboxEnv}
	}
	commands := []Command{script(removePipes)}
	if c.ReadOnly {
		commands = append(commands, script(readOnlyFunctions+leaveOut))
	}
	reset, clean := command("reset", "-q", "--hard"), command("clean", "-ffdq")
	for _, folder := range sandboxFolders {
		clean.Args = append(clean.Args, "-e", "/"+folder)
	}
	if len(c.Paths) == 0 {
		return append(commands, reset, clean)
	}
	// The first reset makes the index. The second sees by it the files of an earlier session
	// outside of paths, and removes most of them.
	look := command("-c", "sparse.expectFilesOutsideOfPatterns=false", "reset", "-q", "--hard")
	outside := script(readOnlyFunctions+removeOutside, append([]string{h.git}, excludeSparse(c.Paths)...)...)
	return append(commands, reset, look, clean, outside)
}

// isSparse reports whether a workspace may lack files of its commit.
func (c Checkout) isSparse() bool { return len(c.Paths) > 0 || c.ReadOnly }
