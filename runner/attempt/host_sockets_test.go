package attempt

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// connectTo is the environment variable that makes TestHelperConnects connect.
const connectTo = "CONNECT_TO"

// TestHelperConnects connects to Unix sockets, separated by commas.
func TestHelperConnects(t *testing.T) {
	names := os.Getenv(connectTo)
	if names == "" {
		t.Skip("it is a program that an agent runs")
	}
	for name := range strings.SplitSeq(names, ",") {
		c, err := net.Dial("unix", name)
		if err == nil {
			c.Close()
		}
		fmt.Println(name, "connected:", err == nil)
	}
}

// listenUnix makes a socket with its folder.
func listenUnix(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// TestRaidSearchesForSocketsOfTheMachine connects, in a session with the real Codex, to sockets
// of this machine in places for temporary files and elsewhere, and to one whose name is relative.
// Python's Manager works, which uses a socket of its own.
func TestRaidSearchesForSocketsOfTheMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux opens Unix sockets")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := func(parent string) string { // with a short name
		t.Helper()
		path, err := os.MkdirTemp(parent, "s-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(path) })
		return path
	}
	alone, shared, relative := folder(here), folder(here), folder(".")
	writeFile(t, filepath.Join(shared, "note"), "")
	names := []string{
		listenUnix(t, filepath.Join(folder("/tmp"), "a/s")),
		listenUnix(t, filepath.Join(folder("/var/tmp"), "s")),
		listenUnix(t, filepath.Join(alone, "s")),
		listenUnix(t, filepath.Join(shared, "a name")),
		filepath.Join(here, listenUnix(t, filepath.Join(relative, "s"))),
	}
	try := func(t *testing.T, guarded bool) string {
		command := connectTo + "='" + strings.Join(names, ",") + `' ./raider -test.run '^TestHelperConnects$' -test.v
if ! type python3 >/dev/null 2>&1 || python3 -c 'import multiprocessing; multiprocessing.Manager().dict()'; then echo Python has its sockets; fi; echo the command ran`
		f, _ := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{runs(t, command), done}})
		f.job.UnixSockets = true
		f.hooks.AfterCreate = "cp " + quote(program) + " raider"
		if !guarded {
			f.job.Codex.ThreadSandbox = []byte(`"danger-full-access"`)
		}
		if got := f.run(t.Context()); got.Class != schedule.Done {
			t.Fatalf("%+v\n%s", got, f.readLog())
		}
		log := f.readLog()
		for _, text := range append([]string{"the command ran", "Python has its sockets"}, names...) {
			if !strings.Contains(log, text) {
				t.Errorf("nothing says %q, so this shows nothing:\n%s", text, log)
			}
		}
		return log
	}
	t.Run("guard off", func(t *testing.T) {
		log := try(t, false)
		for _, name := range names {
			if !strings.Contains(log, name+" connected: true") {
				t.Errorf("%s is not reached without the guard, so this shows nothing", name)
			}
		}
	})
	t.Run("guard on", func(t *testing.T) {
		if log := try(t, true); strings.Contains(log, "connected: true") {
			t.Errorf("a socket was reached:\n%s", log)
		}
	})
	left, _ := filepath.Glob("/tmp/symphony-socket-*")
	for _, path := range left {
		if c, err := net.Dial("unix", filepath.Join(path, "s")); err == nil {
			c.Close()
			t.Errorf("a session left its socket %s", path)
		}
	}
}

// TestTheScriptedAgentAnswersTheProbesAsCodexDoes runs a session of the agent that has no sandbox.
func TestTheScriptedAgentAnswersTheProbesAsCodexDoes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux opens Unix sockets")
	}
	f := newRepositoryFixture(t, "- [ ] Create `a.txt` containing `one`\n")
	f.job.Loopback, f.job.UnixSockets = true, true
	if got := f.session(t.Context()); got.Class != schedule.Done || len(got.Warnings) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestASocketOfTheMachineMayGoWhileASessionWorks removes one, as another session does that ends.
func TestASocketOfTheMachineMayGoWhileASessionWorks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux opens Unix sockets")
	}
	folder := folderIn(t, "/tmp")
	listenUnix(t, filepath.Join(folder, "s"))
	f, _ := newCodexFixture(t)
	f.job.UnixSockets = true
	f.onUpdate = func(u Update) {
		if u.Thread != "" {
			os.RemoveAll(folder)
		}
	}
	if got := f.run(t.Context()); got.Class != schedule.Done || !strings.Contains(f.readLog(), "the command ran") {
		t.Errorf("%+v\n%s", got, f.readLog())
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the socket did not go, so this shows nothing")
	}
}
