// Package workflow turns WORKFLOW.md into typed settings (SPEC §5, §6).
//
// A workflow file is YAML front matter and a prompt. The front matter is described by one
// table, keys.go: a row for each key with its default, its meaning and the function that
// decodes it (values.go, path.go). The table fills the settings, finds unknown keys, is listed
// by [Keys] for the documentation and written as a JSON schema for editors by [Schema], so the
// four cannot disagree. The settings of a tracker depend on its kind: tracker.go decodes them
// by the [tracker.Kind] that the caller gives in [Env], so the package names no adapter.
// The sections repository and delivery depend on each other, on the tracker and on
// the environment: repository.go and delivery.go decode them last. warnings.go finds misspelled
// keys and credentials in the file.
//
// [Parse] is the pure part, and is made from [Inspect], which returns everything that can
// be said about a file that is wrong, with the line and column of each problem, for `symphony
// validate`. frontmatter.go reads the YAML and finds the parts without a meaning. [Source]
// reads the file for both, again before every pass: it keeps the last good workflow when an
// edit is bad, and returns the error.
//
// The package decides what a file means and whether it can be used at all. It
// never renders the prompt, connects to a tracker or looks for Codex, and it
// never reads the process environment: everything outside the file comes in
// through [Env].
//
// README.md has the rules and the keys for users. Two rules matter to callers:
//
//   - All problems of a file are returned at once. A value that may be secret is in
//     no error and no warning.
//   - A [Workflow] that is returned without an error can be used as it is: its root is
//     absolute, its times are positive (except a stall timeout that is off), its
//     states are trimmed and in one list only.
package workflow
