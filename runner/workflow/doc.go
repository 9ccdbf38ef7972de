// Package workflow turns WORKFLOW.md into typed settings (SPEC §5, §6).
//
// A workflow file is YAML front matter and a prompt. The front matter is
// described by one table, keys.go: a row for each key with its default, its
// meaning and the rule that decodes it. The table fills the settings, finds
// unknown keys, and is what [Keys] lists for the documentation, so the three
// cannot disagree. What needs more than one key to decide is in settings.go and
// tracker.go.
//
// [Load] reads a file once. [Source] is what the runner asks before every pass:
// it re-reads the file, keeps the last good workflow when an edit is bad, and
// says so. [Parse] is the pure part of both. [ParseJob] reads the other kind of
// workflow file, that of GitHub Actions, for what binds the job we run in.
//
// The package decides what a file means and whether it can be used at all. It
// never renders the prompt, connects to a tracker or looks for Codex, and it
// never reads the process environment: everything outside the file comes in
// through [Env].
//
// Rules that hold throughout:
//
//   - All problems of a file are reported at once, each with its key, its line,
//     the value and what would be right. Values that may be secret are not shown.
//   - A key written as null is a key not written.
//   - An integer may be written as a string ("30"); a fraction is a problem.
//   - $NAME and ${NAME} are resolved in tracker settings when they are the whole
//     value, and anywhere in a path. Commands, scripts and URIs are left alone.
//   - A tracker setting that is written but comes out empty, as $UNSET does, is
//     missing. It is never replaced by a default: another credential or another
//     project would be a guess.
//   - A returned [Workflow] without an error can be used as it is: its root is
//     absolute, its times are positive (a stall timeout that is not is off), its
//     states are trimmed and in one list only.
package workflow
