// Package validation is the report of "symphony validate": the checks that were made, and their
// findings. The command makes the checks, because they need the adapters, the environment
// and the network; this package decides the form, the place and the text of a finding.
//
// [Report.Run] makes a check. Its findings go into the report at once, from
// any goroutine: [Report.Warn], [Report.Setting] for a problem of the front matter,
// [Report.Malformed] for a record of the tracker that cannot be converted to an issue,
// and [Report.Log] for the warnings of an adapter. The error of a check is one problem
// for each of its lines, and one with a place for each problem of a prompt.
//
// The report encodes to the JSON that --log-format json prints, which programs read: a field
// is added, never renamed. Every text is one line of a bounded length, without secrets and
// control characters, because a WORKFLOW.md and an issue may come from a stranger.
package validation
