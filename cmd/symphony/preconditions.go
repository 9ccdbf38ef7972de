package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner/action"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/prompt"
	"github.com/symphony-runner/symphony/runner/workflow"
)

// checkPreconditions returns an error for a tick that must not run, or whose settings
// contradict each other, before anything is touched. Inside Actions it also applies the
// settings of the job's own workflow file.
func (x *tickRun) checkPreconditions() error {
	if err := prompt.Check(x.wf.Prompt, x.wf.PromptLine); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(x.wf.Path), err)
	}
	if isFleet := x.bind != nil || x.store != nil; isFleet && len(x.wf.Settings.Worker.Hosts) > 0 {
		return fmt.Errorf("%w: %s names worker.ssh_hosts, and the sessions of a fleet run on its own machines: remove the key, or run a tick that is not a fleet's",
			wiring.ErrUsage, filepath.Base(x.wf.Path))
	}
	policy, allows := x.wf.Settings.Policy, "agent.max_issues_per_tick of "+filepath.Base(x.wf.Path)+" allows"
	if x.bind != nil {
		policy = x.bind(policy)
		if policy.MaxPerTick == 0 {
			allows = x.Option("shards") + " and " + x.Option("shard-slots") + " allow"
		}
	}
	if most := policy.PerTick(); x.maxIssues > most {
		return fmt.Errorf("%w: %s %d is more than the %d that %s: lower the one or raise the other",
			wiring.ErrUsage, x.Option("max-issues"), x.maxIssues, most, allows)
	}
	if err := x.checkPlaces(); err != nil {
		return err
	}
	if err := x.gitHub().CheckApp(x.wf); err != nil {
		return err
	}
	if !x.Actions.InActions() {
		return nil
	}
	event, err := x.Actions.Event()
	if refused := action.Refuse(event); refused != nil {
		return refused
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(x.statePlace().CheckBranch(event), checkTrackerKey(x.Process, x.wf)); err != nil {
		return err
	}
	if !x.noLogin {
		if err := checkLogin(x.Process, x.wf); err != nil {
			return err
		}
	}
	x.event = event
	return x.useJob(event)
}

// useJob takes the default deadline from timeout-minutes of the job we run in,
// and warns where the state needs a concurrency group that is missing. A
// workflow file that cannot be read changes neither.
func (x *tickRun) useJob(event action.Event) error {
	job, err := x.Actions.Job(event)
	if err != nil {
		if x.deadline == 0 && !x.noLogin { // a part without sessions needs none
			x.warn(fmt.Sprintf("no deadline, because the job's timeout-minutes is not known: set %s to less than it: %v", x.Option("deadline"), err))
		}
		return nil
	}
	if strings.HasPrefix(x.app.state, "cache:") && !job.InConcurrencyGroup {
		x.warn(fmt.Sprintf(
			"the state is in the cache, and %s has no concurrency group that all its runs share: two at once may work on the same issue: add `concurrency: symphony`, or keep the state on a branch", event.File))
	}
	switch {
	case job.Timeout == 0:
		return nil
	case x.deadline >= job.Timeout:
		return fmt.Errorf("%w: %s %v is not before the end of the job, whose timeout-minutes are %v: raise those, or leave the deadline out", wiring.ErrUsage, x.Option("deadline"), x.deadline, job.Timeout)
	case x.deadline == 0:
		x.deadline = job.TimeLeft(event.Began, time.Now())
	}
	return nil
}

// checkTrackerKey returns an error for a tracker's key that WORKFLOW.md does not use:
// its author expects it to be used.
func checkTrackerKey(p wiring.Process, wf workflow.Workflow) error {
	key := p.Value("LINEAR_API_KEY")
	if key == "" || slices.Contains(wf.Settings.Tracker.Credentials, key) {
		return nil
	}
	if wf.Settings.Tracker.Kind != "linear" {
		return fmt.Errorf("%w: linear-api-key is set, and %s has tracker.kind %s: remove the one or change the other",
			wiring.ErrUsage, filepath.Base(wf.Path), wf.Settings.Tracker.Kind)
	}
	return fmt.Errorf("%w: linear-api-key is set, and tracker.api_key of %s names another key: remove one of them", wiring.ErrUsage, filepath.Base(wf.Path))
}

// ownProvider matches the options that give Codex a provider of its own on the command line,
// which takes a key from codex.env or none at all. Codex itself reports a missing key, before
// the first turn.
var ownProvider = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bmodel_provider|\bopenai_base_url|(^|\s)--(oss|profile)\b|(^|\s)-p\b`)
})

// checkLogin returns an error when Codex has no way to log in, as in a fork, where
// every secret is empty.
func checkLogin(p wiring.Process, wf workflow.Workflow) error {
	command := wf.Settings.Codex.Command
	config, err := p.Identity(wf)
	if err != nil {
		return err
	}
	if config.TokenURL != "" || config.Command != "" {
		return checkIdentity(p, wf)
	}
	if wf.Settings.Codex.Endpoint.Address != "" || len(wf.Settings.Worker.Hosts) > 0 || filepath.Base(shell.Program(command)) != "codex" || p.ModelKey() != "" || ownProvider().MatchString(command) {
		return nil
	}
	home := p.CodexHome()
	for _, name := range wiring.LoginFiles {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: Codex has no login: set the input openai-identity-provider or openai-api-key (in a fork every secret is empty), name a provider with -c model_provider in codex.command, or log in at %s", wiring.ErrUsage, home)
}

// checkIdentity returns an error for settings with which no session would get a token, or would
// not use it.
func checkIdentity(p wiring.Process, wf workflow.Workflow) error {
	const instead = "sessions get tokens for the model by the inputs or the section identity"
	switch {
	case len(wf.Settings.Worker.Hosts) > 0:
		return fmt.Errorf("%w: %s, which do not go to the hosts of worker.ssh_hosts: use an API key, or log in to Codex on the hosts", wiring.ErrUsage, instead)
	case wf.Settings.Codex.Endpoint.Address != "":
		return fmt.Errorf("%w: %s, and the app-server of codex.endpoint has a login of its own: remove one of the two", wiring.ErrUsage, instead)
	case p.ModelKey() != "":
		return fmt.Errorf("%w: %s, and there is an API key too: remove openai-api-key, or OPENAI_API_KEY and CODEX_API_KEY from the env", wiring.ErrUsage, instead)
	case ownProvider().MatchString(wf.Settings.Codex.Command):
		return fmt.Errorf("%w: %s, and codex.command names a provider of its own: remove one of the two", wiring.ErrUsage, instead)
	case !wf.Settings.Codex.IsGuarded():
		return fmt.Errorf("%w: %s, and the agent could get them: remove codex.thread_sandbox, codex.turn_sandbox_policy and codex.approval_policy, or use an API key", wiring.ErrUsage, instead)
	case wf.Settings.Identity.Command != "":
		return nil
	case p.IdentityOfJob() == identity.Job{}:
		return fmt.Errorf("%w: %s, and this job may have no identity token: add `id-token: write` to its permissions, beside those that it has", wiring.ErrUsage, instead)
	}
	return nil
}
