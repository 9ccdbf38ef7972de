// Package tracker defines the rest of the program's view of an issue tracker.
//
// It has the normalized [Issue] (SPEC §4.1.1), the only two questions of the
// orchestrator ([Reader]: issues by state, issues by id), the only three changes that it
// makes ([Writer]: comment, move, label), what people say and show ([Conversation],
// [Pictures]), the tools that an adapter offers to the agent
// ([Tool]), the error categories of all adapters, and [Nearest],
// with which errors about a misspelled name suggest the right one. It knows no provider
// and does no I/O. The adapters are in the folders below it, and only cmd names them.
//
// Each adapter describes its settings once, in a [Kind]: their names, defaults and
// checks, and what to write. Package workflow decodes WORKFLOW.md with it, and the
// README of the adapter is generated from it. The decoded [Config] opens the
// [Adapter].
//
// Two rules bind every adapter, and trackertest checks them:
//
//   - A read is complete or it fails. An issue that is missing from an answer counts
//     as gone, so a partial answer must never look complete.
//   - Text from a tracker is written by outsiders. It is data, and never a path, a
//     command, the structure of a log line, or a template.
package tracker
