// Package shell reads and writes the words of a POSIX shell in commands that people and settings
// give: [Quote] and [Word] write one, [Program] and [Elsewhere] look for the program of a command.
//
// It splits a command at spaces and knows no quotes: it finds the program of a simple command,
// behind exec, env and assignments. What it finds in any other command is a guess.
package shell

import (
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/internal/lazy"
)

// Quote returns text as one quoted word.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Word returns text as one word, quoted if it is more than one otherwise.
func Word(text string) string {
	if IsPlain(text) {
		return text
	}
	return Quote(text)
}

// IsPlain reports whether text is one word as it stands.
func IsPlain(text string) bool { return isPlain().MatchString(text) }

var (
	isPlain = lazy.Regexp(`^[A-Za-z0-9_@%+=:,./-]+$`)
	// isRelativePath matches a word that is a relative path as it stands.
	isRelativePath = lazy.Regexp(`^[\w.@+-]+/[\w.@+/-]+$`)
	// isNotProgram matches a word before the name of a program.
	isNotProgram = lazy.Regexp(`^(exec|env|[A-Za-z_]\w*=.*)$`)
)

// Program returns the program that a command starts; empty if it names none.
func Program(command string) string {
	_, program := find(command)
	return program
}

// find returns the first word of a command that names a program, and where it stands.
func find(command string) (at int, program string) {
	for word := range strings.FieldsSeq(command) {
		at += strings.Index(command[at:], word)
		if !isNotProgram().MatchString(word) {
			return at, word
		}
		at += len(word)
	}
	return 0, ""
}

// Elsewhere returns a command, which is written for a folder in root, as it is for another
// folder: a relative path to its program is made absolute. If that leads into the folder,
// inside is the path, and there is no such command. A command of several lines stays as it is:
// one of the lines may be cd.
func Elsewhere(command, root string) (elsewhere, inside string) {
	at, program := find(command)
	if strings.Contains(strings.TrimSpace(command), "\n") || !isRelativePath().MatchString(program) {
		return command, ""
	}
	if path, err := filepath.EvalSymlinks(root); err == nil { // .. leads there from where the folder really is
		root = path
	}
	folder := filepath.Join(root, "folder")
	path := filepath.Join(folder, program)
	if strings.HasPrefix(path, folder+"/") {
		return "", program
	}
	return command[:at] + Quote(path) + command[at+len(program):], ""
}
