package validation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/runner/setup"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// WarnWithoutSetup warns of a checkout whose lock files name dependencies, if nothing installs
// them before an agent works there. home is the person's.
func (r *Report) WarnWithoutSetup(in workflow.Inspection, home string) {
	wf := in.Workflow
	checkout := git.CheckoutAround(wf.Path)
	if checkout == "" || !in.Readable() || installsByItself(in) || !worksOn(wf.Settings.Repository, checkout) {
		return
	}
	suggestion, ok := setup.Look(os.DirFS(checkout))
	if !ok {
		return
	}
	text := fmt.Sprintf("%s names what the project needs, and nothing installs it, so agents cannot run its tests; write %s", suggestion.Files[0], suggestion.Line())
	if caches := cachesOutside(suggestion, home); len(caches) > 0 {
		text += fmt.Sprintf(" (agents have a home of their own, without %s)", strings.Join(caches, ", "))
	}
	r.Add(Finding{Check: "workflow", Severity: Warning, Place: Place{File: r.Workflow}, Key: "setup.run", Message: text, Advice: "write " + suggestion.Line()})
}

// installsByItself reports whether a workflow has a setup, or hooks with a network, which may do
// the same.
func installsByItself(in workflow.Inspection) bool {
	s := in.Workflow.Settings
	hookNetwork, _ := in.Place("hooks.network")
	hasHooks := s.Workspace.Hooks.AfterCreate != "" || s.Workspace.Hooks.BeforeRun != ""
	return s.Setup.Run != "" || hasHooks && (hookNetwork > 0 || !s.SandboxHooks)
}

func worksOn(repository *workflow.Repository, checkout string) bool {
	if repository == nil {
		return false
	}
	if repository.Remote == checkout {
		return true
	}
	origin, _ := git.Origin(checkout) // empty for none
	server, name, ok := client.ParseRepository(origin)
	wantServer, wantName, isAddress := client.ParseRepository(repository.Remote)
	return ok && isAddress && server == wantServer && strings.EqualFold(name, wantName)
}

// cachesOutside returns the caches in the person's home which the tools of a suggestion use, and
// which the room of an agent does not have.
func cachesOutside(s setup.Suggestion, home string) (caches []string) {
	for _, hosts := range s.Hosts {
		for _, folder := range setup.Caches(hosts) {
			if info, err := os.Stat(filepath.Join(home, folder)); home != "" && err == nil && info.IsDir() {
				caches = append(caches, "~/"+folder)
			}
		}
	}
	return caches
}
