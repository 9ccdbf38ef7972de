// Package attempt performs one run attempt (SPEC §7.2, §10.7): workspace →
// before_run → prompt → agent process → session → turns → end of the process →
// after_run. It composes workspace, prompt and codex, and decides nothing about
// scheduling. [Run] never fails: every error becomes a [schedule.Outcome], whose
// class says what the end of the attempt means for the issue (outcome.go).
//
// The files of a session that belong to no workspace are in Job.SessionDir:
// a temporary folder that the agent may write and, when the session logs in with a
// key, a Codex home of which only the rollout of the thread outlives the session
// (session_dirs.go). [Forget] removes both together with the workspace. What no
// agent may read, above all the places where people keep credentials, is one list
// in deny.go. [Preflight] tries everything except a turn; in a tick the first
// session runs that check on its way, and the others wait for it ([PreflightOnce]).
//
// The order at the end is fixed: the process is dead before after_run, so a hook
// that commits or pushes never races with the agent. A session that is told to
// stop reads the reason from the cause of its context, never from an error.
package attempt
