// Package tracker is what the rest of the program knows of an issue tracker.
//
// It holds the normalised [Issue] (SPEC §4.1.1), the two questions that the
// orchestrator ever asks ([Reader]: issues by state, issues by id), the tools
// an adapter offers to the agent ([Tool]), the error categories that every adapter
// uses, and [Nearest], with which every error about a misspelt name names the right
// one. It knows no provider and does no I/O; adapters live in the folders below it
// and are named in cmd alone.
//
// Each adapter describes its settings once, in a [Kind]: their names, defaults and
// checks, and what to write. Package workflow decodes WORKFLOW.md with it, and the
// README of the adapter is generated from it. The decoded [Config] opens the
// [Adapter].
//
// Two rules bind every adapter, and trackertest checks them:
//
//   - A read is complete or it fails. Nothing ever acts on a partial page: an
//     issue that is missing from an answer is an issue that is gone.
//   - Text from a tracker is written by strangers. It is data: never a path, a
//     command, a log line's structure or a template.
package tracker
