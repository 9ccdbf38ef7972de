// Command symphony performs ticks of an orchestrator that lets an issue tracker
// drive coding agents. This package is the edge of the process: it reads flags,
// the environment and signals, names the tracker adapters, and turns errors into
// exit statuses (exit.go). Nothing below it does any of that, but for the signals of a terminal
// that changes its size or stops (package terminal).
//
// Standard output is the report, as text or JSON; logs and the live display go
// to standard error. In a step of GitHub Actions both belong to runner/action,
// which lets nothing from outside be a command: preconditions.go decides where the
// program must not run, and takes its deadline from the job; publish.go writes
// annotations, the summary and the outputs.
//
// # How the files stand
//
// Most commands are a struct with its flags and a method Run, in a file of its name. app.go has the
// command tree and the parts that all commands share. A command asks it for a part, and each part
// names its needs:
//
//	process      process.go      the environment, the streams and the job
//	gitHub       github.go       which server and repository, and whose token
//	statePlace   state_place.go  the state that --state names; stateStore (state_store.go) keeps it
//	opener       connect.go      the tracker, the discussion and, in repository.go, the repository
//	tickOptions  tick_options.go the flags of a tick
//	tickRun      tick_run.go     a tick that is checked, opened and performed
//	tickReport   tick_report.go  its report: completed, printed and published
//	logPlaces    log_places.go   where people find its logs
//
// symphony, plan, work and collect open a tickRun, perform it by a method of runner.Runner, and
// conclude it by its tickReport. Everything that leaves is redacted in one place, by type: see
// redact.go.
package main
