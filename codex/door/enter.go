package door

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Name is the first argument with which this program has to call [Main] with the rest.
const Name = "network-door"

// Port and Address lead to the proxy in the namespace of a command. The kernel gives no connection a
// port above 60999 by itself.
const (
	Port    = 61080
	Address = "127.0.0.1:61080"
)

// Variable is the name of the variable that names the network of a command, for the program before
// bubblewrap and for [Main].
const Variable = "SYMPHONY_NETWORK"

// The words of the command line: enter SOCKET BUBBLEWRAP ARGUMENT..., and
// listen INODE PORT...
const (
	enterWord  = "enter"
	listenWord = "listen"
)

// maxCommand bounds the text of a command that a request names, in bytes.
const maxCommand = 1000

// request asks for a door. With it come the end of a pipe to read the status of bubblewrap from,
// and one to write to when the command may begin.
type request struct {
	Network string // value of Variable
	Command string // the last argument of bubblewrap, which is the agent's text
}

// Main runs the part of this program in the place of bubblewrap, or in the namespace of a command. It
// returns the exit status, with an error on stderr, if it did not become bubblewrap.
func Main(args, environ []string, stderr io.Writer) int {
	var err error
	switch {
	case len(args) > 2 && args[0] == enterWord:
		err = enter(args[1], args[2], args[3:], environ)
	case len(args) > 2 && args[0] == listenWord:
		err = listen(args[1], args[2:])
	default:
		err = fmt.Errorf("%s is a part of the sandbox and no command for people", Name)
	}
	if err != nil {
		fmt.Fprintln(stderr, "symphony:", err)
		return 1
	}
	return 0
}

// enter asks for a door and becomes bubblewrap, also if there is none.
func enter(socket, bubblewrap string, args, environ []string) error {
	r := request{Network: variable(environ)}
	if len(args) > 0 {
		r.Command = text.Cut(args[len(args)-1], maxCommand, "")
	}
	options, err := ask(socket, r)
	if err != nil {
		options = nil // a command that reaches nothing says so itself
	}
	words := append([]string{bubblewrap}, options...)
	if err := syscall.Exec(bubblewrap, append(words, args...), environ); err != nil {
		return fmt.Errorf("start bubblewrap: %s: %w", bubblewrap, err)
	}
	return nil
}

func variable(environ []string) string {
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, Variable+"="); found {
			return value
		}
	}
	return ""
}

// ask sends a request, and returns the options of bubblewrap that belong to it.
func ask(socket string, r request) (options []string, err error) {
	connection, err := dial(socket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	var status, begin [2]int
	if err := errors.Join(syscall.Pipe(status[:]), syscall.Pipe(begin[:])); err != nil { // bubblewrap waits, so they block
		return nil, err
	}
	for _, fd := range slices.Concat(status[:], begin[:]) {
		syscall.CloseOnExec(fd)
	}
	message, _ := json.Marshal(r) // two strings always marshal
	if _, _, err := connection.WriteMsgUnix(message, syscall.UnixRights(status[0], begin[1]), nil); err != nil {
		return nil, err
	}
	// Until the session has the pipes, nobody says that the command may begin.
	_ = connection.SetReadDeadline(time.Now().Add(openTime)) // a connection has deadlines
	if _, err := connection.Read(make([]byte, 1)); err != nil {
		return nil, err
	}
	// Where bubblewrap can read its own status, a session that has ended cannot kill it with a signal,
	// which would leave its command waiting for ever.
	written, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", status[1]), syscall.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	waited, err := syscall.Dup(begin[0]) // one that bubblewrap inherits
	if err != nil {
		return nil, err
	}
	return []string{"--json-status-fd", strconv.Itoa(written), "--block-fd", strconv.Itoa(waited)}, nil
}

// dial connects to a Unix socket, whose path may be longer than the kernel takes.
func dial(path string) (*net.UnixConn, error) {
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: short, Net: "unix"})
}

// receive reads a request with its two pipes.
func receive(connection *net.UnixConn) (r request, status, begin *os.File, err error) {
	message, rights := make([]byte, 8*maxCommand), make([]byte, syscall.CmsgSpace(2*4))
	n, received, _, _, err := connection.ReadMsgUnix(message, rights)
	var fds []int
	if err == nil {
		fds, err = descriptors(rights[:received])
	}
	if err == nil {
		err = json.Unmarshal(message[:n], &r)
	}
	if err == nil && len(fds) != 2 {
		err = errors.New("a request has two pipes")
	}
	if err != nil {
		for _, fd := range fds {
			syscall.Close(fd)
		}
		return r, nil, nil, err
	}
	for _, fd := range fds {
		_ = syscall.SetNonblock(fd, true) // a pipe can be that; this lets a close end a read
	}
	return r, os.NewFile(uintptr(fds[0]), "status"), os.NewFile(uintptr(fds[1]), "begin"), nil
}

// shorten returns another path of a Unix socket that the kernel takes, until done is called.
func shorten(path string) (short string, done func(), err error) {
	if len(path) < 100 {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
