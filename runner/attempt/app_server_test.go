package attempt

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/internal/codextest"
	"github.com/symphony-runner/symphony/runner/schedule"
)

// onServer has the sessions use a real Codex that runs already, with a home and an environment of its own. It
// returns the path of its socket.
func (f *fixture) onServer(m *codextest.Model) (socket string) {
	f.t.Helper()
	home, socket := f.path("server"), filepath.Join(shortFolder(f.t), "server")
	if err := (codextest.Home{URL: m.URL()}).Write(home); err != nil {
		f.t.Fatal(err)
	}
	codextest.Serve(f.t, "--listen 'unix://"+socket+"' "+codex.SharedSettings,
		"PATH="+os.Getenv("PATH"), "HOME="+f.path("home"), "CODEX_HOME="+home, "FOO_SECRET=s3cret")
	f.job.Account, f.job.Codex.Command, f.job.Codex.Endpoint = Account{Key: "sk-not-for-that-server"}, "", endpoint.Server{Address: endpoint.Address("unix://" + socket)}
	return socket
}

// shortFolder returns a folder whose path leaves room for a socket, whose path is bounded.
func shortFolder(t testing.TB) string {
	t.Helper()
	return folderIn(t, "")
}

// folderIn returns a new folder in parent; in the one for temporary files if that is empty.
func folderIn(t testing.TB, parent string) string {
	t.Helper()
	folder, err := os.MkdirTemp(parent, "s-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// cable is a way to a server that can be cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
}

// layCable leads the sessions to the socket of their server by a cable.
func (f *fixture) layCable(socket string) *cable {
	f.t.Helper()
	listener, err := net.Listen("unix", filepath.Join(shortFolder(f.t), "cable"))
	if err != nil {
		f.t.Fatal(err)
	}
	c := &cable{listener: listener}
	f.t.Cleanup(c.remove)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", socket)
			if err != nil { // the session tries again until the server listens
				near.Close()
				continue
			}
			c.mu.Lock()
			c.open = append(c.open, near, far)
			c.mu.Unlock()
			go func() { io.Copy(far, near); far.Close() }()
			go func() { io.Copy(near, far); near.Close() }()
		}
	}()
	f.job.Codex.Endpoint.Address = endpoint.Address("unix://" + listener.Addr().String())
	return c
}

// remove ends all connections, and takes no others.
func (c *cable) remove() {
	c.listener.Close()
	c.cut()
}

// cut ends all connections.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.open {
		end.Close()
	}
	c.open = nil
}

// A turn goes on while its connection is cut, again and again: also when it ends meanwhile, and when it
// waits for the answer of a tool, which is given once.
func TestATurnSurvivesItsConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		when  string // what is said when the connection is cut
		after []codextest.Reply
	}{
		"while it works": {"cut", []codextest.Reply{runs(t, "echo two > b.txt"), done}},
		"at its end":     {"cut", []codextest.Reply{done}},
		"in a tool":      {"", []codextest.Reply{calls(t, "deliver", map[string]string{"title": "Add a and b", "body": "They are there."}), done}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCodexRepository(t, nil)
			m := codextest.NewModel(codextest.Lane{Replies: append([]codextest.Reply{runs(t, "echo one > a.txt"), {Items: []codextest.Item{
				codextest.Message{Text: "cut"}, codextest.Call{Name: "exec_command", Arguments: `{"cmd":"echo one > c.txt"}`},
			}}}, test.after...)})
			t.Cleanup(m.Close)
			cable := f.layCable(f.onServer(m))
			cut := sync.OnceFunc(cable.cut)
			f.onUpdate = func(u Update) {
				if test.when != "" && strings.Contains(u.Summary+u.Doing, test.when) {
					cut()
				}
			}
			f.deliver = func(Delivery) error {
				if test.when == "" {
					cut()
				}
				return nil
			}
			got := f.session(t.Context())
			if got.Class != schedule.Done || !got.Delivered || len(got.Warnings) > 0 || len(f.deliveries) != 1 || got.Turns != 1 {
				t.Fatalf("%+v, %d deliveries", got, len(f.deliveries))
			}
			if f.logged(slog.LevelWarn, "the session goes on over another") != 1 {
				t.Error("the connection was not cut, so this shows nothing")
			}
			if config, err := os.ReadFile(f.path("server", "config.toml")); err != nil || strings.Contains(string(config), "permissions") {
				t.Errorf("the server keeps %s, %v", config, err)
			}
		})
	}
}

// A connection that is lost for good is charged to nobody. The next session ends the turn, and has the thread,
// the workspace and the work.
func TestALostConnectionCostsNoAttempt(t *testing.T) {
	t.Parallel()
	f := newCodexRepository(t, nil)
	m := codextest.NewModel(codextest.Lane{Replies: []codextest.Reply{
		runs(t, "echo one > a.txt"), {Items: []codextest.Item{codextest.Message{Text: "cut"}}, End: codextest.Hang}, runs(t, "cat a.txt && echo two > b.txt"), done,
	}})
	t.Cleanup(m.Close)
	socket := f.onServer(m)
	cable := f.layCable(socket)
	cut := sync.OnceFunc(cable.remove)
	f.onUpdate = func(u Update) {
		if strings.Contains(u.Summary+u.Doing, "cut") {
			go cut()
		}
	}
	first := f.session(t.Context())
	if first.Class != schedule.Transient || !strings.Contains(first.Why, endpoint.ErrLost.Error()) || first.Thread == "" || len(f.deliveries) > 0 {
		t.Fatalf("%+v", first)
	}
	f.job.Codex.Endpoint.Address = endpoint.Address("unix://" + socket)
	f.job.Thread, f.job.Attempt = first.Thread, 1
	second := f.session(t.Context())
	if second.Class != schedule.Done || !second.Delivered || second.Thread != first.Thread {
		t.Fatalf("%+v", second)
	}
	f.assertPublished("1", "a.txt", "b.txt")
	if config, err := os.ReadFile(f.path("server", "config.toml")); err != nil || strings.Contains(string(config), "permissions") {
		t.Errorf("the server keeps %s, %v", config, err)
	}
}

func TestAServerThatDoesNotAnswerStopsTheTick(t *testing.T) {
	t.Parallel()
	f := newCodexRepository(t, nil)
	f.job.Codex.Endpoint.Address = endpoint.Address("unix://" + f.path("nobody"))
	if got := f.session(t.Context()); got.Class != schedule.Systemic || got.Cause != schedule.CauseStart || !strings.Contains(got.Why, "start the app-server with --listen unix://") {
		t.Errorf("%+v", got)
	}
}
