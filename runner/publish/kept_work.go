package publish

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/symphony-runner/symphony/workspace/git"
)

// The names of the files that [Keep] writes.
const (
	BundleFile = "work.bundle" // the commits, for git fetch
	PatchFile  = "work.patch"  // the difference, for git apply

	ObjectsFolder = "objects" // a folder with new objects of Git LFS, if there are any
)

// Keep writes work that was not published into a folder, which it makes, and returns commands
// with which a person can look at it and take it. The files hold the agent's work unchanged,
// with any secrets.
func Keep(ctx context.Context, in *git.Incoming, folder string, branch git.Branch) (commands []string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("keep the work: %w", err)
	}
	for name, write := range map[string]func(context.Context, io.Writer, git.ObjectID) error{
		BundleFile: in.WriteBundle, PatchFile: in.WritePatch,
	} {
		if err := writeWhole(filepath.Join(folder, name), func(w io.Writer) error { return write(ctx, w, in.Tip) }); err != nil {
			return nil, fmt.Errorf("keep the work: %w", err)
		}
	}
	commands = []string{
		"git fetch " + BundleFile + " refs/heads/out:refs/heads/" + branch.String(),
		"git diff " + in.MergeBase.String() + " " + branch.String(),
		"git apply --index " + PatchFile,
	}
	objects, err := in.WriteObjects(filepath.Join(folder, ObjectsFolder))
	if err != nil {
		return nil, fmt.Errorf("keep the work: %w", err)
	}
	if objects > 0 {
		commands = append([]string{"mkdir -p .git/lfs && cp -R " + ObjectsFolder + " .git/lfs"}, commands...)
	}
	return commands, nil
}

// keepCommands returns the pattern of the commands that [Keep] returns. The branch is a
// submatch.
var keepCommands = sync.OnceValue(func() *regexp.Regexp {
	const branch = `([A-Za-z0-9][A-Za-z0-9.+_/-]*)`
	return regexp.MustCompile(`^(?:git fetch ` + regexp.QuoteMeta(BundleFile) + ` refs/heads/out:refs/heads/` + branch +
		`|git diff [0-9a-f]{40} ` + branch + `|git apply --index ` + regexp.QuoteMeta(PatchFile) +
		`|mkdir -p \.git/lfs && cp -R ` + regexp.QuoteMeta(ObjectsFolder) + ` \.git/lfs)$`)
})

// KeptBranch returns the branch that commands of [Keep] make. It reports false for commands
// that are not of that form, that name no branch or two, or whose branch is not safe in a
// shell. People copy the commands, so commands from another process are shown to them only for
// the branch of their issue.
func KeptBranch(commands []string) (branch git.Branch, ok bool) {
	for _, c := range commands {
		m := keepCommands().FindStringSubmatch(c)
		if m == nil {
			return git.Branch{}, false
		}
		name := m[1] + m[2]
		if name == "" {
			continue
		}
		named, err := git.ParseBranch(name)
		if err != nil || branch != (git.Branch{}) && branch != named {
			return git.Branch{}, false
		}
		branch = named
	}
	return branch, branch != (git.Branch{})
}
