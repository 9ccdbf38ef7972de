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

// goOnOr returns the way in which a person lets a parked issue go on, and the command that does the same;
// program and state are Program and State of [Tick].
func goOnOr(comments schedule.Comments, program, state, id string) block {
	line := StateCommand(program, state, "retry "+id)
	if line == "" {
		return paragraph{own(comments.GoOn())}
	}
	return command{comments.GoOn() + " Or run", line}
}

// inText returns [goOnOr] as running text.
func inText(comments schedule.Comments, program, state, id string) string {
	if line := StateCommand(program, state, "retry "+id); line != "" {
		return comments.GoOn() + " Or run: " + line
	}
	return comments.GoOn()
}

// EndPause returns the advice to end a pause before its time, and the command that
// completes the sentence; empty if none reaches the state. The parameters are Comments,
// Program and State of [Tick].
func EndPause(comments schedule.Comments, program, state string) (sentence, line string) {
	line = StateCommand(program, state, "resume")
	byComment := comments.Resume()
	switch {
	case byComment != "" && line != "":
		return byComment + ". Or run", line
	case byComment != "":
		return byComment + ".", ""
	case line != "":
		return "To try at once, run", line
	}
	return "One session tries first when the pause ends.", ""
}

// endPause returns [EndPause] as a part of a document.
func endPause(comments schedule.Comments, program, state string) block {
	sentence, line := EndPause(comments, program, state)
	if line == "" {
		return paragraph{own(sentence)}
	}
	return command{sentence, line}
}

// endPauseText returns [EndPause] as running text.
func endPauseText(comments schedule.Comments, program, state string) string {
	sentence, line := EndPause(comments, program, state)
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
