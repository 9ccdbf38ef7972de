package attempt

import (
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
)

// ordinary holds what any project's build and tests may do, as shell code that fails where it
// does not work, by what it tries. A first word that is no program here is skipped.
var ordinary = map[string]string{
	"a server and its client": `node -e 'const s = require("http").createServer((q, a) => a.end("hello")).listen(0, "127.0.0.1", () =>
  fetch("http://127.0.0.1:" + s.address().port).then(a => a.text()).then(t => process.exit(t == "hello" ? 0 : 1)))'`,
	"no proxies":             `test -z "$(env | grep -i '_proxy=')"`,
	"settings in the home":   `mkdir -p ~/.config/tool`,
	"a cache":                `mkdir -p "$XDG_CACHE_HOME/tool"`,
	"a temporary repository": `git init -q "$TMPDIR/."`,
	"a temporary folder":     `git init -q "$(mktemp -d)"`,
	"the settings of git":    `git config --global room.own yes`,
	"the git of the person":  `test "$(git config user.nickname)" = kim`,
	"the tools of the job":   `the-tool-of-the-job`,
	"a package manager":      `npm cache verify >/dev/null`,
	"the home is not mine":   `test ! -w "$PERSON"`,
	"the shared folder":      `f=$(mktemp /tmp/x.XXXX) && test -w "$f"`,
	"tmpfile(3)":             `python3 -c 'import ctypes; ctypes.CDLL(None).tmpfile() or exit(1)'`,
	"what bash reads":        `test -r "$BASH_ENV"`,
}

// tryOrdinary returns shell code that tries everything ordinary and prints what does not work.
func tryOrdinary() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ordinary)) {
		program, _, _ := strings.Cut(ordinary[name], " ")
		if _, err := exec.LookPath(program); err != nil && program != "the-tool-of-the-job" {
			continue
		}
		b.WriteString("( " + ordinary[name] + " ) || echo does not work: '" + name + "'\n")
	}
	return b.String()
}

// TestTheRoomIsFitForWork tries what is ordinary where the agent's commands, hooks and the
// check of the work run, with the real Codex. A hook, an agent, the check and the agent of the next
// session look at /tmp and leave a file there.
func TestTheRoomIsFitForWork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives each command a loopback, and each session a /tmp, of its own")
	}
	id := rand.Text()
	writeFile(t, "/tmp/host-"+id, "")
	t.Cleanup(func() { os.Remove("/tmp/host-" + id) })
	look := func(as string) string {
		return `echo ` + as + ` sees $(cd /tmp; echo *-` + id + `); echo ` + as + ` > /tmp/` + as + `-` + id + `; grep Cap[EA] /proc/self/status`
	}
	var replies []codextest.Reply
	for _, agent := range []string{"first", "second"} {
		replies = append(replies, runs(t, "bash try; touch ~/of-the-agent; ( "+look(agent)+"; echo done > "+agent+".txt; cat /tmp/"+agent+"-"+id+" ) 2>&1 | tee "+agent+".log; echo the command ran"), done)
	}
	f := newCodexRepository(t, nil, replies...)
	f.pushBase(map[string]string{"try": "PERSON='" + f.path("home") + "'\n" + tryOrdinary()})
	writeFile(t, f.path("home/.gitconfig"), "[user]\n\tnickname = kim\n")
	f.tools = f.path("tools")
	writeFile(t, f.path("tools/the-tool-of-the-job"), "#!/bin/sh\n")
	f.check(os.Chmod(f.path("tools/the-tool-of-the-job"), 0o700))
	const script = `failed=$(bash try); echo "$failed"; test -z "$failed" && test ! -e ~/of-the-agent`
	f.job.Repository.Hooks.AfterCreate, f.job.Repository.Hooks.BeforeRun = script, look("hook")+"; true"
	f.job.Repository.Verify = []string{script + " && (" + look("check") + ") > seen; cat seen; grep -q 'check sees hook-" + id + "$' seen"}
	for range 2 {
		f.delivers()
	}
	log := f.readLog()
	for line := range strings.Lines(log) {
		if strings.Contains(line, "does not work: '") {
			t.Errorf("%.2000s", line)
		}
	}
	for _, want := range []string{"the command ran", "first sees hook-" + id + "\\n", "second sees hook-" + id + "\\n", `CapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	if left, _ := filepath.Glob("/tmp/*-" + id); len(left) != 1 {
		t.Errorf("the /tmp of the machine has %q", left)
	}
	if left := filesBelow(t, f.path("sessions/bin")); len(left) > 0 {
		t.Errorf("the sessions left %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(f.job.SessionDir, "tmp", "*")); len(left) > 0 {
		t.Errorf("the sessions left %q", left)
	}
}
