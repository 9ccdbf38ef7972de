package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// processMark begins the environment variable of every git and its children: the process that
// started them, and the folder of its stores.
const processMark = "SYMPHONY_GIT="

// leftTime bounds how long endLeft waits for processes that it has killed.
const leftTime = 2 * time.Second

// ownMark returns the variable for the children of this process.
func (e *engine) ownMark() string {
	pid := os.Getpid()
	return processMark + strconv.Itoa(pid) + "-" + startOf(pid) + " " + e.dir
}

// endLeft kills the processes that a killed run has left: with the run git itself ends, but a
// child that waits for a server, as for the end of a push, may wait there for minutes and
// change the remote later. It leaves the processes of a live run alone.
func (e *engine) endLeft(ctx context.Context) {
	uid := uint32(os.Geteuid())
	killed := map[int]string{} // start times by process id
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == os.Getpid() || !e.isLeft(pid, uid) {
			continue
		}
		start := startOf(pid)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed[pid] = start
			e.log.WarnContext(ctx, "ended a git of a run that was killed", "pid", pid)
		}
	}
	for deadline := time.Now().Add(leftTime); len(killed) > 0 && time.Now().Before(deadline); {
		for pid, start := range killed {
			if startOf(pid) != start {
				delete(killed, pid)
			}
		}
		<-time.After(time.Millisecond)
	}
}

// isLeft reports whether a process of this user belongs to a git that a dead process started in
// the folder of our stores.
func (e *engine) isLeft(pid int, uid uint32) bool {
	var owner syscall.Stat_t
	if syscall.Stat(procFile(pid, "environ"), &owner) != nil || owner.Uid != uid {
		return false
	}
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	_, mark, found := bytes.Cut(append([]byte{0}, env...), []byte("\x00"+processMark))
	if !found {
		return false
	}
	mark, _, _ = bytes.Cut(mark, []byte{0})
	id, dir, _ := bytes.Cut(mark, []byte(" "))
	parent, start, _ := bytes.Cut(id, []byte("-"))
	starter, err := strconv.Atoi(string(parent))
	return err == nil && string(dir) == e.dir && startOf(starter) != string(start)
}

// startOf returns the time at which a process started, in clock ticks since boot; empty if
// there is no such process, or it is dead and waits to be reaped.
func startOf(pid int) string {
	line, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return ""
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:]) // the name before may hold anything
	if len(fields) < 20 || fields[0][0] == 'Z' {
		return ""
	}
	return string(fields[19])
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
