package door

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestACommandWithoutADoorRuns has each step of opening a door fail.
func TestACommandWithoutADoorRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*house)
		want   string
	}{
		"an unknown network":    {func(h *house) { h.Networks = nil }, `there is no network "hosts:test"`},
		"no program":            {func(h *house) { h.Self = "/is/not/there" }, "/is/not/there"},
		"another program":       {func(h *house) { h.Self = script(t, "echo nonsense; echo more >&2") }, "there came 0 listeners of 1"},
		"a program that fails":  {func(h *house) { h.Self = script(t, "echo nonsense >&2; exit 3") }, "exit status 3: nonsense"},
		"no nsenter":            {func(h *house) { h.nsenter = "/is/not/there" }, "/is/not/there"},
		"an nsenter that fails": {func(h *house) { h.nsenter = script(t, "echo it is refused >&2; exit 1") }, "it is refused"},
		"an nsenter that does not": {func(h *house) {
			h.nsenter = script(t, `while [ "$1" != "$0" ]; do case $1 in -*) shift ;; *) exec "$@" ;; esac; done`)
		}, "this is the network namespace"},
		"an nsenter that hangs": {func(h *house) { h.nsenter, h.within = script(t, "exec tail -f /dev/null"), time.Second }, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			self := h.Self
			test.change(h)
			h.begin()
			line := append([]string{self, Name, enterWord, h.path(), h.bubblewrap}, inSandbox(askHere+" 2>/dev/null || echo without")...)
			h.startIn(named, line...).mustSay("without", "")
			h.mustFail(test.want)
		})
	}
}

func TestDoorsNeedNsenter(t *testing.T) {
	t.Setenv("PATH", "/is/not/there")
	d := &Doors{Dir: t.TempDir()}
	if err := d.Open(); err == nil || !strings.Contains(err.Error(), "install util-linux") {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestABubblewrapThatFailsIsNoFailureOfADoor has programs in its place that say why themselves.
func TestABubblewrapThatFailsIsNoFailureOfADoor(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"fails": "/bin/false", "is not there": "/is/not/there"} {
		h := newHouse(t)
		closed := h.next()
		c := h.startIn(named, h.enter(program, "--help")...)
		<-closed
		if err := c.Wait(); err == nil {
			t.Errorf("%s: it succeeds", name)
		}
		if failed := h.failures(); len(failed) > 0 {
			t.Errorf("%s: %q", name, failed)
		}
	}
}

func TestWithoutASocketACommandRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.start(askHere+" 2>/dev/null || echo without").mustSay("without", "")
}

// TestAnotherNamespaceIsRefused says in the place of bubblewrap that this process is the command.
func TestAnotherNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	here, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		t.Skip(err)
	}
	for name, status := range map[string]struct{ said, want string }{
		"another number":  {fmt.Sprintf(`{"child-pid": %d, "net-namespace": 1}`, os.Getpid()), "and not 1"},
		"no number":       {fmt.Sprintf(`{"child-pid": %d}`, os.Getpid()), "and not 0"},
		"no process":      {`{"child-pid": 0, "net-namespace": 1}`, "no such file"},
		"a negative one":  {fmt.Sprintf(`{"child-pid": -1, "net-namespace": %d}`, number(here)), "no such file"},
		"rubbish":         {"rubbish\n", "invalid character"},
		"another type":    {`{"child-pid": "../self"}`, "cannot unmarshal"},
		"half a document": {`{"child-pid"`, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			closed := h.next()
			_, files := h.ask()
			fmt.Fprint(files[0], status.said)
			files[0].Close()
			if n, err := files[1].Read(make([]byte, 2)); n != 1 || err != nil {
				t.Errorf("it is not told to begin: %d, %v", n, err)
			}
			<-closed
			h.mustFail(status.want)
		})
	}
}

// TestTheListenerWaitsForNoLoopback makes one in a namespace whose loopback has no address yet: bubblewrap
// gives it one at any time after it has said which namespace that is.
func TestTheListenerWaitsForNoLoopback(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := unixConn(t, pair[0]), os.NewFile(uintptr(pair[1]), "pair")
	defer ours.Close()
	program := exec.Command("unshare", "--map-root-user", "--net", "sh", "-c", `exec "$0" `+Name+" "+listenWord+` "$(stat -Lc %i /proc/self/ns/net)" 61080`, h.Self)
	program.ExtraFiles = []*os.File{theirs}
	said, err := program.CombinedOutput()
	theirs.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := ours.ReadMsgUnix(make([]byte, 1), rights)
	fds, parsed := descriptors(rights[:n])
	if err != nil || parsed != nil || len(fds) != 1 {
		t.Fatalf("%v, %v, %d listeners", err, parsed, len(fds))
	}
	syscall.Close(fds[0])
}

// ask asks for a door as a program in the place of bubblewrap, and returns the connection and its
// ends of the pipes.
func (h *house) ask() (*net.UnixConn, [2]*os.File) {
	h.t.Helper()
	connection := h.connect()
	status, statusEnd, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	begin, beginEnd, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	defer status.Close()
	defer beginEnd.Close()
	h.t.Cleanup(func() { statusEnd.Close(); begin.Close() })
	message, _ := json.Marshal(request{Network: named})
	if _, _, err := connection.WriteMsgUnix(message, syscall.UnixRights(int(status.Fd()), int(beginEnd.Fd())), nil); err != nil {
		h.t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		h.t.Fatal(err)
	}
	return connection, [2]*os.File{statusEnd, begin}
}

// connect connects to the socket.
func (h *house) connect() *net.UnixConn {
	h.t.Helper()
	connection, err := dial(h.path())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { connection.Close() })
	return connection
}

// TestCloseWaitsForNobody closes doors in each state that one can have.
func TestCloseWaitsForNobody(t *testing.T) {
	t.Parallel()
	fifo := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	hold := func(program string) func(*testing.T, *house) {
		return func(t *testing.T, h *house) {
			path := fifo(t)
			h.nsenter = script(t, fmt.Sprintf(program, path))
			h.begin()
			h.start(askHere)
			begun, err := os.OpenFile(path, os.O_WRONLY, 0) // waits until the program reads
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { begun.Close() })
		}
	}
	for name, state := range map[string]func(*testing.T, *house){
		"no command": func(_ *testing.T, h *house) { h.begin() },
		"a client that says nothing": func(_ *testing.T, h *house) {
			h.begin()
			h.connect()
			h.start(askHere).mustSay(greeting) // so the one before is taken
		},
		"a bubblewrap that has not started":   func(_ *testing.T, h *house) { h.begin(); h.ask() },
		"an nsenter that hangs":               hold("exec cat '%s'"),
		"a child of a program that hangs":     hold("cat '%s'; exit 0"),
		"a connection that the command holds": func(_ *testing.T, h *house) { h.begin(); h.start(askHere).mustSay(greeting) },
		"a command that does not connect":     func(_ *testing.T, h *house) { h.begin(); h.start("echo x; read").mustSay("x") },
		"a bubblewrap that has half spoken": func(_ *testing.T, h *house) {
			h.begin()
			_, files := h.ask()
			fmt.Fprint(files[0], `{"child-pid"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.within = longTime
			state(t, h)
			h.end()
			if failed := h.failures(); len(failed) > 0 {
				t.Errorf("%q", failed)
			}
		})
	}
}

func TestAClientThatSaysNothingIsLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.within = 50 * time.Millisecond
	h.begin()
	if n, err := h.connect().Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
	h.end()
	h.mustFail("i/o timeout")
}

// TestABadRequestLeavesNoDescriptors is not parallel, because it counts those of the process.
func TestABadRequestLeavesNoDescriptors(t *testing.T) {
	good, _ := json.Marshal(request{Network: named})
	for name, test := range map[string]struct {
		message string
		pipes   int
		want    string // empty for none
	}{
		"good":          {string(good), 2, ""},
		"no pipes":      {string(good), 0, "a request has two pipes"},
		"one pipe":      {string(good), 1, "a request has two pipes"},
		"more pipes":    {string(good), 20, ""}, // the kernel keeps those back that have no room
		"rubbish":       {"rubbish", 2, "invalid character"},
		"another type":  {`{"Network": 1}`, 2, "cannot unmarshal"},
		"oversized":     {`{"Network": "` + strings.Repeat("x", 100_000) + `"}`, 2, "unexpected end"},
		"the end":       {"", 0, "EOF"},
		"one byte of 0": {"\x00", 2, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := unixConn(t, pair[0]), unixConn(t, pair[1])
			defer theirs.Close()
			var rights []int
			for range test.pipes {
				rights = append(rights, int(os.Stderr.Fd()))
			}
			sent := make(chan error, 1)
			before := descriptorsHere(t)
			go func() {
				var err error
				if test.message != "" {
					_, _, err = theirs.WriteMsgUnix([]byte(test.message), syscall.UnixRights(rights...), nil)
				}
				theirs.CloseWrite()
				sent <- err
			}()
			_, status, begin, err := receive(ours)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				status.Close()
				begin.Close()
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if after := descriptorsHere(t); after > before {
				t.Errorf("%d descriptors, then %d", before, after)
			}
			ours.Close() // which ends what is still sent
			<-sent
		})
	}
}

func unixConn(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	file := os.NewFile(uintptr(fd), "pair")
	defer file.Close()
	connection, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	return connection.(*net.UnixConn)
}

// descriptorsHere returns the number of open files of this process.
func descriptorsHere(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(all)
}

// TestDoorsOpenAgainAfterDescriptorsWereUsedUp is not parallel, because all of the process are.
func TestDoorsOpenAgainAfterDescriptorsWereUsedUp(t *testing.T) {
	h := newHouse(t)
	failed := make(chan error, 10)
	h.Failed = func(err error) { failed <- err }
	h.begin()
	client, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(client)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	connected := syscall.Connect(client, &syscall.SockaddrUnix{Name: h.path()})
	said := <-failed
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if connected != nil || !strings.Contains(said.Error(), "too many open files") {
		t.Errorf("%v; %v", connected, said)
	}
	h.start(askHere).mustSay(greeting)
	h.end()
}

// TestNothingIsLeft opens and closes doors in all ways, and counts. It is not parallel.
func TestNothingIsLeft(t *testing.T) {
	before := [2]int{}
	for round := range 2 { // the first one starts what stays, such as the poller
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			h := newHouse(t)
			h.begin()
			var all []*command
			for i := range 12 {
				c := h.start(askHere)
				all = append(all, c)
				switch i % 3 {
				case 0:
					c.mustSay(greeting)
				case 1:
					c.mustSay(greeting)
					c.kill()
				case 2:
					c.kill() // at any moment
				}
			}
			h.startIn("unknown", h.enter(h.bubblewrap, inSandbox("true")...)...).mustSay("")
			h.startIn(named, h.enter("/bin/false")...).mustSay("")
			h.connect()
			h.ask()
			h.end()
			for _, c := range all {
				c.line()
			}
		})
		if round == 0 {
			before = [2]int{descriptorsHere(t), runtime.NumGoroutine()}
		}
	}
	after := func() [2]int { return [2]int{descriptorsHere(t), runtime.NumGoroutine()} }
	for until := time.Now().Add(10 * time.Second); after() != before && time.Now().Before(until); {
		runtime.Gosched() // a goroutine ends a little later than it says so
	}
	if got := after(); got[0] > before[0] || got[1] > before[1] {
		t.Errorf("%d, then %d descriptors and goroutines", before, got)
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	}
}

// TestACommandRunsWhereTheSessionEnds has sessions that end in the middle of a request.
func TestACommandRunsWhereTheSessionEnds(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*net.UnixConn){
		"closes":           func(c *net.UnixConn) { c.Close() },
		"reads and closes": func(c *net.UnixConn) { _, _ = c.Read(make([]byte, 10_000)); c.Close() },
		"takes the pipes": func(c *net.UnixConn) {
			_, status, begin, _ := receive(c)
			status.Close()
			begin.Close()
			c.Close()
		},
		"answers": func(c *net.UnixConn) {
			_, status, begin, _ := receive(c)
			status.Close()
			begin.Close()
			_, _ = c.Write([]byte{0})
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: h.path(), Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			c := h.start("echo runs; exit 3")
			connection, err := socket.AcceptUnix()
			if err != nil {
				t.Fatal(err)
			}
			answer(connection)
			c.mustSay("runs", "")
			if err := c.Wait(); fmt.Sprint(err) != "exit status 3" {
				t.Error(err)
			}
		})
	}
}

// TestACommandThatIsKilledBeforeItsDoorIsOpenNeverRuns kills bubblewrap while nsenter is held.
func TestACommandThatIsKilledBeforeItsDoorIsOpenNeverRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	held := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	h.nsenter = script(t, "read go <'"+held+"'; exec nsenter \"$@\"")
	closed := h.next()
	c := h.start("echo runs")
	release, err := os.OpenFile(held, os.O_WRONLY, 0) // waits until nsenter has begun
	if err != nil {
		t.Fatal(err)
	}
	c.kill()
	if _, err := c.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(release, "go")
	release.Close()
	<-closed
	c.mustSay("")
}
