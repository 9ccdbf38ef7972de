package workspace

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// proc is a process as /proc/PID/stat describes it.
type proc struct {
	pid, parent, group, session int
	state                       byte // 'Z' for a zombie
	start                       int  // clock ticks since boot; distinguishes two processes that had the same id
}

func listProcesses() (map[int]proc, error) {
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
		if p, ok := readStat(pid); ok {
			all[pid] = p
		}
	}
	return all, nil
}

func readStat(pid int) (proc, bool) {
	var buf [512]byte
	line, _ := readProc(buf[:0], pid, "stat")
	p := proc{pid: pid}
	i := 0
	// The name in parentheses may contain any character, even a parenthesis.
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

// readEnviron returns the environment of a process, each variable between two NULs.
func readEnviron(pid int) []byte {
	env, _ := readProc([]byte{0}, pid, "environ")
	return env
}

// readChildren returns the ids of the children of the first thread of a process.
func readChildren(pid int) ([]string, error) {
	text, err := readProc(nil, pid, "task/"+strconv.Itoa(pid)+"/children")
	return strings.Fields(string(text)), err
}

// readProc appends the content of a file of a process to a buffer. A search reads a
// file for every process of the machine, so this function avoids the overhead of an
// [os.File].
func readProc(buf []byte, pid int, name string) ([]byte, error) {
	fd, err := syscall.Open(procFile(pid, name), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return buf, err
	}
	defer syscall.Close(fd)
	for {
		buf = slices.Grow(buf, 512)
		room := buf[len(buf):cap(buf)]
		n, err := syscall.Read(fd, room)
		buf = buf[:len(buf)+max(n, 0)]
		if err != nil || n < len(room) { // a short read is the last one
			return buf, err
		}
	}
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// kill kills the process, but not another one that got its id in the meantime:
// FindProcess keeps a handle of the process, and its start time identifies it.
func (p proc) kill() {
	held, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer held.Release()
	if now, ok := readStat(p.pid); ok && now.start == p.start {
		held.Kill()
	}
}
