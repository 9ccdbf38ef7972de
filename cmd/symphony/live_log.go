package main

import (
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/runlog"
)

// showSessions makes r show in the log what its sessions do, or inside Actions each session
// after its end where the log is not text for people. The caller has to call end after the
// run. live says that the log shows what they do while they do it.
func (t *tickCommand) showSessions(r *runner.Runner, console *console, workflow string, live bool) (end func()) {
	switch {
	case live && t.logFormat == "text" && !console.isLive():
		// Everybody can read the log of a job in a public repository, so inside Actions the
		// step says whether it shows texts.
		texts, _ := t.getenv("SYMPHONY_LOG_TEXTS")
		log := console.showSessions(runlog.Options{Texts: texts == "true" || !t.actions.InActions(), Redact: t.redactor.String})
		r.OnSession = func(s runner.SessionStart) func(runner.SessionLog) {
			onEnd := log.Begin(runlog.Session{
				Identifier: s.Claim.Identifier, Title: s.Claim.Title, Number: s.Claim.Sessions, Attempt: s.Claim.Attempt + 1,
				Branch: s.Branch, Workspace: s.Workspace, File: s.File, Rest: t.restOf(s, workflow),
			})
			return func(ended runner.SessionLog) { onEnd(sessionResult(ended), t.sessionDetails(ended)) }
		}
		return func() { console.fail(log.Close()) }
	case t.actions.InActions():
		r.OnSession = func(runner.SessionStart) func(runner.SessionLog) { return t.printSession }
	}
	return func() {}
}

// restOf returns the command or the file that shows all that a session did.
func (t *tickCommand) restOf(s runner.SessionStart, workflow string) string {
	if !t.actions.InActions() {
		return t.logCommand(workflow, s.Claim.Identifier)
	}
	if log := t.logInArtifact(s.File); log.Artifact != "" {
		return log.File + " of the artifact " + log.Artifact
	}
	return "its event log, which this job does not upload"
}
