package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// The times of doors.
const (
	openTime  = 10 * time.Second       // for each step of opening a door; the command waits meanwhile
	retryTime = 100 * time.Millisecond // until the next connection is taken, after an error
	killTime  = time.Second            // for a child of a program that stands before nsenter
	lastTime  = time.Second            // for what a command has sent last, after its end
)

// Behind serves the connections of a listener until it is closed, and calls refused with each host
// that the command is refused.
type Behind func(l net.Listener, refused func(host string))

// Doors are the doors of the commands of one session. Its exported fields are set before Open and
// not changed.
type Doors struct {
	Dir      string                    // absolute; the folder of the socket, which no agent may reach
	Self     string                    // path of this program, which calls [Main]
	Networks map[string]map[int]Behind // by the values of [Variable], and by the ports of the command's loopback
	// Refused is called for each host that a command was refused, once for a command.
	Refused func(network, command, host string)
	// Failed is called when a command has no door because of an error.
	Failed func(error)

	nsenter string        // path; empty for the one on the PATH
	within  time.Duration // openTime if it is zero
	socket  *net.UnixListener
	end     context.CancelFunc
	open    sync.WaitGroup
}

// Socket is the name of the socket in [Doors].Dir.
const Socket = "door"

func (d *Doors) path() string { return filepath.Join(d.Dir, Socket) }

// Open begins to open doors.
func (d *Doors) Open() (err error) {
	d.within = cmp.Or(d.within, openTime)
	if d.nsenter == "" {
		if d.nsenter, err = findNsenter(); err != nil {
			return err
		}
	}
	short, done, err := shorten(d.path())
	if err != nil {
		return fmt.Errorf("open doors: %w", err)
	}
	defer done()
	if d.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"}); err != nil {
		return fmt.Errorf("open doors: %w", err)
	}
	d.socket.SetUnlinkOnClose(false) // its folder is removed
	var ctx context.Context
	ctx, d.end = context.WithCancel(context.Background())
	d.open.Go(func() {
		for failed := false; ; {
			connection, err := d.socket.AcceptUnix()
			switch {
			case err == nil:
				failed = false
				d.open.Go(func() { d.serve(ctx, connection) })
			case errors.Is(err, net.ErrClosed):
				return
			default: // agents can use up all descriptors
				if !failed {
					d.Failed(fmt.Errorf("open a door for a command: %w: raise the limit of open files", err))
				}
				failed = true
				select {
				case <-time.After(retryTime):
				case <-ctx.Done():
				}
			}
		}
	})
	return nil
}

// Check returns an error if this machine lacks the program that doors need.
func Check() error {
	_, err := findNsenter()
	return err
}

func findNsenter() (string, error) {
	path, err := exec.LookPath("nsenter")
	if err != nil {
		err = errors.New("nsenter is not on the PATH: install util-linux")
	}
	return path, err
}

// Close closes all doors.
func (d *Doors) Close() error {
	if d.socket == nil {
		return nil
	}
	d.end()
	err := d.socket.Close()
	d.open.Wait()
	return errors.Join(err, os.Remove(d.path()))
}

// serve opens one door, and returns when its command has ended.
func (d *Doors) serve(ctx context.Context, connection *net.UnixConn) {
	_ = connection.SetDeadline(time.Now().Add(d.within)) // a connection has deadlines
	hurry := context.AfterFunc(ctx, func() { connection.Close() })
	defer hurry()
	r, status, begin, err := receive(connection)
	if err == nil {
		_, _ = connection.Write([]byte{0}) // whoever asks waits for it; if that has ended, bubblewrap has too
	}
	connection.Close()                 // agents have many commands
	if errors.Is(err, net.ErrClosed) { // by the end of ctx
		return
	}
	if err != nil {
		d.Failed(fmt.Errorf("open a door for a command: %w", err))
		return
	}
	defer status.Close()
	stop := context.AfterFunc(ctx, func() { status.Close() })
	defer stop()
	behind, known := d.Networks[r.Network]
	ports := slices.Sorted(maps.Keys(behind))
	var listeners []net.Listener
	_ = status.SetReadDeadline(time.Now().Add(d.within)) // the pipe is not blocking
	w, err := readWaiting(status)
	_ = status.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
	case !known:
		err = fmt.Errorf("there is no network %q", r.Network)
	default:
		listeners, err = d.listenIn(ctx, w, ports)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) { // bubblewrap itself says why it has ended
		d.Failed(fmt.Errorf("open a door for a command: %w", err))
	}
	var served sync.WaitGroup
	var mu sync.Mutex
	refused := map[string]bool{}
	for i, listener := range listeners {
		served.Go(func() {
			behind[ports[i]](listener, func(host string) {
				mu.Lock()
				defer mu.Unlock()
				if !refused[host] && len(refused) < maxRefused {
					refused[host] = true
					d.Refused(r.Network, r.Command, host)
				}
			})
		})
	}
	if w != nil {
		if hasEnded(status) { // then nobody would end the command
			_ = w.process.Kill()
		}
		w.close()
	}
	_, _ = begin.Write([]byte{0}) // a command that has ended reads nothing
	begin.Close()
	_, _ = io.Copy(io.Discard, status) // until bubblewrap ends
	if len(listeners) > 0 {
		select {
		case <-time.After(lastTime):
		case <-ctx.Done():
		}
	}
	closeListeners(listeners)
	served.Wait()
}

// maxRefused bounds the hosts that are reported of one command.
const maxRefused = 10
