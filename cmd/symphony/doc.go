// Command symphony performs ticks of an orchestrator that lets an issue tracker
// drive coding agents. This package is the edge of the process: it reads flags,
// the environment and signals, names the tracker adapters, and turns errors into
// exit statuses (exit.go). Nothing below it does any of that.
//
// Standard output is the report, as text or JSON; logs and the live display go
// to standard error. In a step of GitHub Actions both belong to runner/action,
// which lets nothing from outside be a command: admit.go says where the program
// must not run, job.go takes its deadline from the job, actions.go tells the run
// what came of the tick.
package main
