// Command symphony performs ticks of an orchestrator that lets an issue tracker
// drive coding agents. This package is the edge of the process: it reads flags
// and signals, prints, and turns errors into exit statuses (exit.go). What a command needs from
// outside, package wiring opens. Nothing below these two reads the environment, but for package terminal
// the signals of a terminal that changes its size or stops.
//
// Standard output is the report, as text or JSON; logs and the live display go
// to standard error. In a step of GitHub Actions both belong to runner/action,
// which lets nothing from outside be a command: preconditions.go decides where the
// program must not run, and takes its deadline from the job; publish.go writes
// annotations, the summary and the outputs.
//
// # How the files stand
//
// main.go has the command tree. Most commands are a struct with its flags and a method Run, in a file of its
// name. app.go has what all of them share. The parts of a tick name their needs:
//
//	tickOptions  tick_options.go the flags of a tick
//	tickRun      tick_run.go     a tick that is checked, opened and performed
//	tickReport   tick_report.go  its report: completed, printed and published
//	logPlaces    log_places.go   where people find its logs
//
// symphony, plan, work and collect open a tickRun, perform it by a method of runner.Runner, and
// conclude it by its tickReport. Everything that leaves is redacted by type: see wiring.Redacted.
package main
