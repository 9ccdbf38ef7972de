package report

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// plainPlace matches the names of files and branches that a shell reads as they are.
var plainPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]{0,199}$`) })

// goOn returns what a person does to let a parked issue go on. talks says that the
// program reads comments.
func goOn(talks bool) string {
	if talks {
		return schedule.GoOn
	}
	return schedule.GoOnByEdit
}

// goOnOr returns the text of goOn and the command that does the same; program and
// state are Program and State of [Tick].
func goOnOr(talks bool, program, state, id string) block {
	line := StateCommand(program, state, "retry "+id)
	if line == "" {
		return paragraph{own(goOn(talks))}
	}
	return command{goOn(talks) + " Or run", line}
}

// inText returns [goOnOr] as running text.
func inText(talks bool, program, state, id string) string {
	if line := StateCommand(program, state, "retry "+id); line != "" {
		return goOn(talks) + " Or run: " + line
	}
	return goOn(talks)
}

// EndPause returns the advice to end a pause before its time, and the command that
// completes the sentence; empty if none reaches the state. The parameters are Talks, Program
// and State of [Tick].
func EndPause(talks bool, program, state string) (sentence, line string) {
	line = StateCommand(program, state, "resume")
	switch {
	case talks && line != "":
		return schedule.ResumeByComment + ". Or run", line
	case talks:
		return schedule.ResumeByComment + ".", ""
	case line != "":
		return "To try at once, run", line
	}
	return "One session tries first when the pause ends.", ""
}

// endPause returns [EndPause] as a part of a document.
func endPause(talks bool, program, state string) block {
	sentence, line := EndPause(talks, program, state)
	if line == "" {
		return paragraph{own(sentence)}
	}
	return command{sentence, line}
}

// endPauseText returns [EndPause] as running text.
func endPauseText(talks bool, program, state string) string {
	sentence, line := EndPause(talks, program, state)
	if line == "" {
		return sentence
	}
	return sentence + ": " + line
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
