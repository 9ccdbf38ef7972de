package codex_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// These attempts need more than one command in one turn.

func TestRaidSurvivesTheSession(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	// A name that no other process has: the sandbox hides the numbers.
	leave := func() (seconds, command string) {
		seconds = fmt.Sprint(100_000_000 + rand.IntN(100_000_000))
		return seconds, fmt.Sprintf("(setsid sleep %s >/dev/null 2>&1 &) ; (nohup bash -c 'kill -STOP $$; sleep %[1]s' >/dev/null 2>&1 &); sleep 0.2", seconds)
	}
	t.Run("guard off", func(t *testing.T) { // and nobody who looks after what Codex leaves
		c := newTestbed(t, plainModel)
		b := c.startRaw()
		seconds, command := leave()
		c.say(command, nil)
		b.turn(c.ws.Path, `"never"`, `{"type":"dangerFullAccess"}`, `{}`)
		b.close()
		survivors := running(seconds)
		if len(survivors) == 0 {
			t.Error("nothing survives Codex, so this shows nothing")
		}
		for _, pid := range survivors {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	try := func(t *testing.T, model string, cfg codex.Config) {
		c := newTestbed(t, model)
		s := c.open(cfg, "")
		seconds, command := leave()
		c.turn(s, command)
		c.close(s)
		if after := running(seconds); len(after) > 0 {
			t.Errorf("after the session %v still run", after)
		}
	}
	t.Run("no sandbox", func(t *testing.T) { try(t, plainModel, unguarded()) })
	eachModel(t, func(t *testing.T, model string) { try(t, model, codex.Config{}) })
}

// running returns the processes with a text in their command line.
func running(text string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid > 1 && strings.Contains(string(line), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A FIFO has the name of a file that the next session reads. There is no guard to
// switch off: an agent may always put it into its workspace. It must not make any
// session wait.
func TestRaidLeavesAFIFOToReadFrom(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	c.run(codex.Config{}, "mkfifo fifo && mv fifo AGENTS.md && mkfifo README.md .gitattributes && ls -l")
	for _, name := range []string{"AGENTS.md", "README.md", ".gitattributes"} {
		if info, err := os.Lstat(filepath.Join(c.ws.Path, name)); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("%s is no FIFO after the session, so this shows nothing: %v", name, err)
		}
	}
	if _, err := c.root.Fingerprint(t.Context(), c.ws); err != nil {
		t.Error(err)
	}
	c.turn(c.open(codex.Config{}, ""), "test -p AGENTS.md")
	if _, err := c.root.Remove(t.Context(), c.ws.Issue); err != nil {
		t.Error(err)
	}
}

// Features that start work by themselves are not offered to the model, whatever the
// Codex home configures.
func TestAGuardedAgentIsOfferedNothingThatWorksByItself(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	offers := map[string][]string{
		plainModel: {`"name":"create_goal"`, `"type":"web_search"`},
		codeModel:  {"### `create_goal`", `"name":"spawn_agent"`, `"name":"sleep"`},
	}
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		c.features = map[string]bool{"goals": true, "sleep_tool": true}
		b := c.startRaw()
		b.turn(c.ws.Path, `"never"`, `{"type":"readOnly"}`, `{}`)
		b.close()
		offered := string(c.model.Requests()[0].Body)
		c.run(codex.Config{}, "true")
		guarded := string(c.model.Requests()[0].Body)
		for _, tool := range offers[model] {
			if !strings.Contains(offered, tool) || strings.Contains(guarded, tool) {
				t.Errorf("%s: offered without the guard: %v, with it: %v", tool, strings.Contains(offered, tool), strings.Contains(guarded, tool))
			}
		}
	})
}

// The guard must not keep the agent from its work, for which it may run a server and its client in
// one command.
func TestAGuardedAgentCanDoItsWork(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		s := c.open(codex.Config{}, "")
		output := c.turn(s, `echo work > file && mkdir -p a/b && rm -rf a && git checkout -q -b topic && git add -A &&
git -c user.name=a -c user.email=a@b commit -q -m two && git log --oneline | cat && mktemp && cat <<END
`+strings.Repeat("a long line of a document\n", 4000)+`END
echo all done`)
		served := c.turn(s, fmt.Sprintf("env | grep -i _proxy=; %s=1 '%s' -test.run '^TestHelperServes$' -test.v", serveHere, os.Args[0]))
		if !strings.Contains(served, "served hello") || strings.Contains(strings.ToLower(served), "_proxy=http") {
			t.Errorf("%s", served)
		}
		thread := s.ThreadID()
		c.close(s)
		if !strings.Contains(output, "all done") || !strings.Contains(output, c.path("temp")) {
			t.Errorf("%.2000s", output)
		}
		s = c.open(codex.Config{}, thread)
		if !s.Resumed() {
			t.Error("the thread is not resumed")
		}
		if output := c.turn(s, "git config a.b c; git status --short; git branch --show-current"); !strings.Contains(output, "topic") || !strings.Contains(output, "config") {
			t.Errorf("in the resumed thread %s", output)
		}
		c.close(s)
		left, err := os.ReadDir(c.ws.Path)
		if err != nil || len(left) != 2 {
			t.Errorf("the workspace holds %v, %v", left, err)
		}
	})
}
