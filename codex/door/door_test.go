package door

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestACommandReachesItsDoor(t *testing.T) {
	t.Parallel()
	h := opened(t)
	c := h.start(askHere + "; echo ended")
	c.mustSay(greeting)
	h.end() // which ends the connection
	c.mustSay("ended", "")
	if failed := h.failures(); len(failed) > 0 {
		t.Errorf("%q", failed)
	}
	if _, err := os.Lstat(h.path()); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestACommandHasNoMoreDescriptors compares the descriptors of a command with those of one without a
// door. Codex passes some to bubblewrap, so that all low numbers can be used. It is not parallel,
// because a command also inherits what another test has open at that moment.
func TestACommandHasNoMoreDescriptors(t *testing.T) {
	h := opened(t)
	used := script(t, `for fd in 3 4 5 6 7 8 9; do eval "exec $fd</dev/null"; done; exec "$@"`)
	list := inSandbox(`for fd in {0..255}; do [ ! -e /proc/1/fd/$fd ] || echo -n "$fd "; done; echo`)
	for name, before := range map[string][]string{"none used": {"env"}, "all used": {used}} {
		want := h.startIn("", append(append(before, h.bubblewrap), list...)...).line()
		if !strings.HasPrefix(want, "0 1 2 ") {
			t.Fatalf("%s: %q", name, want)
		}
		h.startIn(named, append(before, h.enter(h.bubblewrap, list...)...)...).mustSay(want, "")
	}
}

// TestACommandBeginsAfterItsDoorIsOpen holds nsenter until the test has looked for the command.
func TestACommandBeginsAfterItsDoorIsOpen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	held := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	h.nsenter = script(t, "read go <'"+held+"'; exec nsenter \"$@\"")
	h.begin()
	c := h.start("echo begun; " + askHere)
	begun := make(chan string, 1)
	go func() { begun <- c.line() }()
	release, err := os.OpenFile(held, os.O_WRONLY, 0) // waits until nsenter has begun
	if err != nil {
		t.Fatal(err)
	}
	select {
	case said := <-begun:
		t.Errorf("it has begun: %q", said)
	default:
	}
	fmt.Fprintln(release, "go")
	release.Close()
	if said := <-begun; said != "begun" {
		t.Errorf("%q", said)
	}
	c.mustSay(greeting)
}

func TestADoorClosesWithItsCommand(t *testing.T) {
	t.Parallel()
	t.Run("ends", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		closed := h.next()
		c := h.start("exec 3<>/dev/tcp/127.0.0.1/61080 && read line <&3 && echo $line")
		c.mustSay(greeting, "")
		<-closed
	})
	t.Run("is killed", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		closed := h.next()
		c := h.start(askHere)
		c.mustSay(greeting)
		c.kill()
		<-closed
		c.mustSay("")
	})
	t.Run("outlives bubblewrap", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		closed := h.next()
		words := inSandbox(askHere + `; read go; (exec 3<>/dev/tcp/127.0.0.1/61080) 2>/dev/null || echo closed`)
		words = slices.DeleteFunc(words, func(word string) bool { return word == "--die-with-parent" })
		c := h.startIn(named, h.enter(h.bubblewrap, words...)...)
		c.mustSay(greeting)
		c.kill()
		<-closed
		fmt.Fprintln(c.in, "go")
		c.mustSay("closed", "")
	})
}

func TestManyCommandsHaveDoorsAtOnce(t *testing.T) {
	t.Parallel()
	h := opened(t)
	var all []*command
	for range 50 {
		all = append(all, h.start(askHere))
	}
	for _, c := range all {
		c.mustSay(greeting)
	}
	h.end()
	for _, c := range all {
		c.mustSay("")
	}
	if failed := h.failures(); len(failed) > 0 {
		t.Errorf("%q", failed)
	}
}

// says returns a server that says one line on each connection.
func says(words ...any) Behind {
	return func(l net.Listener, _ func(string)) {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			fmt.Fprintln(c, words...)
			c.Close()
		}
	}
}

// TestADoorHasAListenerOnEachPort asks two ports, and one that the network does not have.
func TestADoorHasAListenerOnEachPort(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Networks["services:"] = map[int]Behind{5432: says("a database"), 6379: says("a cache"), Port: says("a proxy")}
	h.begin()
	const ask = `for port in 6379 5432 61080 5433; do { exec 3<>/dev/tcp/127.0.0.1/$port && cat <&3; } 2>/dev/null || echo nobody; done`
	h.startIn("services:", h.enter(h.bubblewrap, inSandbox(ask)...)...).mustSay("a cache", "a database", "a proxy", "nobody", "")
	if failed := h.failures(); len(failed) > 0 {
		t.Errorf("%q", failed)
	}
}

// TestTheLastWordsOfACommandArrive has a server that takes the connection when the command has ended.
func TestTheLastWordsOfACommandArrive(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ended, heard := make(chan struct{}), make(chan string, 1)
	h.Networks["services:"] = map[int]Behind{5432: func(l net.Listener, _ func(string)) {
		<-ended
		c, err := l.Accept()
		if err != nil {
			heard <- err.Error()
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c) // what has arrived is compared
		heard <- string(text)
	}}
	h.begin()
	h.startIn("services:", h.enter(h.bubblewrap, inSandbox("echo last words >/dev/tcp/127.0.0.1/5432")...)...).mustSay("")
	close(ended)
	if got := <-heard; got != "last words\n" {
		t.Errorf("it heard %q", got)
	}
}

// TestDoorsOfTwoNetworksStayApart has commands of two networks at once.
func TestDoorsOfTwoNetworksStayApart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := range 2 {
		h.Networks[fmt.Sprint("hosts:", i)] = map[int]Behind{Port: says("network", i)}
	}
	h.begin()
	var all []*command
	for i := range 10 {
		all = append(all, h.startIn(fmt.Sprint("hosts:", i%2), h.enter(h.bubblewrap, inSandbox(askHere)...)...))
	}
	for i, c := range all {
		c.mustSay(fmt.Sprint("network ", i%2), "")
	}
}

func TestASocketMayHaveALongPath(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Dir = filepath.Join(h.Dir, strings.Repeat("long", 30))
	if err := os.Mkdir(h.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.begin()
	h.start(askHere).mustSay(greeting)
	h.end()
}

// TestAnOrdinaryUserHasDoors runs tests again as one, for whom bubblewrap makes its namespaces in
// another way than for the superuser.
func TestAnOrdinaryUserHasDoors(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	h := newHouse(t)
	dir := t.TempDir()
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tests, codex := filepath.Join(dir, "door.test"), filepath.Join(dir, "codex/bin/codex")
	for path, of := range map[string]string{tests: h.Self, codex: h.Self, filepath.Join(dir, "codex-linux-x/vendor/x/codex-resources/bwrap"): h.bubblewrap} {
		program, err := os.ReadFile(of)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tests, "-test.v", "-test.run=^(TestACommandReachesItsDoor|TestManyCommandsHaveDoorsAtOnce)$")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "TMPDIR=" + temp, "SYMPHONY_TEST_CODEX=" + codex}
	cmd.Dir, cmd.SysProcAttr = temp, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || strings.Contains(string(said), "--- SKIP: ") {
		t.Skipf("an ordinary user can make no sandbox here: %v\n%s", err, said)
	}
	if err != nil || strings.Count(string(said), "--- PASS: ") != 2 {
		t.Errorf("%v\n%s", err, said)
	}
}
