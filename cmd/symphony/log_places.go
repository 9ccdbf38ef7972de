package main

import (
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/internal/shell"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/transcript"
)

// logPlaces describes the place of the event logs of a tick, and of the work that it kept: an
// artifact of the job, or a command on this machine.
type logPlaces struct {
	inActions bool
	artifact  string // artifact of the job; empty for none
	folder    string // the value of --logs; empty for the default
	program   string // the words of a shell that start this program
	workflow  string // the path of the WORKFLOW.md
}

// keptBriefly is the notice for work that was not published and that no artifact keeps.
const keptBriefly = "Work that was not published is kept on the runner alone, which loses it: with the input upload-logs true " +
	"the artifact of the run keeps it, and everybody who may read the repository may read that"

// locateKept sets which artifact of the run holds kept work.
func (p logPlaces) locateKept(tick *report.Tick) {
	lost := false
	for i := range tick.Rows {
		kept := &tick.Rows[i].Kept
		if !p.inActions || kept.Folder == "" {
			continue
		}
		name := p.nameInArtifact(kept.Folder)
		if name == "" {
			lost = true
			continue
		}
		kept.Folder, kept.Artifact = name, p.artifact
	}
	if lost {
		tick.Notices = append(tick.Notices, keptBriefly)
	}
}

// locateLogs sets where people find the event logs of a tick: which file of which
// artifact, or which command shows them.
func (p logPlaces) locateLogs(tick *report.Tick) {
	for i := range tick.Rows {
		switch row := &tick.Rows[i]; {
		case p.inActions:
			row.Log = p.inArtifact(row.Log.File)
		case row.Log.File != "":
			row.Log.Command = p.command(row.Identifier)
		}
	}
}

// inArtifact returns the place of an event log in the artifact of the job. It is zero in a job
// that uploads none, because the log is lost with the runner.
func (p logPlaces) inArtifact(file string) report.Log {
	name := p.nameInArtifact(file)
	if file == "" || name == "" {
		return report.Log{}
	}
	return report.Log{File: transcript.PageName(name), Artifact: p.artifact}
}

// nameInArtifact returns the name that a file or a folder has in the artifact of the job; empty
// if that does not hold it.
func (p logPlaces) nameInArtifact(path string) string {
	inLogs, err := filepath.Rel(p.folder, path)
	if p.artifact == "" || p.folder == "" || err != nil || !filepath.IsLocal(inLogs) {
		return ""
	}
	return filepath.Join(filepath.Base(p.folder), inLogs)
}

// command returns the command that shows the latest session on an issue.
func (p logPlaces) command(identifier string) string {
	command := p.program + " log"
	if p.folder != "" {
		command += " --logs " + shell.Word(p.folder)
	}
	if strings.HasPrefix(identifier, "-") {
		command += " --"
	}
	command += " " + shell.Word(identifier)
	if here, err := filepath.Abs("WORKFLOW.md"); err != nil || here != p.workflow {
		command += " " + shell.Word(p.workflow)
	}
	return command
}

// rest returns the command or the file that shows all that a session did.
func (p logPlaces) rest(s runner.SessionStart) string {
	if !p.inActions {
		return p.command(s.Claim.Identifier)
	}
	if log := p.inArtifact(s.File); log.Artifact != "" {
		return log.File + " of the artifact " + log.Artifact
	}
	return "its event log, which this job does not upload"
}
