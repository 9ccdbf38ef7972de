package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// annotate keeps an annotation, as the run's page shows it.
func (j *job) annotate(kind, title, message string) {
	text := strings.TrimPrefix(title+": "+message, ": ")
	switch kind {
	case "error":
		j.outcome.errors = append(j.outcome.errors, text)
	case "warning":
		j.outcome.warnings = append(j.outcome.warnings, text)
	case "notice":
		j.outcome.notices = append(j.outcome.notices, text)
	}
}

// hear reads what a step printed, with the commands in it.
func (j *job) hear(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		command, message, ok := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		if ok && strings.HasPrefix(line, "::") {
			name, properties, _ := strings.Cut(command, " ")
			if name == "add-mask" {
				j.masks = append(j.masks, message)
				continue
			}
			title := ""
			for property := range strings.SplitSeq(properties, ",") {
				if value, found := strings.CutPrefix(property, "title="); found {
					title = unescape.Replace(value)
				}
			}
			j.annotate(name, title, unescape.Replace(message))
		}
		for _, mask := range j.masks {
			line = strings.ReplaceAll(line, mask, "***")
		}
		fmt.Fprintln(&j.log, line)
	}
}

var unescape = strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",")

// readPairs reads a file of commands: name=value, or name<<END, lines, END.
func readPairs(t testing.TB, path string) map[string]string {
	t.Helper()
	pairs := map[string]string{}
	lines := strings.Split(readText(t, path), "\n")
	for len(lines) > 0 {
		line := lines[0]
		lines = lines[1:]
		if line == "" {
			continue
		}
		at := strings.IndexAny(line, "=<")
		if at < 0 {
			t.Fatalf("%s: not a pair: %q", path, line)
		}
		if line[at] == '=' {
			pairs[line[:at]] = line[at+1:]
			continue
		}
		end := slices.Index(lines, strings.TrimPrefix(line[at:], "<<"))
		if end < 0 {
			t.Fatalf("%s: no end of %q", path, line)
		}
		pairs[line[:at]] = strings.Join(lines[:end], "\n")
		lines = lines[end+1:]
	}
	return pairs
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
