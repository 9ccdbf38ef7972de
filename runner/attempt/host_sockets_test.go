package attempt

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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
		f, _ := newCodexFixture(t, codextest.Lane{Replies: []codextest.Reply{
			calls(t, "exec_command", map[string]string{"cmd": command}),
			{Items: []codextest.Item{codextest.Message{Text: "Done."}}},
		}})
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

// TestSocketsAreFoundByEveryPath searches what /proc says of another machine.
func TestSocketsAreFoundByEveryPath(t *testing.T) {
	t.Parallel()
	f := &repositoryFixture{fixture: &fixture{t: t, dir: realPath(t, t.TempDir())}}
	alone := listenUnix(t, f.path("alone/s"))
	shared := listenUnix(t, f.path("with blanks/s"))
	writeFile(t, f.path("with blanks/note"), "")
	listenUnix(t, f.path("cwd/below/s"))
	writeFile(t, f.path("cwd/below/note"), "")
	listenUnix(t, f.path("alias/alone/s"))                // as if alone were mounted there too
	inContainer := listenUnix(t, f.path("volume/docker")) // made by a program of another namespace
	mountOfSocket := listenUnix(t, f.path("api"))
	gone := f.path("gone")
	line := "0000000000000000: 00000002 00000000 00010000 0001 01 12345"
	writeFile(t, f.path("proc/net/unix"), "Num       RefCount Protocol Flags    Type St Inode Path\n"+
		line+"\n"+line+" @abstract\n"+line+" "+alone+"\n"+line+" "+shared+"\n"+line+" below/s\n"+line+" "+gone+"\n")
	f.check(os.MkdirAll(f.path("proc/7"), 0o700))
	f.check(os.Symlink(f.path("cwd"), f.path("proc/7/cwd")))
	writeFile(t, f.path("proc/self/mountinfo"), "short\n1 0 8:1 / / rw - ext4 /dev/sda rw\n"+
		"2 1 8:1 "+f.path("alone")+" "+f.path("alias/alone")+" rw - ext4 /dev/sda rw\n"+
		"3 1 8:2 /v "+f.path("volume")+" rw - ext4 /dev/sdb rw\n4 1 8:3 /api.sock "+f.path("api")+" rw - tmpfs none rw\n"+
		`5 1 8:4 / `+strings.ReplaceAll(f.path("with blanks"), " ", `\040`)+" rw - ext4 /dev/sdc rw\n")
	got, err := hostSockets(f.path("proc"), func(name string) (string, bool) { return "/run/agent", name == "SSH_AUTH_SOCK" })
	f.check(err)
	for _, want := range []string{filepath.Dir(alone), shared, f.path("cwd/below/s"), f.path("alias/alone"), inContainer, mountOfSocket, "/tmp", "/run/agent"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not denied", want)
		}
	}
	for _, path := range got {
		if path == gone || strings.Contains(path, "abstract") || path == f.path("with blanks") {
			t.Errorf("%s is denied", path)
		}
	}
	if _, err := hostSockets(f.path("nothing"), nil); err == nil {
		t.Error("a search that is not possible finds nothing")
	}
}

// TestABindMountHasItsSocketsDenied mounts a folder at a second place, where this is allowed.
func TestABindMountHasItsSocketsDenied(t *testing.T) {
	t.Parallel()
	if exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("no mount namespace can be made here")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &repositoryFixture{fixture: &fixture{t: t, dir: realPath(t, t.TempDir())}}
	listenUnix(t, f.path("a/x/s"))
	writeFile(t, f.path("a/x/note"), "")
	f.check(os.Mkdir(f.path("b"), 0o700))
	look := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$1/a" "$1/b" && exec "$2" -test.run '^TestHelperSearches$' -test.v`, "sh", f.dir, program)
	look.Env = append(os.Environ(), searchHere+"=1")
	found, err := look.CombinedOutput()
	if err != nil || !strings.Contains(string(found), f.path("b/x/s\n")) || !strings.Contains(string(found), f.path("a/x/s\n")) {
		t.Errorf("%v:\n%s", err, found)
	}
}

// searchHere is the environment variable that makes TestHelperSearches search.
const searchHere = "SEARCH_HERE"

// TestHelperSearches prints what is denied on this machine.
func TestHelperSearches(t *testing.T) {
	if os.Getenv(searchHere) == "" {
		t.Skip("it runs in other mounts")
	}
	paths, err := hostSockets("/proc", os.LookupEnv)
	fmt.Println(strings.Join(paths, "\n"), err)
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
