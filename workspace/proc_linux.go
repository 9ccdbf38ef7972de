package workspace

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// proc is what /proc/PID/stat says.
type proc struct {
	pid, parent, group, session int
	state                       byte
	start                       int // clock ticks since boot
}

// processes is every process we can see, by id.
func processes() (map[int]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make(map[int]proc, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := stat(pid); ok {
			all[pid] = p
		}
	}
	return all, nil
}

func stat(pid int) (proc, bool) {
	var buf [512]byte
	line := readProc(buf[:0], pid, "stat")
	p := proc{pid: pid}
	i := 0
	// The name in parentheses may hold anything, also parentheses.
	for field := range bytes.FieldsSeq(line[bytes.LastIndexByte(line, ')')+1:]) {
		number := func() (n int) { n, _ = strconv.Atoi(string(field)); return n }
		switch i {
		case 0:
			p.state = field[0]
		case 1:
			p.parent = number()
		case 2:
			p.group = number()
		case 3:
			p.session = number()
		case 19:
			p.start = number()
			return p, true
		}
		i++
	}
	return proc{}, false
}

// environ is a process's environment, each variable between two NULs.
func environ(pid int) []byte { return readProc([]byte{0}, pid, "environ") }

// readProc appends a file of a process to a buffer. A sweep reads one for every
// process there is, so it goes without the overhead of an [os.File]. What cannot
// be read is empty.
func readProc(buf []byte, pid int, name string) []byte {
	fd, err := syscall.Open(procFile(pid, name), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return buf
	}
	defer syscall.Close(fd)
	for {
		buf = slices.Grow(buf, 512)
		room := buf[len(buf):cap(buf)]
		n, err := syscall.Read(fd, room)
		buf = buf[:len(buf)+max(n, 0)]
		if err != nil || n < len(room) { // a short read is the last one
			return buf
		}
	}
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// kill kills a process, and not another one that got its number meanwhile:
// FindProcess holds on to the process, stat shows that it is the one.
func (p proc) kill() {
	held, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer held.Release()
	if now, ok := stat(p.pid); ok && now.start == p.start {
		held.Kill()
	}
}
