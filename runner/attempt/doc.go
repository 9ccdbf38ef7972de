// Package attempt performs one run attempt (SPEC §7.2, §10.7): workspace →
// before_run → prompt → agent process → session → turns → end of the process →
// after_run. It composes workspace, prompt and codex, decides nothing about
// scheduling, and never fails: whatever happens becomes a [schedule.Outcome],
// whose class says what the end means for the issue (see class.go).
//
// The order at the end is fixed: the process is dead before after_run, so a hook
// that commits or pushes never races with the agent. A session that is told to
// stop reads the reason from the cause of its context, never from an error.
package attempt
