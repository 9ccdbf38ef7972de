package report

import (
	"regexp"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// plainPlace matches the names of files and branches that a shell reads as they are.
var plainPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]{0,199}$`) })

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
	line := StateCommand(state, "retry "+id)
	if line == "" {
		return paragraph{own(goOn(talks))}
	}
	return command{goOn(talks) + " Or run", line}
}

// inText returns [goOnOr] as running text.
func inText(talks bool, state, id string) string {
	if line := StateCommand(state, "retry "+id); line != "" {
		return goOn(talks) + " Or run: " + line
	}
	return goOn(talks)
}

// StateCommand returns the command that people run to change the state, which is as they
// can copy it; empty if no command of theirs reaches it, as in the cache of a job. Words
// that a shell may read as more than that are left to them.
func StateCommand(state, words string) string {
	command := "symphony state " + words
	kind, place, _ := strings.Cut(state, ":")
	switch {
	case state == "":
		return command
	case kind == "cache":
		return ""
	}
	if !plainPlace().MatchString(place) {
		place = map[string]string{"branch": "NAME"}[kind]
		if place == "" {
			place = "PATH"
		}
	}
	return command + " --state " + kind + ":" + place
}
