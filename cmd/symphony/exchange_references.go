package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/runner/fleet"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github"
	"github.com/symphony-runner/symphony/tracker/github/client"
	"github.com/symphony-runner/symphony/workspace/git"
)

// openFileRefs opens the references over which the fleets of a workflow exchange files.
// The caller has to close them.
func (a *app) openFileRefs(ctx context.Context, wf workflow.Workflow) (*git.FileRefs, error) {
	remote, err := a.exchangeRemote(wf)
	if err != nil {
		return nil, err
	}
	if err := makeDataFolder(wf.Path); err != nil {
		return nil, err
	}
	host, err := git.Open(ctx, git.Config{
		Dir: filepath.Join(dataFolder(wf.Path), "repositories"), Workspaces: wf.Settings.Workspace.Root, Env: a.environ, Log: quiet(),
	})
	if err != nil {
		return nil, err
	}
	return host.FileRefs(remote)
}

// exchangeRemote returns the repository over which the fleets of a workflow exchange files:
// inside Actions that of the job, because everybody who can read it can see its issues;
// elsewhere the one that is delivered to, or the one that has the state branch.
func (a *app) exchangeRemote(wf workflow.Workflow) (git.Remote, error) {
	token, _ := a.getenv("GITHUB_TOKEN")
	if own := a.ownURL(); a.actions.InActions() && own != "" && token != "" {
		return git.ParseRemote(own, git.Token(token))
	}
	if r := wf.Settings.Repository; r != nil {
		remote, err := git.ParseRemote(r.Remote, git.Token(r.Token))
		if err != nil {
			return git.Remote{}, err
		}
		tokens, err := a.repositoryToken(wf, quiet())
		if err == nil && tokens != nil {
			remote = remote.WithTokens(gitTokens(tokens))
		}
		return remote, err
	}
	if repo := a.ownRepository(wf.Path, wf); repo != "" && token != "" {
		server, err := a.tokenServer(wf)
		if err != nil {
			return git.Remote{}, err
		}
		return git.ParseRemote(server+"/"+repo, git.Token(token))
	}
	return git.Remote{}, fmt.Errorf("%w: there is no repository for the exchange: write the section repository in %s, or export GITHUB_REPOSITORY=OWNER/NAME and GITHUB_TOKEN",
		errUsage, filepath.Base(wf.Path))
}

// tokenServer returns the address of the server that GITHUB_TOKEN is for: the one that the
// environment names, else that of the API. It fails if these are two servers.
func (a *app) tokenServer(wf workflow.Workflow) (string, error) {
	api, _ := a.getenv("GITHUB_API_URL")
	if cfg, ok := wf.Settings.Tracker.Config.(*github.Config); ok && api == "" {
		api = cfg.APIURL
	}
	server, _ := a.getenv("GITHUB_SERVER_URL")
	server = cmp.Or(strings.TrimRight(server, "/"), serverOf(cmp.Or(api, client.DefaultAPI)))
	if host := addressHost(api); api != "" && host != addressHost(server) && host != addressHost(apiOf(server)) {
		return "", fmt.Errorf("%w: there is no repository for the exchange: GITHUB_SERVER_URL names %s and the API is on %s, so the token may be that of another server: set GITHUB_SERVER_URL and GITHUB_API_URL to one server",
			errUsage, addressHost(server), host)
	}
	return server, nil
}

// listReferences returns the references of fleets in a folder of the remote. It skips other
// references.
func listReferences(ctx context.Context, refs *git.FileRefs, folder string) ([]fleet.Reference, error) {
	name, err := git.ParseFileRef(folder)
	if err != nil {
		return nil, err
	}
	names, err := refs.List(ctx, name)
	var found []fleet.Reference
	for _, name := range names {
		if r, ok := fleet.ParseReference(name.String()); ok {
			found = append(found, r)
		}
	}
	return found, err
}

// gitNames returns the names of references as package git takes them.
func gitNames(all []fleet.Reference) ([]git.FileRef, error) {
	names := make([]git.FileRef, 0, len(all))
	for _, r := range all {
		name, err := git.ParseFileRef(r.String())
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// pushReference creates a reference with files.
func pushReference(ctx context.Context, refs *git.FileRefs, ref fleet.Reference, files map[string][]byte) error {
	name, err := git.ParseFileRef(ref.String())
	if err != nil {
		return err
	}
	return refs.Push(ctx, name, files)
}

// deleteReferences deletes references from the remote. A missing one is no error.
func deleteReferences(ctx context.Context, refs *git.FileRefs, all []fleet.Reference) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	return refs.Delete(ctx, names...)
}

// oldFleet is the age of a plan at which nobody needs the references of its fleet any more.
const oldFleet = schedule.MaxShardTime + 24*time.Hour

// farAhead is how far a plan's time may lie in the future, because clocks differ. No fleet has
// a reference with a later time, and so none would ever be old.
const farAhead = 24 * time.Hour

// dropOld deletes the references of old fleets, and those with a time that no plan has.
func dropOld(ctx context.Context, refs *git.FileRefs, now time.Time) error {
	all, err := listReferences(ctx, refs, fleet.ReferencesFolder)
	if err != nil {
		return err
	}
	return deleteReferences(ctx, refs, slices.DeleteFunc(all, func(r fleet.Reference) bool {
		age := now.Sub(time.UnixMilli(r.Started))
		return -farAhead < age && age < oldFleet
	}))
}

// selectFleet returns the references of the fleet of an attempt of a run whose plan has the
// name, as [fleet.SelectPlan] does.
func selectFleet(ctx context.Context, refs *git.FileRefs, run string, attempt int, name fleet.PlanName) (plan, results []fleet.Reference, err error) {
	all, err := listReferences(ctx, refs, fleet.AttemptReferences(run, attempt))
	if err == nil {
		plan, results, err = fleet.SelectPlan(all, name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find the plan of attempt %d of run %s: %w", attempt, run, err)
	}
	return plan, results, nil
}

// pullFleet fetches the plan of an attempt of a run into an exchange folder, and the results
// of its shards if results is true. It returns the number of references that it took, which is
// 0 if there is no plan of that name, and the errors of results that cannot be used.
func pullFleet(ctx context.Context, refs *git.FileRefs, folder, run string, attempt int, name fleet.PlanName, results bool) (pulled int, refused []error, err error) {
	planRefs, resultRefs, err := selectFleet(ctx, refs, run, attempt, name)
	if err != nil || len(planRefs) == 0 {
		return 0, nil, err
	}
	var plan fleet.Plan
	if err := readReferences(ctx, refs, planRefs, func(r fleet.Reference, files map[string][]byte, err error) error {
		if err == nil {
			plan, err = fleet.StorePlan(folder, r, name, files)
		}
		return err
	}); err != nil || !results {
		return 1, nil, err
	}
	resultRefs = slices.DeleteFunc(resultRefs, func(r fleet.Reference) bool { _, ok := plan.Slice(r.Shard); return !ok })
	pulled = 1
	err = readReferences(ctx, refs, resultRefs, func(r fleet.Reference, files map[string][]byte, err error) error {
		if err != nil {
			refused = append(refused, err)
			return nil
		}
		pulled++
		return fleet.StoreResult(folder, r, files)
	})
	return pulled, refused, err
}

// readReferences calls take with the files of each reference, or with the error why they
// cannot be used.
func readReferences(ctx context.Context, refs *git.FileRefs, all []fleet.Reference, take func(fleet.Reference, map[string][]byte, error) error) error {
	names, err := gitNames(all)
	if err != nil {
		return err
	}
	limit := func(name git.FileRef, path string) int64 {
		r, _ := fleet.ParseReference(name.String())
		return r.FileLimit(path)
	}
	return refs.Read(ctx, names, limit, func(files git.RefFiles) error {
		r, _ := fleet.ParseReference(files.Ref.String())
		return take(r, files.Files, files.Err)
	})
}
