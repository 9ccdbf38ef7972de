package codex_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// newSharedTestbed returns a testbed with the real Codex as a server that runs already.
func newSharedTestbed(t *testing.T, listen string) *testbed {
	t.Helper()
	codextest.Path(t)
	c := newTestbed(t, plainModel)
	switch c.shared = listen; listen {
	case "unix":
		folder, err := os.MkdirTemp("", "s") // the path of a socket is bounded
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		c.shared = "unix://" + folder + "/codex"
	case "ws":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.shared = "ws://" + l.Addr().String()
		l.Close()
		c.token = "a-token-that-nobody-guesses-0123456789"
		c.write("user/token", c.token)
		c.arguments = " --ws-auth capability-token --ws-token-file " + c.path("user/token")
	}
	return c
}

// TestAServerThatRunsAlready has the real Codex serve a session over both kinds of connection.
func TestAServerThatRunsAlready(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"unix", "ws"} {
		t.Run(listen, func(t *testing.T) {
			t.Parallel()
			c := newSharedTestbed(t, listen)
			s := c.connect(false)
			if got := c.exec(s, "echo one > a.txt; cat a.txt; env | grep -c SECRET=; env | grep -c s3cret; echo $HOME"); got != "one\n0\n0\n"+c.path("user")+"\n" {
				t.Errorf("a program of the host prints %q", got)
			}
			if err := s.OpenThread(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := c.turn(s, "cat a.txt; echo two > b.txt; env | grep -c 'FOO\\|TRACKER\\|OPENAI'; cat '"+c.path("homes/own/config.toml")+"'; echo x > "+c.path("user/x")+"; cat /proc/net/dev"); !strings.Contains(got, "one\n0\n") ||
				!strings.Contains(got, "Permission denied") || c.exists("user/x") || strings.Contains(got, "eth") || c.read("workspaces/own/b.txt") != "two\n" {
				t.Errorf("a turn prints %s", got)
			}
			thread := s.ThreadID()
			if !strings.Contains(c.read("homes/own/config.toml"), "[permissions.symphony-") {
				t.Error("the profile is not in the server's configuration, so the test of its removal shows nothing")
			}
			c.close(s)
			if config := c.read("homes/own/config.toml"); strings.Contains(config, "symphony-") {
				t.Errorf("the server keeps\n%s", config)
			}
			again := c.open(codex.Config{}, thread)
			if !again.Resumed() {
				t.Error("the thread is not resumed")
			}
			c.turn(again, "true")
			c.close(again)
		})
	}
}

// No key of this program goes to a server that runs already, so the advice is about its own login.
func TestAServerThatRunsAlreadyNeedsALogin(t *testing.T) {
	t.Parallel()
	c := newSharedTestbed(t, "unix")
	c.serving = true // it is started below, with another configuration
	_, options := c.start(codex.Config{}, false)
	c.write("homes/own/config.toml", "")
	c.serve(codex.SharedSettings)
	_, err := codex.Preflight(t.Context(), c.connection(nil), options)
	if want := "run `codex login` with CODEX_HOME=" + c.path("homes/own"); !errors.Is(err, codex.ErrNotLoggedIn) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// client is another client of a server that runs already.
type client struct {
	t     *testing.T
	w     io.Writer
	lines *bufio.Scanner
	last  int
}

func (c *testbed) newClient(t *testing.T) *client {
	connection := c.connection(nil)
	t.Cleanup(func() { connection.Close() })
	x := &client{t: t, w: connection, lines: bufio.NewScanner(connection)}
	x.lines.Buffer(nil, 16<<20)
	x.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "other", "version": "1"}, "capabilities": map[string]bool{"experimentalApi": true}})
	return x
}

// call returns the thread in the answer to a call.
func (x *client) call(method string, params any) (thread struct {
	ID     string
	Status struct{ Type string }
}) {
	x.t.Helper()
	x.last++
	text, _ := json.Marshal(map[string]any{"id": x.last, "method": method, "params": params})
	if _, err := fmt.Fprintf(x.w, "%s\n", text); err != nil {
		x.t.Fatal(err)
	}
	for x.lines.Scan() {
		var m struct {
			ID     any
			Error  json.RawMessage
			Result struct{ Thread json.RawMessage }
		}
		if json.Unmarshal(x.lines.Bytes(), &m); m.ID != float64(x.last) {
			continue
		}
		if m.Error != nil && method != "thread/read" { // which fails while a thread is new
			x.t.Fatalf("%s: %s", method, m.Error)
		}
		json.Unmarshal(m.Result.Thread, &thread)
		return thread
	}
	x.t.Fatal(x.lines.Err())
	return thread
}

// await waits until a thread has a status.
func (x *client) await(thread, status string) {
	x.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for x.call("thread/read", map[string]string{"threadId": thread}).Status.Type != status {
		if time.Now().After(deadline) {
			x.t.Fatalf("the thread is not %s", status)
		}
	}
}

// A turn whose session lost its connection works on in the workspace, until the next session begins
// there. The threads of others go on.
func TestTheTurnOfALostSessionIsEnded(t *testing.T) {
	t.Parallel()
	c := newSharedTestbed(t, "unix")
	_, options := c.start(codex.Config{}, false)
	lost := c.connection(nil)
	session, err := codex.Open(t.Context(), lost, options)
	if err != nil {
		t.Fatal(err)
	}
	c.model.Add(codextest.Lane{Replies: []codextest.Reply{{End: codextest.Hang}}})
	person := c.newClient(t)
	elsewhere := person.call("thread/start", map[string]string{"cwd": c.path("user"), "approvalPolicy": "never"}).ID
	person.call("turn/start", map[string]any{"threadId": elsewhere, "input": []any{map[string]string{"type": "text", "text": "go"}}})
	ended := make(chan error)
	go func() {
		_, err := session.Turn(t.Context(), codex.Input{Text: "go"})
		ended <- err
	}()
	person.await(session.ThreadID(), "active")
	lost.Close()
	if err := <-ended; !errors.Is(err, codex.ErrPortExit) {
		t.Fatalf("the turn ended with %v", err)
	}
	session.Close()
	person.await(session.ThreadID(), "active")
	next := c.connect(false)
	defer c.close(next)
	if status := person.call("thread/read", map[string]string{"threadId": session.ThreadID()}).Status.Type; status != "idle" {
		t.Errorf("the turn of the lost session is %s", status)
	}
	if status := person.call("thread/read", map[string]string{"threadId": elsewhere}).Status.Type; status != "active" {
		t.Errorf("the turn of somebody else is %s", status)
	}
}

func TestAServerThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments string
		change    func(*testbed, *codex.Options)
		says      string
		kind      error
	}{
		"without the settings": {"", nil, "start it with -c 'default_permissions", codex.ErrSettings},
		"with other files":     {codex.SharedSettings, func(c *testbed, o *codex.Options) { o.Temp = "/proc/self/root" + o.Temp + "/none" }, "find out where", os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSharedTestbed(t, "unix")
			c.serving = true
			_, options := c.start(codex.Config{}, false)
			c.serve(test.arguments)
			if test.change != nil {
				test.change(c, &options)
			}
			_, err := codex.Open(t.Context(), c.connection(nil), options)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// callTo is the variable that names the socket for [TestHelperCallsASocket].
const callTo = "SYMPHONY_TEST_CALL_TO"

// TestHelperCallsASocket is a program for raids.
func TestHelperCallsASocket(t *testing.T) {
	path := os.Getenv(callTo)
	if path == "" {
		t.Skip("a program for raids")
	}
	_, err := net.Dial("unix", path)
	fmt.Println("the answer is", err)
}

// TestRaidOnAServerThatRunsAlready makes the raids where the server is not of our own making.
func TestRaidOnAServerThatRunsAlready(t *testing.T) {
	t.Parallel()
	c := newSharedTestbed(t, "unix")
	s := c.openForRaids(codex.Config{})
	defer c.close(s)
	callsTheServer := raid{
		name: "CallsTheServer", command: fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperCallsASocket$' -test.v", callTo, strings.TrimPrefix(c.shared, "unix://"), os.Args[0]),
		success: func(output string) bool {
			if !strings.Contains(output, "the answer is") {
				c.t.Fatalf("the program did not run, so this shows nothing:\n%s", output)
			}
			return strings.Contains(output, "the answer is <nil>")
		},
	}
	for _, r := range append(raids(c), callsTheServer) {
		t.Run(r.name, func(t *testing.T) {
			c.t = t
			if r.by == nil {
				r.by = func(s testSession) string { return c.turn(s, r.command) }
			}
			if r.name == "PlantsLinksInItsOwnTmp" {
				t.Skip("no program of ours stands before its bubblewrap, so commands have no /tmp of their own")
			}
			sees := r.name == "ReadsTheSharedTemporaryFolder" // for the same reason: SECURITY.md says so
			if output := r.by(s); r.success(output) != sees {
				t.Errorf("the attempt succeeds: %t\n%.3000s", !sees, output)
			}
		})
		c.t = t
	}
}
