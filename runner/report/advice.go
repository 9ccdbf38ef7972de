package report

import (
	"cmp"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// plainPlace matches the names of files and branches that a shell reads as they are.
var plainPlace = lazy.Regexp(`^[A-Za-z0-9._/][A-Za-z0-9._/-]{0,199}$`)

// advice is what people can do: a sentence, and the command that completes it; empty for none.
type advice struct{ sentence, command string }

// block returns the advice as a part of a document.
func (a advice) block() block {
	if a.command == "" {
		return paragraph{own(a.sentence)}
	}
	return command{a.sentence, a.command}
}

// text returns the advice as running text.
func (a advice) text() string {
	if a.command == "" {
		return a.sentence
	}
	return a.sentence + ": " + a.command
}

// ways are the ways in which people reach a run: Comments, Program and State of [Tick].
type ways struct {
	comments       schedule.Comments
	program, state string
}

// goOn returns the advice to let a parked issue go on.
func (w ways) goOn(id string) advice {
	a := advice{w.comments.GoOn(), StateCommand(w.program, w.state, "retry "+id)}
	if a.command != "" {
		a.sentence += " Or run"
	}
	return a
}

// endPause returns the advice to end a pause before its time.
func (w ways) endPause() advice {
	line, byComment := StateCommand(w.program, w.state, "resume"), w.comments.Resume()
	switch {
	case byComment != "" && line != "":
		return advice{byComment + ". Or run", line}
	case byComment != "":
		return advice{byComment + ".", ""}
	case line != "":
		return advice{"To try at once, run", line}
	}
	return advice{"One session tries first when the pause ends.", ""}
}

// LogCommand returns the command that shows the latest session on an issue, from every folder,
// ready to be copied. PATH stands for a folder of logs that a shell might not read as one
// word. program starts this program; empty is symphony.
func LogCommand(program, logs, id string) string {
	if !plainPlace().MatchString(logs) {
		logs = "PATH"
	}
	return cmp.Or(program, "symphony") + " log --logs " + logs + " " + id
}

// StateCommand returns the command that people run to change the state, ready to be
// copied; empty if no command reaches the state, as in the cache of a job. NAME or PATH
// stands for a place that a shell might not read as one word. program starts this program;
// empty is symphony.
func StateCommand(program, state, words string) string {
	command := cmp.Or(program, "symphony") + " state " + words
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
