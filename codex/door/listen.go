package door

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
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
