package main

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/runlog"
)

// showSessions makes r log the work of its sessions, or inside Actions each session after its
// end where the log is not text for people. The caller has to call end after the run. live says
// that the log shows the work while it is done.
func showSessions(a *app, places logPlaces, r *runner.Runner, console *console, live bool) (end func()) {
	switch {
	case live && a.logFormat == "text" && !console.isLive():
		// Everybody can read the log of a job in a public repository, so inside Actions the
		// step says whether it shows texts.
		log := console.showSessions(runlog.Options{Texts: a.Value("SYMPHONY_LOG_TEXTS") == "true" || !a.Actions.InActions(), Redact: a.redactor.String})
		r.OnSession = func(s runner.SessionStart) func(runner.SessionLog) {
			onEnd := log.Begin(runlog.Session{
				Identifier: s.Claim.Identifier, Title: s.Claim.Title, Number: s.Claim.Sessions, Attempt: s.Claim.Attempt + 1,
				Branch: s.Branch, Workspace: s.Workspace, Host: s.Claim.Host, Live: s.Live, Rest: places.rest(s),
			})
			return func(ended runner.SessionLog) { onEnd(sessionResult(ended), sessionDetails(places, ended)) }
		}
		return func() { console.fail(log.Close()) }
	case a.Actions.InActions():
		r.OnSession = func(runner.SessionStart) func(runner.SessionLog) {
			return func(s runner.SessionLog) { printSession(a, places, s) }
		}
	}
	return func() {}
}

func printSession(a *app, places logPlaces, s runner.SessionLog) {
	title := fmt.Sprintf("%s %s · %s", s.Claim.Identifier, s.Claim.Title, sessionResult(s))
	lines := s.Lines
	if s.Omitted > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", s.Omitted)}, lines...)
	}
	lines = append(lines, sessionDetails(places, s)...)
	if len(lines) == 0 {
		lines = []string{"(it said nothing)"}
	}
	a.Actions.Group(a.redactor.String(text.Lines(title)), a.redactor.String(strings.Join(lines, "\n")))
}

// sessionResult returns the result and the cost of a session, in one line.
func sessionResult(s runner.SessionLog) string {
	tokens := text.Number(s.Outcome.Usage.Total())
	if len(s.Prices) > 0 {
		tokens += " (" + s.Prices.Of(s.Outcome.Usage).String() + ")"
	}
	return fmt.Sprintf("%s · turns: %d · tokens: %s · %s", report.Outcome(s.Outcome, s.Next, s.Delivers), s.Outcome.Turns, tokens, text.Duration(s.Took))
}

// sessionDetails returns the reason for the result of a session, its warnings, and where the
// job's artifact has its log.
func sessionDetails(places logPlaces, s runner.SessionLog) (lines []string) {
	if s.Outcome.Why != "" {
		lines = append(lines, s.Outcome.Why)
	}
	lines = append(lines, s.Outcome.Warnings...)
	if log := places.inArtifact(s.File); log.Artifact != "" {
		lines = append(lines, fmt.Sprintf("The session's log: %s of the artifact %s", log.File, log.Artifact))
	}
	return lines
}
