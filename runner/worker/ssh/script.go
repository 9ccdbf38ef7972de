package ssh

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/symphony-runner/symphony/internal/shell"
)

// program is the executable of this program. The file stays open, so that a version that is installed
// while this one runs changes nothing.
type program struct {
	file *os.File
	size int64
	sum  string // SHA-256, in hexadecimal
}

// openProgram opens an executable; the one of this process for an empty path.
func openProgram(path string) (p program, err error) {
	if path == "" {
		if path, err = ownProgram(); err != nil {
			return program{}, err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return program{}, err
	}
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err != nil {
		file.Close()
		return program{}, err
	}
	return program{file, size, hex.EncodeToString(hash.Sum(nil))}, nil
}

// content returns a reader of the executable.
func (p program) content() io.Reader { return io.NewSectionReader(p.file, 0, p.size) }

// systems are the outputs of `uname -sm` on the hosts where this program runs.
var systems = map[string]string{
	"linux/amd64": "Linux x86_64", "linux/arm64": "Linux aarch64", "darwin/amd64": "Darwin x86_64", "darwin/arm64": "Darwin arm64",
}

// system returns the output of `uname -sm` on hosts like this one.
func system() string { return systems[runtime.GOOS+"/"+runtime.GOARCH] }

// Words with which a script answers, and steps of an upload that can fail.
const (
	answerReady   = "ready"
	answerMissing = "missing"
	answerNoExec  = "noexec"
	answerSystem  = "system"
	answerSend    = "send"
	answerThere   = "there"
	answerStored  = "stored"
	answerFailed  = "failed"

	stepWrite   = "write"
	stepCompare = "compare"
)

// mark begins the lines with which a script answers.
type mark string

func newMark() mark { return mark("symphony-" + rand.Text()) }

// command returns the command for the login shell of the host. Any shell passes on the script as it is, which has
// no quote, no backslash, no exclamation mark and no line break.
func (m mark) command(script string) string {
	half := len(m) / 2
	return fmt.Sprintf(`exec sh -c 'm=%s; m=${m}%s; say() { echo; echo "$m" "$@"; }; %s'`, m[:half], m[half:], script)
}

// place returns the lines that set d to the folder of the program on the host, p to its path, and there to a
// function that tells whether it is stored. A failure of power can leave a part of it, which a shell would run.
func (p program) place() string {
	return fmt.Sprintf(`d=${XDG_CACHE_HOME:-$HOME/.cache}/symphony/bin; p=$d/symphony-%s; there() { [ -f "$p" ] && [ $(wc -c <"$p") -eq %d ]; }; `, p.sum[:32], p.size)
}

// startScript returns the script that starts the program with the arguments. They must be plain words.
func (p program) startScript(args []string) string {
	for _, arg := range args {
		if !shell.IsPlain(arg) {
			panic("ssh: the argument " + shell.Quote(arg) + " is no plain word")
		}
	}
	return fmt.Sprintf(`s=$(uname -sm); [ "$s" = "%s" ] || { say system "$s"; exit; }; `, system()) + p.place() +
		`touch -c "$p" 2>/dev/null; ` + // uploads delete what has not been started for long
		`there || { say missing; exit; }; ` +
		`[ -x "$p" ] || { say noexec "$d"; exit; }; ` +
		`say ready; exec "$p" ` + strings.Join(args, " ")
}

// uploadScript returns the script that stores the program, which it reads from its input.
func (p program) uploadScript() string {
	return `umask 077; LC_ALL=C; export LC_ALL; ` + p.place() +
		`there && { say there; exit; }; ` +
		`failed() { say failed $1 "$d:" $e; exit; }; ` +
		`e=$(mkdir -p "$d" 2>&1) || failed create; ` +
		`t=$d/upload.$m; clean() { rm -f "$t"; }; trap clean EXIT; trap "exit 1" HUP INT TERM PIPE; ` +
		`say send; ` +
		`e=$( { cat >"$t"; } 2>&1) || failed write; ` +
		`e=$(sha256sum <"$t" 2>/dev/null || shasum -a 256 <"$t" 2>/dev/null || echo size $(wc -c <"$t")); ` +
		fmt.Sprintf(`case $e in %s*|"size %d") ;; *) failed compare ;; esac; `, p.sum, p.size) +
		`e=$( { chmod 700 "$t" && mv -f "$t" "$p"; } 2>&1) || failed rename; ` +
		`find "$d" -type f "(" -name "symphony-*" -mtime +30 -o -name "upload.*" -mtime +0 ")" -exec rm -f {} + 2>/dev/null; ` +
		`say stored`
}
