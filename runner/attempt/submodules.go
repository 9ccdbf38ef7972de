package attempt

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/workspace/git"
)

// submodulesTime bounds the search for changes inside submodules.
const submodulesTime = time.Minute

// findSubmodules sets the submodules of the workspace. One that cannot be had for a reason
// that only the branch has is left empty with a warning.
func (a *attempt) findSubmodules(ctx context.Context) error {
	r := a.Repository
	if !r.Submodules {
		return nil
	}
	found, skipped, err := r.Store.Submodules(ctx, r.Checkout.BaseHead, r.Checkout.Head, r.Checkout.Paths)
	if err != nil {
		return fmt.Errorf("fetch the submodules of %s: %w", r.Checkout.Branch, err)
	}
	for _, reason := range skipped {
		a.warn("a submodule was left empty", reason)
	}
	a.work.submodules = found
	return nil
}

// changedSubmodules returns the paths of the submodules that have changes, which no
// harvest takes. A workspace that cannot be searched has none.
func (a *attempt) changedSubmodules(ctx context.Context) []string {
	if len(a.work.submodules) == 0 {
		return nil
	}
	command := a.Repository.Host.ChangedSubmodules(a.work.submodules)
	var out outputTail
	_, err := a.work.session.Exec(ctx, codex.Exec{Argv: command.Args, Doing: "looking for changes in submodules", Env: command.Env, Timeout: submodulesTime, MaxOutput: maxProgramOutput, Stdout: &out})
	if err != nil {
		a.logger().WarnContext(ctx, "submodules not searched for changes", "error", err)
		return nil
	}
	return git.ReadChangedSubmodules(a.work.submodules, string(out.bytes))
}

// leftInside returns the sentence about changes inside submodules, with a space before it;
// empty if there are none.
func (w *work) leftInside() string {
	if len(w.inside) == 0 {
		return ""
	}
	return " Changes inside submodules are left out: " + text.OneLine(strings.Join(w.inside, ", "), maxWhy/2) + "."
}
