// Package runner performs the orchestrator's tick. This page is also the tour of
// the program: read the packages in this order.
//
// # From the bottom up
//
// tracker defines what the program needs from an issue tracker: issues, two ways to
// read them, and tools for the agent. The packages below it are the adapters;
// internal/transport sends every request that carries a credential, and
// tracker/github/client makes every request to GitHub.
//
// codex talks to the agent over any io.ReadWriteCloser: it opens a thread, runs
// turns on it, answers every request of the server, and counts tokens. It cannot
// start a process.
//
// workspace is the only package that starts processes for an issue, and only in
// the issue's own folder. It also runs the hooks there, and ensures that nothing
// keeps running.
//
// These three never import each other. They share only internal/text, which makes
// text from outside fit for errors and logs. Beside them stands workspace/git, the only
// package that starts git: in repositories of the host, never in one that an agent can
// write.
//
// Above them are five pure or nearly pure packages: workflow turns WORKFLOW.md into
// settings, prompt turns an issue into text, schedule decides what should happen now,
// delivery decides what an agent's work may change, report turns what happened into
// text and JSON. Beside them transcript shows what a session did, also while it runs.
// store keeps claims between runs, publish brings work to a branch and a pull request, for which
// receipt writes the facts, and attempt makes one run attempt: it composes workspace, prompt and
// codex, and turns whatever happens into an outcome that schedule understands.
//
// The work of a run at one moment is a progress.Progress. The runner fills it, and the
// packages terminal and statuspage show it. runlog writes the log beside a display, or shows
// the work of the sessions in a plain log.
//
// A tick can be spread over many machines, which is called a fleet: a plan, its shards, and
// collect. Package fleet explains these words, and has the files that the three hand to each
// other. Sessions of any tick can run on other machines: package worker is this program at both
// ends of a connection, which worker/ssh opens.
//
// Comments of people and results of checks come back by feedback: it reads them, finds the part
// that nobody has answered, which is pure, and answers it. pictures takes what issues and comments
// show to the model. secondlook has what a model is asked that reads work before people do.
//
// Before the first tick, scaffold writes the WORKFLOW.md of a new project, and the workflow of
// Actions that runs it, and validation reports the findings of its checks. lookup finds the
// issue that a person means by a name, demo has a sample project, and trial plays the path of
// an issue in a repository. setup keeps what the preparation of a project has made, room has the
// variables of the agent's commands, hosts the sets of hosts that they may reach, and action
// speaks to GitHub Actions. identity gets the tokens with which sessions reach the model in place
// of a key. notify makes the notices for Slack and others, and sends them. telemetry tells
// OpenTelemetry and Prometheus what a run does.
//
// # One tick
//
//	open   Workflows.Current, Connect, Store.Load; adopt the claims of dead runs
//	┌─ round  reload WORKFLOW.md; at a poll: read the state again and adopt, read the claims, and what was
//	│         said about the issues with a claim or a delivery, clean up once, list the candidates
//	│         plan    schedule.Plan; first read again the issues that would start on old knowledge,
//	│                 and a list of candidates that is older than a poll
//	│                 before the first session: fetch the repository, if there is one
//	│         commit  Apply, then Store.Save: claims are durable BEFORE any effect;
//	│                 if another run saved first: load, apply our exits, distrust all
//	│                 that was read, plan again
//	│         perform start and stop sessions, remove workspaces, finish what was merged
//	│         answer  answer commands, and tell people that an issue waits for them; tell the
//	│                 destinations of notices what the save has noted
//	└─ wait   a session's update or exit, the poll timer, schedule's Wake, the deadline, a signal,
//	          a request of the status page, a change of WORKFLOW.md, at which it looks every second
//	until nothing runs and nothing falls due soon; then save and report
//
// Meanwhile a session that publishes its work asks the loop to save the state, pushes, opens the
// pull request and hands the issue over.
//
// # The parts of a run
//
// The loop has the plan and what is done about it: loop.go, poll.go, reconcile.go, for its
// sessions sessions.go and steer.go, and record.go for the report. collect.go and dry_run.go start it
// otherwise. Everything else is a part with its own state and methods. A part knows the core, which all
// share, and the parts that it is given, and never the loop. Its work beside the loop is a task; the
// loop calls what a task or a session sends as its end (tasks.go).
//
//	core           core.go          the workflow in force, the state with what is unsaved, the next poll,
//	                                remarks (remarks.go) and tasks in the background (tasks.go)
//	keeper         persist.go       loads the state and saves it; changes that are not saved yet
//	outlook        outlook.go       the policy with all limits, and the snapshot for a plan
//	settings       settings.go      reads WORKFLOW.md again, and connects what it names
//	setupDigest    setup_digest.go  what sessions work with, so that a pause ends when it changes
//	issueReader    issue_reader.go  reads the tracker, bounded by its rate limit (rate_limit.go)
//	conversations  conversation.go  reads what people and checks say, and answers (conversation_posts.go)
//	orders         order.go         commands of people that are no comments
//	owners         adopt.go         which other owners of claims are alive
//	files          repository.go    the repository, fetched once a tick; deliver.go publishes from it
//	cleaner        cleanup.go       removes workspaces
//	pauseTest      cause.go         tests whether the cause of a pause is over
//	sessions       running.go       the sessions in progress
//	eventLogs      event_logs.go    their logs
//	display        progress.go      what people see of a run in progress
//	account        account.go       the report of the tick, which the loop completes
//	collector      collector.go     settles the results of a fleet
//	notifier       notifier.go      tells the destinations of WORKFLOW.md what has changed
//	fleetPart      fleet.go         what makes the run the plan or a shard of a fleet
//
// A change of the state by a part is a [schedule.Change], which is made again if another run
// saves first.
//
// # How the loop works
//
// The loop is level-triggered: it plans from the current state (the claims, and a
// cache of issues that every read and every exit updates), never from events, so a
// missed event only costs time. Without Once the same loop runs forever. One
// goroutine owns all state; sessions send to its inbox, and updates that arrive
// while it is busy are merged, so neither waits for the other. While sessions run, two
// rounds begin at least 20 ms apart, so that one save serves all sessions that end in
// this time.
//
// # A fleet
//
// "symphony --once" plans, performs the sessions and applies their ends in one process. The
// three parts of a fleet's tick (symphony plan, work and collect) do it with the same loop:
//
//	plan     Runner.Fleet is set and Assign is called. In place of starting sessions, the
//	         loop gives their claims to shards, in one save, and ends.
//	shard    Runner.Shards is set and Run is called. The Store holds the slice of the shard.
//	         The loop starts each claim of it once, and neither lists candidates nor adopts
//	         claims nor cleans up.
//	collect  Collect is called. It settles the results, adopts the claims of shards without
//	         one, saves once and reports. If it never ran, a later run settles the results
//	         (adopt.go).
//
// A claim of a shard is a running claim of another owner to every other run.
//
// # Sessions and their claims
//
// A session has a claim with its number in the state, and no other session runs on its issue.
// A state that is read may no longer have the claim: another run took it, or the state was
// removed or is an older one, which the stores refuse. Then the session is stopped. Until it
// has ended no plan touches its issue, it takes a slot, and its end changes no claim.
//
// Every wait for something stopped has a bound, which a second interruption shortens to a few
// seconds. Sessions that have not ended by then keep their claims, and the next run adopts
// them.
//
// What the runner never does: decide (that is schedule), format (report), touch
// a workspace or a process (workspace), or know which tracker it reads.
package runner
