package codex_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/codextest"
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

// TestRaidSendsToASocketOfTheMachine tries a datagram socket, which no namespace
// and no filter of Codex's keeps an agent from if it can read its path: so /run,
// where the machine has its own, is denied.
func TestRaidSendsToASocketOfTheMachine(t *testing.T) {
	t.Parallel()
	codextest.Path(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(t *testing.T, model, folder string, cfg codex.Config) bool {
		c := newTestbed(t, model)
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
		if !try(t, plainModel, "logs", unguarded()) {
			t.Error("it is not received without the guard, so this shows nothing")
		}
	})
	t.Run("in a folder that can be read", func(t *testing.T) {
		if !try(t, plainModel, "open", codex.Config{}) {
			t.Error("it is not received: the table can claim more")
		}
	})
	eachModel(t, func(t *testing.T, model string) {
		if try(t, model, "logs", codex.Config{}) {
			t.Error("a socket in a denied folder receives it")
		}
	})
}
