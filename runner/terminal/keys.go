package terminal

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// keys reads a terminal key by key.
type keys struct {
	in     *os.File
	before *unix.Termios
	wake   *os.File // closed to end the reading
	done   sync.WaitGroup
}

// Is reports whether the file is a terminal.
func Is(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// Size returns the columns and rows of a terminal: none for a file that is not a terminal,
// or for a terminal that does not know its size.
func Size(f *os.File) (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// isForeground reports whether the file is our terminal, and we are its foreground job.
func isForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// readKeys calls pressed with each byte that is typed on a terminal, without showing it.
// Signals that the terminal makes of keys stay. It returns nil if the file is not a
// terminal of which we are the foreground job.
func readKeys(in *os.File, pressed func(byte)) *keys {
	if !isForeground(int(in.Fd())) {
		return nil
	}
	before, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil
	}
	stop, wake, err := os.Pipe()
	if err != nil {
		return nil
	}
	silent := *before
	silent.Lflag &^= unix.ECHO | unix.ICANON
	silent.Cc[unix.VMIN], silent.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(int(in.Fd()), setTermios, &silent) != nil {
		stop.Close()
		wake.Close()
		return nil
	}
	k := &keys{in: in, before: before, wake: wake}
	k.done.Go(func() {
		defer stop.Close()
		k.read(stop, pressed)
	})
	return k
}

// read waits for keys until stop is at its end.
func (k *keys) read(stop *os.File, pressed func(byte)) {
	for {
		ready := []unix.PollFd{{Fd: int32(k.in.Fd()), Events: unix.POLLIN}, {Fd: int32(stop.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return
		}
		if ready[1].Revents != 0 {
			return
		}
		if ready[0].Revents == 0 {
			continue
		}
		var typed [64]byte
		n, err := unix.Read(int(k.in.Fd()), typed[:])
		if err != nil && err != unix.EINTR && err != unix.EAGAIN || n == 0 && err == nil {
			return // the terminal is gone
		}
		for _, b := range typed[:max(0, n)] {
			pressed(b)
		}
	}
}

// close gives the terminal back as it was. It does nothing for nil.
func (k *keys) close() {
	if k == nil {
		return
	}
	_ = unix.IoctlSetTermios(int(k.in.Fd()), setTermios, k.before)
	k.wake.Close()
	k.done.Wait()
}
