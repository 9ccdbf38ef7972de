package workspace

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// adoptOrphans makes this process the one that inherits every process whose
// parent dies, so that nothing a session starts leaves our part of the tree.
func adoptOrphans() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become the subreaper of our children: %w", errno)
	}
	return nil
}

// childAttr: a session of its own, and its end with ours.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// folderPath leads a child to the very folder that is open here.
func folderPath(dir *os.File, _ string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
}

// sweep kills and reaps what the leader left.
func (s *session) sweep() error {
	self := os.Getpid()
	// The kernel gives orphans to our first thread. Mostly there is none, and to
	// know that spares a look at every process of the machine.
	if orphans, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", self)); err == nil && len(orphans) == 0 {
		return nil
	}
	return killAll(s.grace.Kill, s.ws, func(p proc) bool {
		if p.parent != self {
			return false
		}
		if p.group == s.leader || p.session == s.leader {
			return true
		}
		env := environ(p.pid)
		if bytes.Contains(env, []byte("\x00"+sessionMark)) {
			return bytes.Contains(env, []byte("\x00"+sessionMark+s.id+"\x00"))
		}
		cwd, err := os.Readlink(procFile(p.pid, "cwd"))
		return err == nil && (cwd == s.ws.Path || strings.HasPrefix(cwd, s.ws.Path+"/"))
	})
}

// killAll kills the processes that match and their descendants, again and again
// until there are none, and reaps those that are our children. Ourselves and our
// ancestors are never among them.
func killAll(bound time.Duration, ws Workspace, match func(proc) bool) error {
	self := os.Getpid()
	mine := map[int]int{} // start times of what belonged, by process id: the dead match nothing
	deadline := time.Now().Add(bound)
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		all, err := processes()
		if err != nil {
			return err
		}
		verdict := map[int]bool{0: false}
		for p := all[self]; p.pid != 0; p = all[p.parent] {
			if _, seen := verdict[p.pid]; seen {
				break
			}
			verdict[p.pid] = false // ourselves, our parent, and so on
		}
		var belongs func(proc) bool
		belongs = func(p proc) bool {
			known, ok := verdict[p.pid]
			if !ok {
				verdict[p.pid] = false // should the snapshot have a circle
				start, was := mine[p.pid]
				known = was && start == p.start || match(p) || belongs(all[p.parent])
				verdict[p.pid] = known
			}
			return known
		}
		left := 0
		for _, p := range all {
			if !belongs(p) {
				continue
			}
			mine[p.pid] = p.start
			switch {
			case p.state != 'Z':
				left++
				p.kill()
			case p.parent == self:
				syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			case belongs(all[p.parent]):
				left++ // will be ours to reap, once its parent is dead
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kill what was left in %s: %w: %d processes survive SIGKILL", ws.Path, ErrUnresponsive, left)
		}
		time.Sleep(pause)
	}
}
