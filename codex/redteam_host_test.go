package codex_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/internal/codextest"
)

// sendTo is the environment variable that makes TestHelperSendsADatagram send.
const sendTo = "SEND_TO"

// TestHelperSendsADatagram sends a datagram to the socket that its environment
// names, by the one call that Codex's filter of system calls leaves open.
func TestHelperSendsADatagram(t *testing.T) {
	path := os.Getenv(sendTo)
	if path == "" {
		t.Skip("it is a program that the red team runs")
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Sendmsg(fd, []byte("raided"), nil, &syscall.SockaddrUnix{Name: path}, 0); err != nil {
		t.Fatal(err)
	}
}

// TestRaidSendsToASocketOfTheMachine tries a datagram socket. Without a loopback, neither a
// namespace nor a filter of Codex prevents this if the agent can read the path of the socket.
// Therefore /run is denied, where the machine has its sockets.
func TestRaidSendsToASocketOfTheMachine(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, model, folder string, closed bool, cfg codex.Config) bool {
		c := newTestbed(t, model)
		c.closed = closed
		c.write(folder+"/note", "")
		c.build()
		name := c.path(folder + "/s")
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Skipf("no socket can be made at %s: %v", name, err)
		}
		defer socket.Close()
		output := c.run(cfg, fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperSendsADatagram$' -test.v", sendTo, name, program))
		if !strings.Contains(output, "TestHelperSendsADatagram") {
			t.Fatalf("the program did not run, so this shows nothing:\n%s", output)
		}
		raw, err := socket.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		received := 0
		err = raw.Control(func(fd uintptr) { // what was sent is there by now
			received, _, _ = syscall.Recvfrom(int(fd), make([]byte, 10), syscall.MSG_DONTWAIT)
		})
		return err == nil && received > 0
	}
	t.Run("guard off", func(t *testing.T) {
		if !try(t, plainModel, "logs", false, unguarded()) {
			t.Error("it is not received without the guard, so this shows nothing")
		}
	})
	t.Run("in a folder that can be read", func(t *testing.T) {
		if !try(t, plainModel, "open", true, codex.Config{}) {
			t.Error("it is not received: the table can claim more")
		}
	})
	eachModel(t, func(t *testing.T, model string) {
		if try(t, model, "logs", true, codex.Config{}) {
			t.Error("a socket in a denied folder receives it")
		}
		if try(t, model, "open", false, codex.Config{}) {
			t.Error("a socket receives it from an agent with a loopback")
		}
	})
}

// These tests try what Codex itself reads for the agent, outside of the sandbox's
// commands.

// told reports whether a request to the model contained a text.
func (c *testbed) told(text string) bool {
	for _, r := range c.model.Requests() {
		if strings.Contains(string(r.Body), text) {
			return true
		}
	}
	return false
}

// TestRaidHasCodexReadThroughALink leaves a link with the name of a file that Codex reads
// when the next session begins. Codex may then refuse the turn, which is not an escape.
func TestRaidHasCodexReadThroughALink(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	for name, link := range map[string]struct{ from, to string }{
		"instructions": {"AGENTS.md", "logs/AGENTS.md"},
		"a skill":      {".agents/skills/leak", "logs/skill"},
	} {
		try := func(t *testing.T, model string, cfg codex.Config) (told bool, failed error) {
			c := newTestbed(t, model)
			c.write("logs/AGENTS.md", "this is s3cret")
			c.write("logs/skill/SKILL.md", "---\nname: leak\ndescription: this is s3cret\n---\n")
			c.build()
			from := c.path("workspaces/own/" + link.from)
			if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o700), os.Symlink(c.path(link.to), from)); err != nil {
				t.Fatal(err)
			}
			s := c.open(cfg, "")
			defer c.close(s)
			c.say("true", nil)
			_, failed = s.Turn(t.Context(), "go")
			return c.told("this is s3cret"), failed
		}
		t.Run(name+", guard off", func(t *testing.T) {
			if told, err := try(t, plainModel, unguarded()); !told {
				t.Errorf("it is not read without the guard, so this shows nothing: %v", err)
			}
		})
		t.Run(name, func(t *testing.T) {
			eachModel(t, func(t *testing.T, model string) {
				told, err := try(t, model, codex.Config{})
				if told || err != nil && !strings.Contains(err.Error(), "Permission denied") {
					t.Errorf("the model was told of a denied file: %v, %v", told, err)
				}
			})
		})
	}
}

// TestRaidHasCodexShowAnImage asks Codex for an image in a denied folder.
func TestRaidHasCodexShowAnImage(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	image, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, cfg codex.Config) bool {
		c := newTestbed(t, plainModel)
		c.write("logs/shot.png", string(image))
		s := c.open(cfg, "")
		defer c.close(s)
		arguments, err := json.Marshal(map[string]string{"path": c.path("logs/shot.png")})
		if err != nil {
			t.Fatal(err)
		}
		c.model.Add(codextest.Lane{Replies: []codextest.Reply{{Items: []codextest.Item{codextest.Call{Name: "view_image", Arguments: string(arguments)}}}}})
		if _, err := s.Turn(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		return c.told("data:image/png;base64")
	}
	t.Run("guard off", func(t *testing.T) {
		if !try(t, unguarded()) {
			t.Error("it is not shown without the guard, so this shows nothing")
		}
	})
	if try(t, codex.Config{}) {
		t.Error("the model is shown an image of a denied folder")
	}
}
