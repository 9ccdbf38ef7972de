package codex_test

import (
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

// sendsToASocket returns a raid that sends to a datagram socket in a folder.
func (c *testbed) sendsToASocket(name, folder string) raid {
	path := c.path(folder + "/s")
	c.write(folder+"/note", "")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { socket.Close() })
	return raid{
		name: name, command: fmt.Sprintf("%s='%s' '%s' -test.run '^TestHelperSendsADatagram$' -test.v", sendTo, path, os.Args[0]),
		success: func(output string) bool {
			if !strings.Contains(output, "TestHelperSendsADatagram") {
				c.t.Fatalf("the program did not run, so this shows nothing:\n%s", output)
			}
			raw, err := socket.SyscallConn()
			if err != nil {
				c.t.Fatal(err)
			}
			received := 0
			err = raw.Control(func(fd uintptr) { // what was sent is there by now
				received, _, _ = syscall.Recvfrom(int(fd), make([]byte, 10), syscall.MSG_DONTWAIT)
			})
			return err == nil && received > 0
		},
	}
}

// TestRaidSendsToASocketWithoutALoopback has an agent without a loopback: neither a namespace nor
// a filter of Codex prevents this if the agent can read the path of the socket. Therefore /run is
// denied, where the machine has its sockets.
func TestRaidSendsToASocketWithoutALoopback(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	eachModel(t, func(t *testing.T, model string) {
		c := newTestbed(t, model)
		c.closed = true
		denied, open := c.sendsToASocket("", "logs"), c.sendsToASocket("", "open")
		s := c.open(codex.Config{}, "")
		defer c.close(s)
		if denied.success(c.turn(s, denied.command)) {
			t.Error("a socket in a denied folder receives it")
		}
		if !open.success(c.turn(s, open.command)) {
			t.Error("in a folder that can be read it is not received: the table can claim more")
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
			_, failed = s.Turn(t.Context(), codex.Input{Text: "go"})
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
