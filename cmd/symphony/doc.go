// Command symphony performs ticks of an orchestrator that lets an issue tracker
// drive coding agents. This package is the edge of the process: it reads flags,
// the environment and signals, names the tracker adapters, and turns errors into
// exit statuses (exit.go). Nothing below it does any of that.
//
// Standard output is the report, as text or JSON; logs and the live display go
// to standard error. In a step of GitHub Actions both belong to runner/action,
// which lets nothing from outside be a command: preconditions.go decides where the
// program must not run, job.go takes its deadline from the job, publish.go writes
// annotations, the summary and the outputs.
//
// Each command is a struct with its flags and a method Run; app.go has what they
// share. Everything that leaves is redacted in one place, by type: see redact.go.
package main
