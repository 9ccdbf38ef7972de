package report

import (
	"strings"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// goOn tells how to let a parked issue go on where people can, or cannot, talk to the
// program.
func goOn(talks bool) string {
	if talks {
		return schedule.GoOn
	}
	return schedule.GoOnByEdit
}

// goOnOr tells the same, and the command that does it; state is that of [Tick].
func goOnOr(talks bool, state, id string) block {
	line := stateCommand(state, "retry "+id)
	if line == "" {
		return paragraph{own(goOn(talks))}
	}
	return command{goOn(talks) + " Or run", line}
}

// inText returns [goOnOr] as running text.
func inText(talks bool, state, id string) string {
	if line := stateCommand(state, "retry "+id); line != "" {
		return goOn(talks) + " Or run: " + line
	}
	return goOn(talks)
}

// stateCommand returns the command that people run to change the state, which is as they
// can copy it; empty if no command of theirs reaches it, as in the cache of a job. Words
// that a shell may read as more than that are left to them.
func stateCommand(state, words string) string {
	command := "symphony state " + words
	kind, place, _ := strings.Cut(state, ":")
	switch {
	case state == "":
		return command
	case kind == "cache":
		return ""
	}
	if !plainPath().MatchString(strings.TrimPrefix(place, "/")) || len(place) > 200 {
		place = map[string]string{"branch": "NAME"}[kind]
		if place == "" {
			place = "PATH"
		}
	}
	return command + " --state " + kind + ":" + place
}
