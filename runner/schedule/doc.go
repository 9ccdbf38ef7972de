// Package schedule decides what should happen now. It is pure: it has no I/O, no
// clock and no goroutine, and the same input gives the same output. The runner
// calls it, performs its decisions, and reports the results back.
//
// # The claim map
//
// [State] holds one [Claim] per issue that a session works on, will work on
// again, or that is parked. A claim is in one of four phases, so the specification's "claimed =
// running or retrying" (SPEC §7.1) holds by construction:
//
//	unclaimed ──Dispatch──▶ running ──Stop──▶ stopping ──exit, released─▶ unclaimed
//	    ▲                    │   │ exit          │ exit, to be retried
//	    │        input needed│   ▼               ▼
//	    │        budget spent│  waiting ◀────────┘     waiting ──due, eligible, room: Dispatch──▶ running
//	    │        no progress ▼   ↺ due, but no room: it stays due
//	    └──Release────────── parked ──Free──▶ waiting     a person says something or gives a command,
//	                                     or changes an issue of which words would be lost
//	                                     released when somebody changes the issue, it leaves the
//	                                     active states, or an operator says so
//
// A session that is being stopped keeps its slot until its processes have ended:
// this is the phase "stopping".
//
// Its parts can be understood alone: [Issues] has the claims, deliveries and conversations of issues,
// [Spending] the tokens and budgets, and [Records] what no plan depends on.
//
// # Planning
//
// [Plan] makes three ordered passes: reconcile the running claims (SPEC
// §8.5), settle the waiting and parked ones, start new issues (SPEC §8.2). It returns decisions
// and changes nothing; [State.Apply] writes a decision into the state. The
// caller saves the state before it performs any effect, so that a claim is
// durable before an agent starts. Planning again on the result, with the same
// knowledge and time, decides nothing more.
//
// The planner makes the passes. What it asks on the way are parts: the eligibility of issues, the room
// for sessions, the talks about issues after the decisions so far, the open pull requests.
//
// A claim that is due stays as it is while there is no room or its issue cannot
// be read: since it is due, it goes first when there is room. So the requeue of
// the specification (SPEC §8.4) needs no action, and [Explain] names the condition that the
// claim waits for.
//
// A failure that every issue shares is systemic: it is charged to none, and pauses
// everything. Its [Cause] decides how the pause can end before its time: by another [Setup],
// by a test of the cause that passes ([State.TestPassed]), or by a person. The end of a pause frees
// the claims that earlier ticks charged for the same fault.
//
// A person who writes resume ends a pause of everything. Whether somebody does so is known
// only when the plan is made, so it is then made again without the pause.
//
// All other changes of a claim are made by [State.Heartbeat] (a session sent an
// update), [State.Reclassify] and [State.Exit] (a session ended), [State.Adopt]
// (its owner died), and [Issues.Retry], [Issues.Release] and [State.Resume] (an
// operator asked for it). For a fleet there are [State.Settle] and [State.Unstart].
//
// A [Delivery] is the place where the work on an issue was published. It outlives the claim, and
// is written by [Issues.Deliver] before and after each push.
//
// # Worker hosts
//
// With [Policy].Hosts no session runs on this machine. A plan gives each Dispatch its host: the host
// of the last session on the issue, where its workspace and thread are, else the one with the
// fewest sessions that has a free slot. On another host than before the session begins a new
// thread ([State.Apply]), and the claim remembers where workspaces are left.
//
// A host that fails is no fault of the issue. The session ends as [HostLost], which charges
// nothing; so do the failures of a machine on which no session can start. The host is left
// alone for a time that grows with each failure ([State].Hosts). After it one session at a time
// tries the host, until one has a sign of life.
//
// The agent on a host that is cut off works on until the host notices that. So nothing at all is
// decided about the issue before [Claim].LostUntil: no two agents ever work on it.
//
// # A fleet
//
// A [Fleet] is a tick in three parts: plan, then work in each shard, then collect. Shards
// are processes that have no access to the state, and the sessions of the plan are spread
// over them. All parts use the functions of an ordinary run, which is plan and work in one
// process. Package fleet explains the words.
//
//	plan     Plan, Spread, Apply, one save    each claim runs with its shard as [Owner]
//	work     Slice, Plan, Apply, Exit         the claims of one shard, as if nobody had started them
//	collect  Settle, Adopt, one save          a result for each shard, or none
//
// Any of them can be killed at any step, and GitHub can run any of them again. These rules
// make that harmless:
//
//   - A plan claims all its issues in one save. The owner of a claim is the run, its attempt
//     and the shard. No two plans have the same owners, so owner and issue together identify
//     one session. A number kept in the claim would not: it begins again when the issue is
//     claimed again.
//   - A shard works only in the attempt of the run in which its plan was made. In a later
//     attempt its claims may have another owner. The shard cannot find that out: the claims
//     may be taken over after it has read the state and before it starts a session.
//   - A result replaces the claims that still belong to its shard, and no others. These
//     claims leave the shard in the same save. A result that comes late or twice finds no
//     claim of its shard ([State.Settle]).
//   - A shard is dead when its attempt of the run is over, never because of the time that
//     has passed: it may have waited long for a runner. Only where nobody can be asked
//     does the lease decide.
//   - Collect looks for the shards of its run that left no result. If the job of a shard
//     never began, its issues are not charged ([State.Unstart]). Otherwise each of its issues
//     counts a failure, and the shard may have pushed something ([Delivery].Lost). If collect
//     dies, the next plan does the same.
//   - A plan reserves tokens for each shard ([Spending].Reserves): its share of the rest of
//     the budgets. The reserve counts as spent until the result of the shard is settled.
//     Then the shard's real spending counts instead, even if its claims were taken over in
//     the meantime. A reserve is forgotten when no result can come any more.
//   - On a self-hosted runner a process may outlive its job. So a shard ends its sessions by
//     itself ([Owner].Limit after the start of its job), and counts as alive until then.
//
// # What a result decides again
//
// A shard ends its sessions by [State.Exit], as every run does. Its result holds the claims
// after that, and [State.Settle] decides nothing about them again. Questions about more than
// one claim are decided from all results, by the rules of one process:
//
//   - A claim whose session has not ended in the result fails like a claim of a dead run: both
//     go through the same function, as do all claims whose session was never started.
//   - A pause ends if a session works that began after it. The sessions of a shard count as
//     begun when the shard was planned. The latest end of several pauses counts.
//   - A fault is systemic if it hits two issues of a tick and no session had a turn. A run
//     finds that out at each end of a session, collect when it has all results ([Fault]).
//
// In three points the rules differ, because a shard does not have the state:
//
//   - A run saves its claims before it pushes, so the next one knows what it may have
//     pushed. Nobody knows it for a shard without a result ([Delivery].Lost).
//   - A run is bound by the rest of the budgets, a shard by its reserve.
//   - The results that a later tick settles in place of collect make no fault systemic. The
//     tick may have another WORKFLOW.md, and it finds out by itself whether that one works.
//
// A command that was given outside of comments is not in a slice. It stays in the state
// until the result is settled.
//
// # The conversation on an issue
//
// A [Conversation] holds which comments and results of checks are handled, by marks that
// move forward only. It exists as long as the issue has a claim or a
// delivery:
//
//	first Dispatch          ReadUpTo: earlier comments are not feedback
//	read, in each poll      Feedback: everything newer than ReadUpTo; Fresh if it is newer than ParkedUpTo
//	nothing is unanswered   Observe: ReadUpTo moves on
//	a round is due          Dispatch: PromptedUpTo. Rounds grows, unless a session failed with the same
//	                        or because somebody had moved the branch
//	said during a session   Steer, then Steered: PromptedUpTo moves once the model has it, without checks
//	done or asked           Exit: ReadUpTo = PromptedUpTo
//	failed                  Exit: ReadUpTo stays, so the next session is given it again
//	parked                  ParkedUpTo: older feedback does not let the issue go on
//	a command               Stop, Park or Free: CommandsUpTo
//	claim released          Thread, Sessions, Tokens and Tariffs stay for the next claim
//	merged                  Finish, in each tick until [State.Finished]: the delivery and this are dropped
//
// An issue that was handed over is in no active state. A claim for feedback ([Claim].Feedback)
// is judged by [Policy.Answering] instead: until a session on it has ended well, when the
// strict rules release it. An issue with a delivery and no claim passes through the
// planner as a claim without a phase, so that there is one place for each decision.
//
// Feedback is read once in a poll, and plans are made more often. So a plan leaves out
// everything that this run has handled since: it is before ReadUpTo, ParkedUpTo or CommandsUpTo.
//
// Planning does not depend on why a read failed. Claims of unknown issues stay as
// they are: after a failed refresh sessions keep running, after a failed list
// nothing starts.
package schedule
