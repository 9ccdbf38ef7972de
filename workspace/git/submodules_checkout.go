package git

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed submodules.sh
var submodulesScript string

//go:embed submodules_changed.sh
var submodulesChangedScript string

// populate writes the repository of a submodule into a new .git, with copies of its packs.
// all holds the submodules of the workspace.
func (m Submodule) populate(ctx context.Context, into *os.Root, all []Submodule) error {
	up := strings.Repeat("../", 2+strings.Count(m.dir, "/")) // out of .git
	config := workspaceConfig +
		"[core]\n\tworktree = " + quoteValue(up+m.Path) + "\n" +
		"[remote \"origin\"]\n\turl = " + quoteValue(m.store.remote.url) + "\n" +
		configureSubmodules(all, m.dir)
	refs := map[string]ObjectID{"refs/symphony/commit": m.Commit} // git submodule update fetches commits without a reference
	if !m.base.IsZero() {
		refs["refs/symphony/base"] = m.base
	}
	return m.store.writeRepository(ctx, into, m.dir, map[string]string{
		"HEAD": m.Commit.String() + "\n", "config": config, "packed-refs": formatPackedRefs(refs),
	})
}

// configureSubmodules returns the configuration of the submodules in one repository, as
// git submodule init would write it. Parent is the place of the repository below .git.
func configureSubmodules(all []Submodule, parent string) string {
	var text strings.Builder
	for _, m := range all {
		if m.parent == parent {
			fmt.Fprintf(&text, "[submodule %s]\n\tactive = true\n\turl = %s\n", quoteValue(m.name), quoteValue(m.store.remote.url))
		}
	}
	return text.String()
}

// quoteValue returns a value, or the name of a section, in the syntax of git's
// configuration.
func quoteValue(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(text) + `"`
}

// SubmodulesCommand returns the command that fills the folders of the submodules of a
// [Checkout], and empties the folders of all others, whatever an earlier session has left
// there. It comes after [Host.CheckoutCommands].
func (h *Host) SubmodulesCommand(submodules []Submodule) Command {
	c := Command{Args: []string{h.shell, "-c", submodulesScript, "sh", h.git}, Env: sandboxEnv}
	for _, m := range submodules {
		up := strings.Repeat("../", 1+strings.Count(m.Path, "/"))
		c.Args = append(c.Args, m.Path, up+".git/"+m.dir)
	}
	return c
}

// ChangedSubmodules returns the command that prints which submodules have changes, for
// [ReadChangedSubmodules]. A harvest leaves those out.
func (h *Host) ChangedSubmodules(submodules []Submodule) Command {
	c := Command{Args: []string{h.shell, "-c", submodulesChangedScript, "sh", h.git}, Env: sandboxEnv}
	for _, m := range submodules {
		c.Args = append(c.Args, m.Path, m.Commit.String())
	}
	return c
}

// ReadChangedSubmodules returns the paths of the submodules that have changes, from the output
// of the command of [Host.ChangedSubmodules]. The agent controls that output: everything else
// in it is ignored.
func ReadChangedSubmodules(submodules []Submodule, output string) []string {
	changed := map[string]bool{}
	for line := range strings.Lines(output) {
		if i, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && i > 0 && i <= len(submodules) {
			changed[submodules[i-1].Path] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}
