// Package attempt performs one run attempt (SPEC §7.2, §10.7): workspace →
// before_run → prompt → agent process → session → turns → end of the process →
// after_run. It composes workspace, prompt and codex, decides nothing about
// scheduling, and never fails: whatever happens becomes a [schedule.Outcome],
// whose class says what the end means for the issue (see class.go).
//
// What belongs to a session and to no workspace is in the folder of Job.Private:
// a temporary folder that the agent may write, and, when we log in with a key, a
// Codex home of which only the rollout of the thread outlives the session
// (home.go). What no agent may read, the places of people's keys first of all, is
// one list in deny.go. [Forget] removes both with the workspace. [Preflight] tries all but
// the turn; in a tick the first session does so by the way, behind a [PreflightOnce].
//
// The order at the end is fixed: the process is dead before after_run, so a hook
// that commits or pushes never races with the agent. A session that is told to
// stop reads the reason from the cause of its context, never from an error.
package attempt
