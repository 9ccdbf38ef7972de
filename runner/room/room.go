// Package room makes the machine that the commands of an agent see: a home, a folder for
// temporary files, and the variables by which tools find their caches and their toolchains, and
// know that there is no network where there is none. It also finds the parts of the real machine
// that stay outside: the files with credentials (deny.go) and the Unix sockets (sockets.go).
//
// A room is a folder of one session. The agent may write it, and it is removed with the
// session, so nothing that one agent leaves there reaches another. A person's own home
// stays unchanged: toolchains there are named by variables and can be read, and
// its secrets are in the list of [CredentialPaths].
//
// The table is Variables: one line for each variable, with the reason.
package room

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/symphony-runner/symphony/internal/shell"
)

// Room is the folder of a session, and the environment of the program that it is made in.
type Room struct {
	Dir    string                                    // absolute
	Lookup func(name string) (value string, ok bool) // a variable of this program; nil finds none

	// Network says that commands reach hosts, so that tools may ask their registries.
	Network bool
}

// Variable is a variable of the commands of an agent.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Home returns the folder that is HOME for the agent's commands.
func (r Room) Home() string { return filepath.Join(r.Dir, "home") }

// Temp returns the folder for temporary files.
func (r Room) Temp() string { return filepath.Join(r.Dir, "tmp") }

// ShellStart returns the path of the file that bash reads before each command. The agent may
// read it and not write it.
func (r Room) ShellStart() string { return filepath.Join(r.Dir, "start.sh") }

// Certificates returns the path of the file with the certificate of the network's proxy, which is
// empty until a session fills it, as is the one for Java beside it. The agent may read them and
// not write them.
func (r Room) Certificates() string { return filepath.Join(r.Dir, "certificates.pem") }

// Make makes the folders and files of the room below its folder, which is root. bash reads
// start before each command, followed by the lines of the room.
func (r Room) Make(root *os.Root, start string) error {
	// bash sets TMPDIR, and not Codex, because Codex's own is read-only at its top.
	start += "export TMPDIR=" + shell.Quote(r.Temp()) + "\n"
	err := errors.Join(root.MkdirAll("home", 0o700), root.MkdirAll("tmp", 0o700), root.WriteFile("start.sh", []byte(start), 0o600), root.WriteFile("certificates.pem", nil, 0o600), root.WriteFile("certificates.jks", nil, 0o600))
	if settings := r.gitSettings(); err == nil && settings != "" {
		err = root.WriteFile("home/.gitconfig", []byte(settings), 0o600)
	}
	if err != nil {
		return fmt.Errorf("make the agent's room: %w", err)
	}
	return nil
}

// gitSettings returns the settings of git in the room: the settings of the person's home, which
// the agent may add to and not change; empty if there are none.
func (r Room) gitSettings() string {
	var b strings.Builder
	for _, path := range []string{r.personal("XDG_CONFIG_HOME", ".config", "git/config"), r.personal("", "", ".gitconfig")} {
		if isThere(path) {
			fmt.Fprintf(&b, "[include]\n\tpath = %q\n", path)
		}
	}
	return b.String()
}

// personal returns a path in the person's home: rest, below the folder that a variable names
// or else a folder of the home has; empty if there is no home.
func (r Room) personal(variable, folder, rest string) string {
	if value := r.lookup(variable); filepath.IsAbs(value) {
		return filepath.Join(value, rest)
	}
	if home := r.lookup("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, folder, rest)
	}
	return ""
}

func (r Room) lookup(name string) string {
	if r.Lookup == nil || name == "" {
		return ""
	}
	value, _ := r.Lookup(name)
	return value
}

// isThere reports whether anything is at a path. Nothing is at an empty one.
func isThere(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}
