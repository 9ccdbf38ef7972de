package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/codex/proxy"
	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/notify"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/telemetry"
	"github.com/symphony-runner/symphony/runner/validation"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
	"github.com/symphony-runner/symphony/workspace/git"
)

// validateCommand checks a workflow and its needs. It makes and changes nothing.
type validateCommand struct {
	*app
	notify bool // send a test notice
}

func (v *validateCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "validate [path-to-WORKFLOW.md]",
		Short:   "Check WORKFLOW.md, its settings and secrets, the state and Codex; name every problem",
		Example: "symphony validate\nsymphony validate other/WORKFLOW.md\nsymphony validate --notify",
		RunE:    func(cmd *cobra.Command, args []string) error { return v.Run(cmd.Context(), args) },
	}
	takeWorkflow(cmd)
	cmd.Flags().BoolVar(&v.notify, "notify", false, "send a test notice to each of notify.destinations")
	return cmd
}

// Run runs every check that can be run, also after others have failed.
func (v *validateCommand) Run(ctx context.Context, args []string) error {
	if v.logFormat != "text" && v.logFormat != "json" {
		return v.wrongLogFormat()
	}
	path, err := workflowPath(args)
	if err != nil {
		return err
	}
	return v.validate(ctx, path, wiring.CheckTimeout)
}

// validate checks the workflow file at a path. No check takes longer than the limit.
func (v *validateCommand) validate(ctx context.Context, path string, limit time.Duration) error {
	found := validation.New(shownPath(path), v.redactor.String, v.printCheck)
	in, err := v.workflows(path).Inspect()
	if err != nil {
		found.Run("workflow", func() (string, error) { return "", err })
		return v.finish(found)
	}
	wf := in.Workflow
	v.opener().AddWorkflowSecrets(wf)
	// check runs a check that needs these keys, or skips it if any of them has a problem.
	check := func(name string, keys []string, do func(context.Context, *validation.Report, workflow.Workflow) (string, error)) {
		if len(keys) > 0 && !in.Sound(keys...) {
			found.Skip(name, "fix the problems of "+strings.Join(keys, ", ")+" first")
			return
		}
		found.Run(name, func() (string, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v: check the network, and try again", limit))
			defer cancel()
			return do(ctx, found, wf)
		})
	}
	found.Run("workflow", func() (string, error) { return v.checkSettings(found, in), nil })
	if in.HasPrompt {
		found.Run("prompt", func() (string, error) { return checkPrompt(found, in.Workflow) })
	} else {
		found.Skip("prompt", "fix the front matter first")
	}
	check("tracker", []string{"tracker"}, v.checkTracker)
	check("state", v.neededForState(path), v.checkState)
	if v.gitHub().HasApp() {
		check("app", []string{"tracker", "repository"}, v.checkAppToken)
	}
	onHosts := len(wf.Settings.Worker.Hosts) > 0
	if !onHosts {
		check("workspace", []string{"workspace"}, v.checkWorkspace)
	}
	if wf.Settings.Repository != nil {
		check("repository", []string{"repository", "delivery"}, v.checkRepository)
	}
	if s := wf.Settings; len(s.Network.Hosts)+len(s.HookNetwork.Hosts)+len(s.SetupNetwork.Hosts) > 0 {
		check("network", nil, v.checkNetwork(in))
	}
	if len(wf.Settings.Services) > 0 && !onHosts {
		check("services", []string{"services"}, v.checkServices(in))
	}
	if in.Readable() && v.NamesIdentity(wf) {
		check("identity", []string{"identity", "codex.command"}, v.checkIdentity)
	}
	switch {
	case onHosts && in.Sound("worker", "workspace", "codex"):
		v.checkHosts(ctx, found, wf, limit)
	case onHosts:
		found.Skip("host", "fix the problems of worker, workspace, codex first")
	case in.Readable():
		check("codex", []string{"codex.command"}, v.checkCodex)
	default:
		check("codex", nil, v.checkDefaultCodex)
	}
	switch {
	case !v.notify:
	case !in.Sound("notify"):
		found.Skip("notice", "fix the problems of notify first")
	default:
		v.checkNotices(ctx, found, wf, limit)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("validate: %w", ctx.Err())
	}
	return v.finish(found)
}

// printCheck prints a line of the text about a check, unless a program reads.
func (v *validateCommand) printCheck(word, check, text string) {
	if v.logFormat != "json" {
		v.printItem(fmt.Sprintf("%-9s %-11s ", word, check), text)
	}
}

// finish prints the report if --log-format is json, and returns the error of a validation that
// found problems.
func (v *validateCommand) finish(found *validation.Report) error {
	failed := found.End()
	if v.logFormat == "json" {
		text, err := v.jsonText(found)
		if err != nil {
			return err
		}
		_, _ = io.WriteString(v.Stdout, text) // see output
	}
	if found.OK {
		return nil
	}
	return fmt.Errorf("%w with: %s; standard output describes them", errProblems, strings.Join(failed, ", "))
}

// checkSettings reports the problems and warnings of the front matter, and returns a summary.
func (v *validateCommand) checkSettings(found *validation.Report, in workflow.Inspection) string {
	for _, p := range in.Warnings {
		found.Setting(validation.Warning, p)
	}
	for _, p := range in.Problems {
		found.Setting(validation.Problem, p)
	}
	v.checkVariables(found, in)
	v.checkTelemetry(found, in)
	found.WarnWithoutSetup(in, v.Value("HOME"))
	what := fmt.Sprintf("%s: %s", found.Workflow, text.Count(in.Keys(), "key"))
	if name, isOrigin := v.gitHub().RepositoryNear(in.Workflow.Path); isOrigin {
		what += ", in the repository " + name + " (origin of this checkout)"
	}
	return what
}

func checkPrompt(found *validation.Report, wf workflow.Workflow) (string, error) {
	if wf.Prompt == "" {
		return "the default one, because nothing follows the front matter", nil
	}
	lines := strings.Count(wf.Prompt, "\n") + 1
	return fmt.Sprintf("%s:%d: %s", found.Workflow, wf.PromptLine, text.Count(lines, "line")), prompt.Check(wf.Prompt, wf.PromptLine)
}

// checkVariables warns of environment variables that hooks or the agent are to see, and
// that are not set.
func (v *validateCommand) checkVariables(found *validation.Report, in workflow.Inspection) {
	env := v.ChildEnv(in.Workflow)
	s := in.Workflow.Settings
	for _, list := range []struct {
		key     string
		missing []string
	}{{"hooks.env", wiring.MissingInHooks(env, s)}, {"codex.env", env.Missing("codex.env", s.Codex.Env)}, {"setup.env", env.Missing("setup.env", s.Setup.Env)}} {
		line, column := in.Place(list.key)
		for _, text := range list.missing {
			found.Add(validation.Finding{Check: "workflow", Severity: validation.Warning, Place: validation.Place{File: found.Workflow, Line: line, Column: column}, Key: list.key, Message: text})
		}
	}
}

// checkTelemetry warns of telemetry that no collector gets.
func (v *validateCommand) checkTelemetry(found *validation.Report, in workflow.Inspection) {
	const key = "telemetry.otlp"
	if !in.Workflow.Settings.Telemetry || telemetryDisabled(v.Process) {
		return
	}
	line, column := in.Place(key)
	for _, text := range telemetry.Problems(v.Value) {
		found.Add(validation.Finding{Check: "workflow", Severity: validation.Warning, Place: validation.Place{File: found.Workflow, Line: line, Column: column}, Key: key, Message: "telemetry is on, and " + text})
	}
}

// checkNetwork returns the check of the hosts that commands in the sandbox may reach: it looks
// for those that are this machine, or that the sandbox refuses because of their addresses.
func (v *validateCommand) checkNetwork(in workflow.Inspection) func(context.Context, *validation.Report, workflow.Workflow) (string, error) {
	return func(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
		lookup := v.Lookup
		if lookup == nil {
			lookup = hosts.SystemLookup
		}
		total := 0
		var refused []error
		for _, n := range []struct {
			key, private string
			network      codex.Network
		}{{"codex.network", "", wf.Settings.Network}, {"hooks.network", "", wf.Settings.HookNetwork}, {"setup.network", "setup.network_private", wf.Settings.SetupNetwork}} {
			total += len(n.network.Hosts)
			line, column := in.Place(n.key)
			place := validation.Place{File: found.Workflow, Line: line, Column: column}
			for _, r := range lookup.Check(ctx, n.network.Hosts, n.network.Private) {
				refused = append(refused, fmt.Errorf("%s%s: %s", place, n.key, r.Reason(n.private)))
			}
		}
		if err := door.Check(); err != nil && total > 0 && len(wf.Settings.Worker.Hosts) == 0 {
			refused = append(refused, fmt.Errorf("reach %s: %w", text.Count(total, "host"), err))
		}
		return text.Count(total, "host"), errors.Join(refused...)
	}
}

// checkServices returns the check of the services: it warns of those that do not answer.
func (v *validateCommand) checkServices(in workflow.Inspection) func(context.Context, *validation.Report, workflow.Workflow) (string, error) {
	return func(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
		line, column := in.Place("services")
		for _, port := range wf.Settings.Services {
			connection, err := proxy.DialService(ctx, port)
			if err != nil {
				found.Add(validation.Finding{
					Check: "services", Severity: validation.Warning, Place: validation.Place{File: found.Workflow, Line: line, Column: column}, Key: "services",
					Message: fmt.Sprintf("the service localhost:%d does not answer: start it, or publish its port there, before sessions start", port),
				})
				continue
			}
			connection.Close()
		}
		err := door.Check()
		if err != nil {
			err = fmt.Errorf("reach services: %w", err)
		}
		return text.Count(len(wf.Settings.Services), "service"), err
	}
}

// checkTracker reads the issues in active states, which fails unless the credential, the
// scope and the network work.
func (v *validateCommand) checkTracker(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	adapter, err := v.opener().Tracker(wf, found.Log("tracker"), false)
	if err != nil {
		return "", err
	}
	for _, text := range adapter.Warnings {
		found.Warn("tracker", text)
	}
	if folder := wiring.IssueFolder(wf); folder != "" {
		found.Issues = shownPath(folder)
	}
	var problem error
	if adapter.Check != nil {
		problem = adapter.Check(ctx)
	}
	ctx = tracker.WithDropped(ctx, func(m tracker.Malformed) { found.Malformed("tracker", m) })
	states := wf.Settings.Policy.ActiveStates
	issues, err := adapter.IssuesByState(ctx, states)
	if problem != nil && err != nil && err.Error() == problem.Error() {
		err = nil // it is said once
	}
	candidates := slices.DeleteFunc(slices.Clone(issues), func(issue tracker.Issue) bool {
		return wf.Settings.Policy.IneligibleToStart(issue) != schedule.Why{}
	})
	what := text.Count(len(candidates), "candidate")
	if others := len(issues) - len(candidates); others > 0 {
		what = fmt.Sprintf("%s and %s that may not be started", what, text.Count(others, "issue"))
	}
	scope := wf.Settings.Tracker.Config.Scope()
	if found.Issues != "" {
		scope = shownPath(scope)
	}
	return fmt.Sprintf("%s %s, %s in %s", wf.Settings.Tracker.Kind, scope, what, strings.Join(states, ", ")), errors.Join(problem, err)
}

// neededForState returns the keys that name the place of the state.
func (v *validateCommand) neededForState(path string) []string {
	if repository := v.gitHub().OwnRepository(path, workflow.Workflow{}); strings.HasPrefix(v.state, "branch:") && repository == "" {
		return []string{"tracker"}
	}
	return nil
}

// checkState reads the state, and checks that the program can write beside WORKFLOW.md,
// where every run keeps its logs and, without --state, its claims.
func (v *validateCommand) checkState(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	kept, err := v.statePlace().Open(wf, wiring.StateReadOnly)
	if err != nil {
		return "", err
	}
	if kept.Warn != nil {
		kept.Warn = func(text string) { found.Warn("state", text) }
	}
	state, _, err := kept.Load(ctx)
	if err != nil {
		return "", err
	}
	if err := workspace.CheckWritable(wiring.DataFolder(wf.Path)); err != nil {
		return "", wiring.DataFolderError(wf.Path, err)
	}
	return fmt.Sprintf("%s, %s", v.shownState(wf), text.Count(len(state.Claims), "claim")), nil
}

// checkWorkspace checks the folder of the workspaces, without making it.
func (v *validateCommand) checkWorkspace(_ context.Context, _ *validation.Report, wf workflow.Workflow) (string, error) {
	folders := wiring.WorkspaceConfig(wf)
	return folders.Root, workspace.Check(folders, v.ChildEnv(wf))
}

// checkAppToken gets a token of the GitHub App, which fails unless all its settings are
// right.
func (v *validateCommand) checkAppToken(ctx context.Context, _ *validation.Report, wf workflow.Workflow) (string, error) {
	tokens, err := v.opener().Token(wf, quiet())
	if err == nil && tokens != nil {
		_, err = tokens(ctx)
	}
	return v.Value(wiring.AppIDVariable), err
}

// checkIdentity gets a token for the model, which fails unless all settings are right, also those
// of the provider.
func (v *validateCommand) checkIdentity(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	config, err := v.Identity(wf)
	if err != nil {
		return "", err
	}
	if config.TokenURL == "" && config.Command == "" {
		return wf.Settings.Identity.TokenURL + ", not tried: only a job of Actions has an identity", nil
	}
	if err := checkIdentity(v.Process, wf); err != nil {
		return "", err
	}
	token, err := v.Tokens.Source(v.Process, wf, config).Token(ctx, "")
	if err != nil {
		return "", err
	}
	what := "identity.command"
	if config.Command == "" {
		what = fmt.Sprintf("%s, audience %s", config.TokenURL, cmp.Or(config.Audience, "of GitHub"))
	}
	return fmt.Sprintf("%s, a token is renewed after %v", what, token.Interval().Round(time.Second)), nil
}

// checkHosts tries each worker host, a few at once, in place of the workspaces and the Codex of this
// machine. Each host is a check.
func (v *validateCommand) checkHosts(ctx context.Context, found *validation.Report, wf workflow.Workflow, limit time.Duration) {
	for _, weakness := range wf.Settings.Codex.PostureWarnings(wf.Settings.Port != nil) {
		found.Warn("host", weakness)
	}
	type result struct {
		version string
		err     error
	}
	names, hosts := wf.Settings.Worker.Hosts, v.Hosts(wf, quiet())
	results := make([]result, len(names))
	runner.EachHost(names, func(i int, host string) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v: look at the login profile and the load of the host", limit))
		defer cancel()
		version, err := hosts.Test(ctx, host)
		results[i] = result{version, err}
	})
	for i, r := range results {
		found.Run("host", func() (string, error) { return names[i] + ", codex " + r.version, r.err })
	}
}

// checkNotices sends a test notice to each destination, one after the other. Each destination is a
// check.
func (v *validateCommand) checkNotices(ctx context.Context, found *validation.Report, wf workflow.Workflow, limit time.Duration) {
	if len(wf.Settings.Notify.Destinations) == 0 {
		found.Skip("notice", "WORKFLOW.md names no notify.destinations")
	}
	for _, d := range wf.Settings.Notify.Destinations {
		found.Run("notice", func() (string, error) {
			if d.URL == "" {
				return "", fmt.Errorf("%s is off: set its environment variables", d.Name)
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			test := notify.Notice{Event: notify.Test, Why: "A person sent it with symphony validate --notify."}
			if err := notify.Send(ctx, nil, d, notify.Batch{From: wf.Project(), Notices: []notify.Notice{test}}); err != nil {
				return "", fmt.Errorf("%s: %w", d.Name, err)
			}
			return d.Name + " took a test notice: look for it there", nil
		})
	}
}

// checkCodex starts Codex, and warns of settings that weaken its sandbox.
func (v *validateCommand) checkCodex(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	for _, weakness := range wf.Settings.Codex.PostureWarnings(wf.Settings.Port != nil) {
		found.Warn("codex", weakness)
	}
	version, err := wiring.Preflight(ctx, v.Process, wf, func(text string) { found.Warn("codex", text) })
	server := cmp.Or(string(wf.Settings.Codex.Endpoint.Address), wf.Settings.Codex.Command)
	return strings.TrimSpace(server+" "+version) + models(wf.Settings.Codex), err
}

// models returns the models of all issues and of labels, each after a comma; empty for Codex's own.
func models(c codex.Config) (words string) {
	choices := c.ByLabel // the last one is for all other issues
	if len(choices) == 0 {
		choices = []codex.Choice{c.Choice}
	}
	for _, choice := range choices {
		if of := report.Choice(choice).Words(); of != "" {
			words += ", " + of
		}
	}
	return words
}

// checkDefaultCodex starts Codex as a workflow without settings does, for a front matter
// that cannot be read.
func (v *validateCommand) checkDefaultCodex(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	const why = "by the default codex.command, because the front matter cannot be read"
	what, err := v.checkCodex(ctx, found, wf)
	if err != nil {
		return "", fmt.Errorf("%w (%s)", err, why)
	}
	return what + ", " + why, nil
}

// checkRepository asks the remote for its branches, and GitHub for its pull requests and the
// rules of an issue's branch. It returns a summary.
func (v *validateCommand) checkRepository(ctx context.Context, found *validation.Report, wf workflow.Workflow) (string, error) {
	folder, err := v.MakeTempFolder("symphony-validate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	r, err := v.opener().RepositoryIn(ctx, folder, wf, quiet())
	if err != nil {
		return "", err
	}
	store, err := r.Host.Store(ctx, r.Remote)
	if err != nil {
		return "", err
	}
	defer store.Close()
	there, err := store.Look(ctx, r.Source)
	if err != nil {
		return "", err
	}
	if r.Publisher != nil && r.Publisher.GitHub != nil {
		if _, err := r.Publisher.GitHub.Pulls.OfBranch(ctx, r.Source.Prefix+"none"); err != nil {
			return "", err
		}
		if err := checkRules(ctx, found, wf, r, there); err != nil {
			return "", err
		}
	}
	what := fmt.Sprintf("%s, base %s, delivery %s", r.Remote, there.Base, wf.Settings.Delivery.Kind)
	if r.Source.Submodules {
		what += ", with submodules"
	}
	if r.Source.LFS {
		what += ", with the contents of files in Git LFS"
	}
	return what, nil
}

// checkRules asks GitHub for the rules of the branch that an issue would have.
func checkRules(ctx context.Context, found *validation.Report, wf workflow.Workflow, r *runner.Repository, there git.Fetched) error {
	identifier := cmp.Or(wf.Settings.Tracker.Config.Identifier("1"), "1")
	branch, err := git.BranchFor(r.Source.Prefix, workspace.Key(identifier))
	if err != nil {
		return err
	}
	warnings, err := r.Publisher.CheckRules(ctx, branch, !there.Branches[branch].IsZero())
	for _, text := range warnings {
		found.Warn("repository", text)
	}
	return err
}

// shownPath returns a path as a person would write it: relative to the current folder if it
// is below.
func shownPath(path string) string {
	folder, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
