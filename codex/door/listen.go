package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/symphony-runner/symphony/internal/child"
	"github.com/symphony-runner/symphony/internal/text"
)

// answerFD is the descriptor over which listen sends the listeners.
const answerFD = 3

// listen makes listeners on ports in the namespace that it was started in, and sends them over
// answerFD. inode is the number of that namespace.
func listen(inode string, ports []string) error {
	here, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		return fmt.Errorf("open a door: %w", err)
	}
	if strconv.FormatUint(number(here), 10) != inode {
		return fmt.Errorf("open a door: this is the network namespace %d and not %s: %w", number(here), inode, errWrongPlace)
	}
	var fds []int
	for _, port := range ports {
		listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return fmt.Errorf("open a door: %w", err)
		}
		file, err := listener.(*net.TCPListener).File()
		if err != nil {
			return fmt.Errorf("open a door: %w", err)
		}
		defer file.Close() // no earlier: the descriptor is sent
		fds = append(fds, int(file.Fd()))
	}
	if err := syscall.Sendmsg(answerFD, []byte{0}, syscall.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("open a door: %w", err)
	}
	return nil
}

// listenIn returns listeners on ports in the network namespace of a command.
func (d *Doors) listenIn(ctx context.Context, w *waiting, ports []int) ([]net.Listener, error) {
	args := []string{"--preserve-credentials"}
	for i, option := range []string{"--net", "--user"}[:len(w.namespaces)] {
		args = append(args, fmt.Sprintf("%s=/proc/self/fd/%d", option, answerFD+1+i))
	}
	args = append(args, d.Self, Name, listenWord, strconv.FormatUint(w.network, 10))
	for _, port := range ports {
		args = append(args, strconv.Itoa(port))
	}
	syscall.ForkLock.RLock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(pair[0])
		syscall.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "door"), os.NewFile(uintptr(pair[1]), "door")
	defer ours.Close()
	ctx, cancel := context.WithTimeout(ctx, d.within)
	defer cancel()
	var said strings.Builder
	cmd := exec.CommandContext(ctx, d.nsenter, args...)
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = []string{}, append([]*os.File{theirs}, w.namespaces...), &said
	cmd.WaitDelay = killTime
	wait, err := child.Start(cmd)
	theirs.Close() // or the end of nsenter would not end what it sends
	if err != nil {
		return nil, err
	}
	err = wait()
	if err != nil {
		return nil, fmt.Errorf("nsenter: %w: %s", err, text.OneLine(said.String(), maxCommand))
	}
	rights := make([]byte, syscall.CmsgSpace(4*len(ports)))
	syscall.ForkLock.RLock() // or another program that is started now keeps the listeners
	_, received, _, _, err := syscall.Recvmsg(pair[0], make([]byte, 1), rights, syscall.MSG_DONTWAIT)
	var fds []int
	if err == nil {
		fds, err = descriptors(rights[:received])
	}
	syscall.ForkLock.RUnlock()
	if err == nil && len(fds) != len(ports) {
		err = fmt.Errorf("there came %d listeners of %d", len(fds), len(ports))
	}
	var listeners []net.Listener
	for _, fd := range fds {
		file := os.NewFile(uintptr(fd), "listener")
		listener, failed := net.FileListener(file)
		file.Close()
		if err = errors.Join(err, failed); failed == nil {
			listeners = append(listeners, listener)
		}
	}
	if err != nil {
		closeListeners(listeners)
		return nil, err
	}
	return listeners, nil
}

func closeListeners(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// descriptors returns the descriptors that came with a message.
func descriptors(rights []byte) (fds []int, err error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	for _, m := range messages {
		more, parsed := syscall.ParseUnixRights(&m)
		fds, err = append(fds, more...), errors.Join(err, parsed)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return fds, err
}
