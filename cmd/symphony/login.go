package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/symphony-runner/symphony/codex"
)

// minGuessproof is the length in bytes from which a value counts as one that cannot
// be guessed from its digest.
const minGuessproof = 16

// login returns the login of sessions, to see whether it has changed: the
// key, its address, the variables that codex.env names, and the files of the
// user's own Codex home. A value too short to withstand guessing is left out.
func (a *app) login(c codex.Config) []string {
	account := a.account()
	texts := []string{account.BaseURL}
	add := func(name, value string) {
		if len(value) >= minGuessproof {
			texts = append(texts, name+"="+value)
		}
	}
	add("key", account.Key)
	for _, name := range c.Env {
		value, _ := a.getenv(name)
		add(name, value)
	}
	for _, name := range loginFiles {
		add(name, readStart(filepath.Join(a.codexHome(), name)))
	}
	return texts
}

// readStart returns the first megabyte of a file, empty when it cannot be read.
func readStart(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ""
	}
	return string(text)
}

// loginFiles lists the files of a Codex home that log sessions in.
var loginFiles = []string{"auth.json", "config.toml"}

// codexHome returns the user's own Codex home.
func (a *app) codexHome() string {
	if home, set := a.getenv("CODEX_HOME"); set {
		return home
	}
	user, _ := a.getenv("HOME")
	return filepath.Join(user, ".codex")
}
