package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/codex/door"
	"github.com/symphony-runner/symphony/internal/shell"
)

// On Linux Codex starts bubblewrap for each command, and takes the one that it finds on the
// PATH. So a program of ours stands before it there. It adds one thing to the sandbox that
// Codex asks for: a folder of the session lies over /tmp. Commands see the entries of this
// machine's /tmp that their sandbox or their environment names, as they would without it; see
// Bubblewrap.Share. All rules of Codex are applied after it, on top.
//
// A command of a network with hosts also gets a door, see package door: then this program starts
// bubblewrap for it, with two options before all others.
//
// The program runs outside the sandbox. So it searches no PATH, and starts bubblewrap exactly
// as Codex asks for it wherever it does not understand that completely: then commands have the
// /tmp of this machine, which the permission profile makes read-only.
//
// The agent can write the folder, and bubblewrap makes missing mount points in it, by paths
// that lead through links. So there are none to make: the entries that are mounted there
// exist from the start. A mount point cannot be renamed or removed, and no command sees the
// folder without all of these mounts.

// bubblewrapProgram is the text of the program, for any shell of POSIX. In its folder are the
// files of [Bubblewrap].
const bubblewrapProgram = `#!/bin/sh
# Codex starts this in place of bubblewrap. It starts bubblewrap with a /tmp of the session.
set -f
folder=${0%/*}
real= name=
{ IFS= read -r real <"$folder/real"; } 2>/dev/null
case $real in
/*) ;;
*) # the one that Codex comes with
  codex=$(command -p readlink "/proc/$PPID/exe")
  codex=${codex%/*}
  for real in "$codex/codex-resources/bwrap" "${codex%/*}/codex-resources/bwrap"; do
    [ ! -x "$real" ] || break
  done
  [ ! -x "$real" ] || { echo "$real" >"$folder/real"; } 2>/dev/null ;; # for the next command
esac
[ -x "$real" ] || exit 1 # Codex starts its own by itself

# is_trial reports whether Codex only tries bubblewrap, as it does before each command.
is_trial() {
  previous= last=
  for word do previous=$last last=$word; done
  [ "$1" = --help ] || { [ "$previous" = -- ] && { [ "$last" = /usr/bin/true ] || [ "$last" = /bin/true ]; }; }
}

# start becomes bubblewrap, or this program where the command gets a door.
start() {
  if [ "$` + door.Variable + `" ] && [ -S "$folder/` + door.Socket + `" ] && ! is_trial "$@" && IFS= read -r self <"$folder/self"; then
    exec "$self" ` + door.Name + ` enter "$folder/` + door.Socket + `" "$real" "$@"
  fi
  exec "$real" "$@"
}
[ -r "$folder/shared" ] || start "$@"

shared=/
while IFS= read -r name; do
  [ -e "/tmp/$name" ] && [ ! -L "/tmp/$name" ] || start "$@"
  shared=$shared$name/
done <"$folder/shared"

before= count=0 base=
for word do
  if [ -z "$base" ]; then
    case $word in -- | *[!a-z0-9/-]*) start "$@" ;; esac
    before="$before $word" count=$((count + 1))
    case $before in *" --ro-bind / /") base=found ;; esac
    continue
  fi
  case $word in
  --) break ;;
  /tmp | /tmp/ | */. | */.. | */./* | */../*) start "$@" ;;
  /tmp/*)
    path=${word#/tmp/}
    name=${path%%/*}
    case $shared in
    */"$name"/*) ;;
    *) # a folder that Codex closes, such as its own
      [ "$name" = "$path" ] && [ -d "$word" ] && [ ! -L "$word" ] || start "$@" ;;
    esac ;;
  esac
done
[ "$base" ] || start "$@"

shift $count
while IFS= read -r name; do
  set -- --ro-bind "/tmp/$name" "/tmp/$name" "$@"
done <"$folder/shared"
tmp=$folder/tmp
[ "$SYMPHONY_TMP" != check ] || tmp=$folder/check
start $before --bind "$tmp" /tmp "$@"
`

// ForCheck is the variable in [Exec].Env with which a program of the host gets
// [Bubblewrap.CheckTmp] as its /tmp. Agents cannot set variables of bubblewrap.
const ForCheck = "SYMPHONY_TMP=check"

// slashTmp is the folder for temporary files that programs have in their text.
const slashTmp = "/tmp"

// Bubblewrap is a folder of one session with the program that gives commands a /tmp of their
// own. No agent may write it: its program runs outside the sandbox.
//
//	bwrap   the program
//	self    the path of this program
//	door    the socket of [door.Doors], while a session with hosts is open
//	real    the path of the bubblewrap on the PATH; if there is none, or an old one, it is empty
//	        until the first command has found the one that Codex comes with
//	shared  the names of the entries of this machine's /tmp that commands see, one a line
//	tmp     /tmp for the agent's commands and for programs of the host beside them
//	check   /tmp for programs on which no agent may have an influence
type Bubblewrap struct {
	Dir    string // absolute, without links
	self   string
	shared []string
}

// MakeBubblewrap makes the folder, in which nothing may be. self is the path of this program, which
// runs [door.Main] for the first argument [door.Name]; without it no command gets a door.
func MakeBubblewrap(dir, self string) (*Bubblewrap, error) {
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "tmp"), 0o700), os.WriteFile(filepath.Join(dir, "bwrap"), []byte(bubblewrapProgram), 0o700),
		os.WriteFile(filepath.Join(dir, "self"), []byte(self+"\n"), 0o600))
	if err != nil {
		return nil, fmt.Errorf("make the folder of bubblewrap: %w", err)
	}
	return &Bubblewrap{Dir: dir, self: self}, nil
}

// Tmp returns the path of the folder that lies over /tmp for the agent.
func (b *Bubblewrap) Tmp() string { return filepath.Join(b.Dir, "tmp") }

// Command returns codex.command so that Codex finds the program before all others of its name
// on the PATH of the login shell. The program hides a bubblewrap that is older than 0.9, with
// which Codex would start no sandbox: without the option --argv0 it has to start a helper in
// the Codex home, which the agent may not read.
func (b *Bubblewrap) Command(command string) string {
	if runtime.GOOS != "linux" {
		return command
	}
	dir := shell.Quote(b.Dir)
	return `if type -P bwrap >/dev/null && [[ $(bwrap --help 2>/dev/null) == *--argv0* ]]; then type -P bwrap; else echo; fi >` + dir + "/real\nPATH=" + dir + ":\"$PATH\"\n" + command
}

// Share names paths that commands need. From then on they have a /tmp of their own, in which
// they see the entry of this machine's /tmp that each path is in. What they may read there is
// up to the permission profile.
func (b *Bubblewrap) Share(paths []string) error {
	if real, err := filepath.EvalSymlinks(slashTmp); err != nil || real != slashTmp {
		return nil // bubblewrap cannot mount on a link
	}
	for _, path := range paths {
		rest, isBelow := strings.CutPrefix(filepath.Clean(path), slashTmp+"/")
		if !isBelow {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if info, err := os.Lstat(filepath.Join(slashTmp, name)); err == nil && (info.IsDir() || info.Mode().IsRegular()) && !strings.Contains(name, "\n") {
			b.shared = append(b.shared, name)
		}
	}
	slices.Sort(b.shared)
	b.shared = slices.Compact(b.shared)
	err := errors.Join(b.mountPoints("tmp"), b.mountPoints("check"))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.Dir, "shared"), []byte(strings.Join(append(b.shared, ""), "\n")), 0o600)
	}
	if err != nil {
		return fmt.Errorf("make a /tmp for commands: %w", err)
	}
	return nil
}

// mountPoints makes a folder that will lie over /tmp, with an entry for each that is shared.
func (b *Bubblewrap) mountPoints(folder string) error {
	err := os.MkdirAll(filepath.Join(b.Dir, folder), 0o700)
	for _, name := range b.shared {
		at := filepath.Join(b.Dir, folder, name)
		if info, lost := os.Stat(filepath.Join(slashTmp, name)); lost == nil && info.IsDir() {
			err = errors.Join(err, os.MkdirAll(at, 0o700))
		} else if _, missing := os.Lstat(at); errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.WriteFile(at, nil, 0o600))
		}
	}
	return err
}

// CheckTmp returns the path of the folder that lies over /tmp for programs on which no agent
// may have an influence.
func (b *Bubblewrap) CheckTmp() string { return filepath.Join(b.Dir, "check") }

// RenewCheckTmp makes the folder CheckTmp again, after the caller has removed it.
func (b *Bubblewrap) RenewCheckTmp() error {
	if err := b.mountPoints("check"); err != nil {
		return fmt.Errorf("make a /tmp for the check of the work: %w", err)
	}
	return nil
}
