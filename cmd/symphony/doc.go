// Command symphony performs ticks of an orchestrator that lets an issue tracker
// drive coding agents. This package is the edge of the process: it reads flags,
// the environment and signals, names the tracker adapters, and turns errors into
// exit statuses (exit.go). Nothing below it does any of that.
//
// Standard output is the report, as text or JSON; logs and the live display go
// to standard error.
package main
