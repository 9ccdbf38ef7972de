package workflow

import (
	"fmt"
	"math"
	"strings"

	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/delivery"
	"github.com/symphony-runner/symphony/runner/hosts"
	"github.com/symphony-runner/symphony/runner/identity"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/tracker"
)

// Key documents one key of WORKFLOW.md.
type Key struct {
	Name    string // section.key, or the name alone of a key outside of all sections
	Default string // the default as it would be written, or its source; empty for none
	Meaning string // one line
}

// Keys lists every key in the order of the reference (SPEC §6.4), with the defaults of
// these kinds of tracker.
func Keys(trackers []tracker.Kind) []Key {
	var keys []Key
	for _, e := range newDecoder(Env{Trackers: trackers}, "").table() {
		keys = append(keys, e.Key)
	}
	return keys
}

// entry is a row of the table: a key and the form of its value.
type entry struct {
	Key
	form
	decodeDefault bool // an absent key decodes as its Default does
}

// form describes the values of a key, to the program and to editors.
type form struct {
	decode func(value)
	schema object // it refuses only what decode rejects
}

// withDefault returns the entry of a key whose default is decoded when the key is
// absent.
func withDefault(name, def, meaning string, f form) entry {
	return entry{Key{name, def, meaning}, f, true}
}

// optional returns the entry of a key that is skipped when it is absent. A default
// that depends on other keys is set after all keys are read.
func optional(name, def, meaning string, f form) entry {
	return entry{Key{name, def, meaning}, f, false}
}

// table returns every key that WORKFLOW.md may have, bound to the settings of d.
func (d *decoder) table() []entry {
	s := &d.settings
	policy, budget, codex, hooks, setup := &s.Policy, &s.Policy.Budget, &s.Codex, &s.Workspace.Hooks, &s.Setup
	ident := &s.Identity
	repo, del, limits := &d.repository.repository, &s.Delivery, delivery.Defaults()
	return []entry{
		optional("tracker.kind", "", "the kind of tracker: "+strings.Join(kindNames(d.env.Trackers), ", ")+"; required", form{d.deferred, choiceSchema(kindNames(d.env.Trackers)...)}),
		optional("tracker.endpoint", d.defaultSetting("endpoint"), "the same as tracker.provider.endpoint", form{d.deferred, textSchema()}),
		optional("tracker.api_key", d.defaultSetting("api_key"), "the same as tracker.provider.api_key: $NAME, or the credential itself", form{d.deferred, textSchema()}),
		optional("tracker.project_slug", d.defaultSetting("project_slug"), "the same as tracker.provider.project_slug", form{d.deferred, textSchema()}),
		optional("tracker.assignee", d.defaultSetting("assignee"), "the same as tracker.provider.assignee", form{d.deferred, textSchema()}),
		optional("tracker.provider", "{}", "settings of the kind of tracker", form{d.tracker.providerMap, object{"type": "object"}}),
		optional("tracker.active_states", d.defaultStates(func(s tracker.States) []string { return s.Active }), "states an issue is worked on in; required where the kind has no default", d.states(&policy.ActiveStates, 1)),
		optional("tracker.terminal_states", d.defaultStates(func(s tracker.States) []string { return s.Terminal }), "states in which an issue is finished and its workspace is removed; required where the kind has no default", d.states(&policy.TerminalStates, 0)),
		optional("tracker.required_labels", "[]", "labels an issue must carry, all of them, to start and to go on", d.labels(&policy.RequiredLabels)),

		withDefault("polling.interval_ms", "30000", "time between two ticks, and between two reads of the tracker within a tick", d.millis(&s.Poll, 1)),

		optional("workspace.root", "<temp>/symphony_workspaces", "folder of the workspaces, a separate one for each project on a machine; ~ and $NAME are expanded, a relative one is taken from the folder of WORKFLOW.md; inside Actions <temp> is $RUNNER_TEMP; with worker.ssh_hosts a folder on each host, which expands it", form{d.workspaceRoot, textSchema()}),

		optional("repository.url", "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY", "where the files of the workspaces come from: an https URL, or a path, which may begin with ~ or $NAME; a relative one begins with a dot and is taken from the folder of WORKFLOW.md; by default the repository of the Actions job, or elsewhere that of origin in the checkout, if that is on GitHub (github.com, or the server that GITHUB_SERVER_URL names)", form{d.deferred, textSchema()}),
		optional("repository.base", "the remote's default branch", "branch on which the work begins, and which it is for", d.branch(&repo.Base)),
		optional("repository.token", "$GITHUB_TOKEN, for a URL on the GitHub it belongs to", "credential for the repository: $NAME, or the credential itself; only the program has it, no child process", form{d.deferred, textSchema()}),
		withDefault("repository.branch_prefix", "symphony/", "what the branch of an issue begins with; the issue's identifier follows", form{d.repository.branchPrefix, nonemptySchema()}),
		optional("repository.lfs", "false", "bring the contents of files in Git LFS into the workspaces, and deliver changed ones with their objects; without it they are pointers there", d.boolean(&repo.LFS)),
		optional("repository.submodules", "false", "whether submodules are in the workspaces, from the addresses that .gitmodules of the base branch has; changes inside them are not delivered; if not, their folders stay empty", d.boolean(&repo.Submodules)),
		optional("repository.paths", "[]", "folders of a large repository whose files are in a workspace, with those beside and above them; a file that a workspace does not have counts as unchanged; empty is every folder; needs git 2.36", d.folders(&repo.Paths)),

		optional("delivery.kind", "pull_request on GitHub, else branch", "where the work goes: pull_request, branch (of the repository), patch (files in delivery.folder) or none", d.word(func(word string) { del.Kind = DeliveryKind(word) }, string(KindPullRequest), string(KindBranch), string(KindPatch), string(KindNone))),
		withDefault("delivery.max_files", fmt.Sprint(limits.MaxFiles), "files that a delivery may change; one above this or the next four limits is refused", d.integer(&del.Policy.MaxFiles, 1)),
		withDefault("delivery.max_bytes", fmt.Sprint(limits.MaxBytes), "bytes of all files that it adds or changes", d.long(&del.Policy.MaxBytes, 1)),
		withDefault("delivery.max_commits", fmt.Sprint(limits.MaxCommits), "commits by the agent", d.integer(&del.Policy.MaxCommits, 1)),
		withDefault("delivery.max_binary_bytes", fmt.Sprint(limits.MaxBinary), "bytes of one binary file", d.long(&del.Policy.MaxBinary, 0)),
		withDefault("delivery.max_lfs_bytes", fmt.Sprint(limits.MaxLFS), "bytes of all files in Git LFS that it adds or changes, at most 1 GiB", d.number(1, maxLFSBytes, func(n int64) { del.Policy.MaxLFS = n })),
		optional("delivery.allowed", "[]", "patterns of the paths that a delivery may change; empty is every path", d.items(&del.Policy.Allowed, parseGlob)),
		optional("delivery.protected", "{}", "map from patterns to refuse, review, draft or allow: what happens to a delivery that changes such a path; the first that matches counts, and the built-in ones come after them", form{d.repository.protected, mapSchema(choiceSchema(protectionWords()...))}),
		withDefault("delivery.tokens", string(limits.Tokens), "the same for a text that looks like a token or a private key; a secret of the run is always refused", d.protection(&del.Policy.Tokens)),
		withDefault("delivery.history", "squash", "squash publishes one commit, keep the agent's own commits, each checked like the work itself: their messages mention people and close issues as it likes", d.word(func(word string) { del.KeepHistory = word == "keep" }, "squash", "keep")),
		withDefault("delivery.commits", "git", "git, or verified: GitHub makes the commit and signs it, for the token of a job or of an App; only with delivery.history squash", d.word(func(word string) { del.Verified = word == "verified" }, "git", "verified")),
		optional("delivery.verify", "", "shell command, or a list of them, that checks a clean checkout of the work in the sandbox before it is published; its failure goes back to the agent", d.commands(&del.Verify)),
		withDefault("delivery.verify_rounds", "2", "turns in which the agent may fix work that fails delivery.verify; after them it is published, and a pull request is a draft that says so", d.integer(&del.VerifyRounds, 0)),
		withDefault("delivery.verify_timeout_ms", "600000", "time that delivery.verify may take", d.millis(&del.VerifyTimeout, 1)),
		withDefault("delivery.review", "none", "second look at the work by a model before it is published, without tools that write: none, fresh (it knows the issue and the work) or fork (it knows the agent's conversation too, and costs its length again); each look costs the tokens of one turn, which count as the issue's", d.word(func(word string) { del.Review = Review(word) }, string(ReviewNone), string(ReviewFresh), string(ReviewFork))),
		withDefault("delivery.review_rounds", "2", "how often severe findings of delivery.review go back to the agent; after that they are listed in the pull request", d.integer(&del.ReviewRounds, 0)),
		withDefault("delivery.review_timeout_ms", "600000", "time that one look may take; one that fails or takes longer holds nothing back and is reported", d.millis(&del.ReviewTimeout, 1)),
		optional("delivery.review_prompt", "", "file with the rules of the review, in place of the program's own; a relative path is taken from the folder of WORKFLOW.md; the issue and the place of the work follow it in the prompt", form{d.repository.reviewPrompt, nonemptySchema()}),
		optional("delivery.review_model", "", "model of the review; empty for the model of the session", d.text(&s.Codex.Review.Model)),
		optional("delivery.review_effort", "", "reasoning effort of the review; empty for the session's, or with delivery.review_model for the model's own", d.text(&s.Codex.Review.Effort)),
		optional("delivery.folder", ".symphony/patches", "folder for the patches of kind patch; kind branch writes patches too if it is written; ~ and $NAME are expanded, a relative one is taken from the folder of WORKFLOW.md", form{d.repository.folder, nonemptySchema()}),
		optional("delivery.max_open", "", "open pull requests of the program, and issues in progress that may open one, from which on no new issue starts; feedback on open ones goes on", d.number(1, schedule.MaxOpenLimit, func(n int64) { policy.MaxOpen = int(n) })),
		optional("delivery.max_open_by_label", "{}", "the same for issues with a label, such as {risky: 1}; an issue counts under each of its labels", d.openByLabel(&policy.MaxOpenByLabel)),
		optional("delivery.draft", "false", "open pull requests as drafts", d.boolean(&del.Draft)),
		optional("delivery.labels", "[]", "labels of pull requests", d.strings(&del.Labels)),
		optional("delivery.reviewers", "[]", "logins, and teams as owner/team, that are asked to review pull requests", d.strings(&del.Reviewers)),
		optional("delivery.assignees", "[]", "logins that pull requests are assigned to", d.strings(&del.Assignees)),
		optional("delivery.hand_over", "", "change of the issue when its work is published: {state: …}, or {remove_label: …} for one of tracker.required_labels", form{d.repository.handOver, handOverSchema()}),

		optional("delivery.merged_state", "closed for github, else Done or the first of tracker.terminal_states", "state of an issue whose pull request was merged, if it is not in a terminal state by then; one of tracker.terminal_states", d.text(&del.MergedState)),

		withDefault("feedback.max_rounds", "5", "sessions in a row on what people say about a delivery before the issue is parked; 0 starts none", d.integer(&policy.MaxRounds, 0)),
		withDefault("feedback.max_check_rounds", "3", "sessions in a row on failed checks and conflicts alone before the issue is parked; 0 starts none", d.integer(&policy.MaxCheckRounds, 0)),
		optional("feedback.bots", "[]", "logins of bots whose comments and failed checks count like those of people with write access; their commands do not", d.strings(&s.Feedback.Bots)),
		withDefault("feedback.label", "needs-human", "label of an issue that is parked, taken off when it goes on; empty for none", d.text(&s.Feedback.Label)),

		optional("worker.ssh_hosts", "[]", "hosts on which sessions run, as ssh takes them: [USER@]HOST[:PORT]; at most 200; no session runs on this machine then; see Worker hosts", d.workerHosts(&s.Worker.Hosts)),
		optional("worker.max_concurrent_agents_per_host", "", "sessions at once on each of these hosts", d.integer(&s.Worker.PerHost, 1)),

		optional("hooks.after_create", "", "script run in a new workspace; failure gives the workspace up", d.text(&hooks.AfterCreate)),
		optional("hooks.before_run", "", "script run before each attempt; failure ends the attempt", d.text(&hooks.BeforeRun)),
		optional("hooks.after_run", "", "script run after each attempt; failure is reported and changes nothing else", d.text(&hooks.AfterRun)),
		optional("hooks.before_remove", "", "script run before a workspace is removed; failure is reported and changes nothing else", d.text(&hooks.BeforeRemove)),
		withDefault("hooks.timeout_ms", defaultHookTimeout, "time each hook may take; an invalid value falls back to the default", form{d.hookTimeout, object{}}),
		optional("hooks.env", "[]", "names of environment variables that hooks see besides the plain ones", d.items(&hooks.Env, parseVariable)),
		optional("hooks.network", "[]", "hosts that hooks in the sandbox reach, with GET, HEAD and OPTIONS alone: names of hosts, and of the sets "+strings.Join(hosts.Sets(), ", ")+", which are the public registries of an ecosystem", d.hosts(&s.HookNetwork.Hosts)),
		optional("hooks.sandboxed", "true with repository, else false", "run hooks in the agent's sandbox, where they see the variables that both hooks.env and codex.env name; false needs hooks.trusted", d.boolean(&s.SandboxHooks)),
		optional("hooks.trusted", "false", "with repository: hooks may run outside the sandbox in a folder where an agent has worked; before_remove always does", d.boolean(&s.TrustHooks)),

		optional("setup.run", "", "shell script that prepares the project, such as npm ci: it runs in the sandbox on a clean checkout of the base, before any agent, once for the files of setup.inputs; each workspace gets a copy of what it made", d.text(&setup.Run)),
		optional("setup.update", "", "shell script that changes lock files to what manifests say, such as npm install --package-lock-only: the agent's tool setup runs it before setup.run, as setup.for_agent says; where it is missing, an agent can add no library to a project whose setup.run leaves lock files as they are", d.text(&setup.Update)),
		optional("setup.network", "[]", "hosts that setup.run reaches, as hooks.network has them", d.hosts(&s.SetupNetwork.Hosts)),
		optional("setup.network_private", "false", "hosts of setup.network may have private addresses, such as a company's mirror", d.boolean(&s.SetupNetwork.Private)),
		withDefault("setup.network_mode", "limited", "limited lets setup.run send GET and HEAD alone, which takes a certificate of this program's own; full opens a tunnel for anything to these hosts, for tools that do not take the certificate", d.word(func(word string) { s.SetupNetwork.Full = word == "full" }, "limited", "full")),
		optional("setup.env", "[]", "names of environment variables that setup.run sees besides the plain ones, and no agent", d.items(&setup.Env, parseVariable)),
		optional("setup.inputs", "the known manifests and lock files", "patterns of files of the base: setup.run runs again when one of them has changed; if there is none, when any file has", d.items(&setup.Inputs, parseGlob)),
		optional("setup.keep", "all that git ignores", "files and folders of the checkout that workspaces get a copy of; the caches in the room's home are always copied", d.items(&setup.Keep, parseKept)),
		withDefault("setup.timeout_ms", "1200000", "time that setup.run may take", d.millis(&setup.Timeout, 1)),
		withDefault("setup.for_agent", "offline", "how the agent's tool setup, and the check of work that changes setup.inputs, run setup.run: offline, or with the hosts of setup.network; never with setup.env", d.word(func(word string) { setup.Online = word == "network" }, "offline", "network")),

		optional("sandbox.loopback", "true on Linux, else false", "give each command of the agent, each hook in the sandbox and delivery.verify a loopback of its own, so that tests can start servers; nothing else can be reached; without it no command can open a socket", d.boolean(&s.Loopback)),
		optional("sandbox.unix_sockets", "false", "let them open Unix sockets of their own; those of this machine that are found when a session starts are denied, and all of /tmp; one that is made later elsewhere can be reached; needs sandbox.loopback", d.boolean(&s.UnixSockets)),

		optional("services", "[]", "ports of this machine, as localhost:5432, that the agent's commands, hooks in the sandbox, delivery.verify and setup.run reach on their own loopback, at most 16; they can do there whatever the service lets a client do; with worker.ssh_hosts ports of the host of the session", d.services(&s.Services)),

		withDefault("agent.max_concurrent_agents", "10", "sessions at once, not counting those of a fleet", d.integer(&policy.MaxConcurrent, 1)),
		withDefault("agent.max_turns", "20", "turns of one session", d.integer(&s.MaxTurns, 1)),
		withDefault("agent.max_retry_backoff_ms", "300000", "longest wait between two failures", d.millis(&policy.MaxBackoff, 1)),
		optional("agent.max_concurrent_agents_by_state", "{}", "sessions at once for issues of one state; invalid entries are ignored", d.byState(&policy.MaxPerState)),
		optional("agent.max_issues_per_tick", "agent.max_concurrent_agents", "sessions started in one tick", d.integer(&policy.MaxPerTick, 1)),
		optional("agent.runs_on", "{}", "map from labels of issues to the label, or the list of labels, of the runner that works on them in a fleet; of several the first in alphabetical order counts; other issues take the workflow's own", d.runsOn(&s.RunsOn)),

		withDefault("budget.max_attempts_per_issue", "10", "failures in a row before an issue is parked; 0 is unlimited", d.integer(&budget.Attempts, 0)),
		withDefault("budget.max_idle_sessions", "3", "sessions in a row that change nothing before an issue is parked; 0 is unlimited", d.integer(&budget.IdleSessions, 0)),
		withDefault("budget.max_tokens_per_issue", "0", "tokens an issue may use over all runs; 0 is unlimited", d.long(&budget.TokensPerIssue, 0)),
		withDefault("budget.max_tokens_per_tick", "0", "tokens a tick may use; 0 is unlimited", d.long(&budget.TokensPerTick, 0)),
		withDefault("budget.max_tokens_per_day", "0", "tokens a day of UTC may use; 0 is unlimited", d.long(&budget.TokensPerDay, 0)),
		withDefault("budget.max_usd_per_issue", "0", "US dollars an issue may cost over all runs, by budget.prices; 0 is unlimited", d.dollars(&budget.USDPerIssue)),
		withDefault("budget.max_usd_per_tick", "0", "US dollars a tick may cost; 0 is unlimited", d.dollars(&budget.USDPerTick)),
		withDefault("budget.max_usd_per_day", "0", "US dollars a day of UTC may cost; 0 is unlimited", d.dollars(&budget.USDPerDay)),
		optional("budget.prices", "{}", "map from models to their prices in US dollars for a million tokens: input, cached_input, cache_write, output; long_context with the same and above, the input tokens of a response from which they hold; tiers, a map from service tiers to factors; a model that is not in it has an unknown price, which is never 0", d.prices(&budget.Prices)),

		withDefault("codex.command", "codex app-server", "shell command of the agent, run in the workspace of an issue, where a relative path begins", d.command(&codex.Command)),
		optional("codex.endpoint", "", "address of an app-server on this machine that runs already, in place of codex.command: ws://HOST:PORT, wss://HOST:PORT or unix:///PATH; see An app-server that runs already", parsedText(d.forms, &codex.Endpoint.Address, endpoint.Parse)),
		optional("codex.endpoint_token", "", "its token, the name of an environment variable such as $CODEX_ENDPOINT_TOKEN; it is sent over wss:// or to this machine alone", form{d.deferred, textSchema()}),
		optional("codex.approval_policy", "", "Codex's AskForApproval, passed on as it is", d.jsonValue(&codex.ApprovalPolicy)),
		optional("codex.thread_sandbox", "", "Codex's SandboxMode, passed on as it is", d.jsonValue(&codex.ThreadSandbox)),
		optional("codex.turn_sandbox_policy", "", "Codex's SandboxPolicy, a map, passed on as it is", d.jsonMap(&codex.TurnSandboxPolicy)),
		optional("codex.model", "Codex's own", "model of the threads", d.text(&codex.Model)),
		optional("codex.effort", "Codex's own", "reasoning effort of the turns", d.text(&codex.Effort)),
		optional("codex.service_tier", "Codex's own", "service tier of the threads: default, flex, or one that the model has, such as priority, which is also called fast", d.serviceTier(&codex.ServiceTier)),
		optional("codex.by_label", "{}", "map from labels of issues to model, effort and service_tier, such as {hard: {model: gpt-6-sol, effort: high}, docs: {effort: low}}; of several labels the first in this list counts; what its entry leaves out is as in codex.model, codex.effort and codex.service_tier", d.modelsByLabel(&codex.ByLabel)),
		optional("codex.images", "true", "give the model the pictures of the issue, of its comments and, on Linear, of its attachments: PNG, JPEG and GIF, at most 10 of 5 MB and 25 megapixels, 20 MB in all, which the tracker keeps itself; for a model that takes none they are left out, and what is left out is named in the prompt and the report", d.boolean(&s.Images)),
		withDefault("codex.turn_timeout_ms", "3600000", "time a turn may take in all", d.millis(&codex.TurnTimeout, 1)),
		withDefault("codex.read_timeout_ms", "5000", "time an answer to one request may take", d.millis(&codex.ReadTimeout, 1)),
		withDefault("codex.stall_timeout_ms", "300000", "silence in a turn after which a session is stopped; 0 or less is never", d.millis(&codex.StallTimeout, -maxMillis)),
		withDefault("codex.max_tool_calls", "200", "calls of the tracker's tools that a session may make; more are refused", d.integer(&codex.MaxToolCalls, 1)),
		optional("codex.env", "[]", "names of environment variables that the agent sees besides the plain ones", d.items(&codex.Env, parseVariable)),
		withDefault("codex.max_processes", "16384", "processes and threads that the user of this program may have while a session starts another; the superuser has no such bound; 0 is unlimited", d.integer(&s.Workspace.Limits.Processes, 0)),
		withDefault("codex.max_open_files", "65536", "files that one process of a session may have open; 0 is unlimited", d.integer(&s.Workspace.Limits.OpenFiles, 0)),
		optional("codex.max_memory_mb", "three quarters of the machine's memory, or of the container's", "memory that one process of a session may allocate, in MiB (Linux); when the machine has none left, processes of sessions end first; the default is a soft limit, which a command that reserves more than it uses, such as a test with an address sanitizer, can raise (ulimit -d unlimited); 0 is unlimited", d.integer(&s.Workspace.Limits.Memory, 0)),
		optional("codex.network", "[]", "hosts that the agent's commands and delivery.verify reach, as hooks.network has them; what the agent reads can leave by the path of a request to one of them", d.hosts(&s.Network.Hosts)),
		optional("codex.deny", "[]", "files and folders that the agent may not read, besides those that the guard denies; ~ and $NAME are expanded, a relative one is taken from the folder of WORKFLOW.md; what Codex itself runs stays readable", d.items(&codex.Deny, d.deniedPath)),

		optional("notify.destinations", "[]", "where people are told of changes, at most 10 places with kind, url and events; see Notices", d.destinations(&s.Notify)),
		withDefault("notify.quiet_days", "7", "days without a session that ended well after which the event nothing_worked is told, once", d.number(1, 365, func(n int64) { s.Notify.QuietDays = int(n) })),
		optional("identity.audience", "https://api.openai.com/v1 with openai-identity-provider", "audience of the identity token of a job of Actions, which the model's provider expects", d.text(&ident.Audience)),
		optional("identity.token_url", "https://auth.openai.com/oauth/token with openai-identity-provider", "token endpoint where the job exchanges its identity token for one that Codex sends to the model, at OPENAI_BASE_URL; in place of an API key, in jobs of Actions on Linux with the permission id-token: write; the section takes effect at the start of the program", parsedText(d.forms, &ident.TokenURL, parseTokenURL)),
		optional("identity.grant", "token-exchange", "form of the exchange: token-exchange (RFC 8693) or jwt-bearer (RFC 7523)", d.word(func(word string) { ident.Grant = word }, identity.TokenExchange, identity.JWTBearer)),
		optional("identity.body", "json with openai-identity-provider, else form", "how its fields are sent: form or json", d.word(func(word string) { ident.Body = word }, identity.FormBody, identity.JSONBody)),
		optional("identity.fields", "{}", "map of further fields of the exchange, such as client_id or scope; none of them may be a secret", d.exchangeFields(&ident.Fields)),
		optional("identity.command", "", "shell command that prints a token for the model, in place of the exchange; it runs in the folder of WORKFLOW.md with the environment and the rights of this program, not in the sandbox, again and again while sessions work", d.text(&ident.Command)),
		optional("telemetry.otlp", "false", "send traces and metrics to an OpenTelemetry collector over OTLP/HTTP, where the standard variables OTEL_EXPORTER_OTLP_* say; without it those variables change nothing", d.boolean(&s.Telemetry)),

		optional("server.port", "", "port of the status page on 127.0.0.1; 0 is any free one; off when absent; a change needs a restart", d.number(0, math.MaxUint16, func(n int64) { s.Port = new(int(n)) })),
	}
}

// defaultSetting returns the default of a setting in each kind of tracker that has
// one.
func (d *decoder) defaultSetting(name string) string {
	return d.perKind(func(cfg tracker.Config) string {
		for _, s := range cfg.Settings() {
			if s.Name == name && len(s.Defaults) > 0 {
				return fmt.Sprint(s.Defaults[0])
			}
		}
		return ""
	})
}

// defaultStates returns the default of a list of states in each kind of tracker.
func (d *decoder) defaultStates(list func(tracker.States) []string) string {
	return d.perKind(func(cfg tracker.Config) string {
		return "[" + strings.Join(list(cfg.States()), ", ") + "]"
	})
}

// perKind returns the texts of all kinds of tracker, each followed by the names of the
// kinds that have it.
func (d *decoder) perKind(text func(tracker.Config) string) string {
	var texts []string
	kinds := make(map[string][]string)
	for _, k := range d.env.Trackers {
		t := text(k.New())
		if t == "" {
			continue
		}
		if kinds[t] == nil {
			texts = append(texts, t)
		}
		kinds[t] = append(kinds[t], k.Name)
	}
	for i, t := range texts {
		texts[i] = t + " (" + strings.Join(kinds[t], ", ") + ")"
	}
	return strings.Join(texts, "; ")
}
