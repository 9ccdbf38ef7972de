package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const limitProcesses = 6 // RLIMIT_NPROC, which package syscall does not name

// machineMemory returns the bytes of memory that this machine has, or the container, if it has
// less; 0 if that is not known. It looks once.
var machineMemory = sync.OnceValue(func() uint64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if bound, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // "max" is none
			total = min(total, bound)
		}
	}
	return total
})

// kernelFS are the types of file systems that show the kernel and take no files, also from the
// superuser (statfs(2)).
var kernelFS = []int64{0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1} // proc, sysfs, cgroup, cgroup2, devpts

func isKernelFS(path string) bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(path, &fs) == nil && slices.Contains(kernelFS, int64(fs.Type))
}

// HideFromChildren makes the environment, memory and open files of this process
// unreadable for other processes of the same user, including its children, in /proc
// and by ptrace (prctl(2), PR_SET_DUMPABLE). Children are readable again once they
// execute another program. Call it before the first child starts. The superuser can
// still read everything.
func HideFromChildren() error {
	const setDumpable = 4
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("hide this process from its children: prctl: %w", errno)
	}
	return nil
}

// becomeSubreaper makes this process the parent of every descendant whose own parent
// dies, so that nothing a session starts leaves our part of the process tree.
func becomeSubreaper() error {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become the subreaper of our children: %w", errno)
	}
	return nil
}

// ReapOrphans frees dead processes that became our children, until this process ends. Codex leaves
// two of them for each command in a network of its own, and they would fill the machine's table of
// processes.
func ReapOrphans() {
	died := make(chan os.Signal, 1) // one is enough: each look finds all
	signal.Notify(died, syscall.SIGCHLD)
	for range died {
		reapOrphans()
	}
}

// reapOrphans frees dead children that we did not start. Those that we start have our session or
// one of their own, and whoever has started them waits for them.
func reapOrphans() {
	self := os.Getpid()
	own, _ := readStat(self)
	children, _ := readChildren(self) // empty if there are none
	for _, child := range children {
		pid, _ := strconv.Atoi(child) // the kernel writes numbers
		if p, ok := readStat(pid); ok && p.state == 'Z' && p.parent == self && p.session != own.session && p.session != pid {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // another look may have been faster
		}
	}
}

// childDir returns the working directory for a child: dir by its descriptor, so that
// the child cannot end up in another folder that was put at the same path.
func childDir(dir *os.File, _ string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd()))
}

func (s *session) killRemaining() error {
	self := os.Getpid()
	// The kernel makes orphans the children of our first thread. If that starts no session, it
	// usually has no children, and then no search through all processes of the machine is needed.
	if orphans, err := readChildren(self); err == nil && len(orphans) == 0 {
		return nil
	}
	return killMatching(s.grace.Kill, s.ws, func(p proc) bool {
		if p.parent != self {
			return false
		}
		if p.group == s.leader || p.session == s.leader {
			return true
		}
		env := readEnviron(p.pid)
		if bytes.Contains(env, []byte("\x00"+sessionMark)) {
			return bytes.Contains(env, []byte("\x00"+sessionMark+s.id+"\x00"))
		}
		return p.isInside(s.ws)
	})
}

func (p proc) isInside(ws Workspace) bool {
	cwd, err := os.Readlink(procFile(p.pid, "cwd"))
	return err == nil && (cwd == ws.Path || strings.HasPrefix(cwd, ws.Path+"/"))
}

// killMatching kills the processes that match and their descendants, repeatedly until
// there are none, and reaps those that are our children. It never kills this process
// or its ancestors. The error is [ErrUnresponsive] if some survive for longer than
// bound.
func killMatching(bound time.Duration, ws Workspace, match func(proc) bool) error {
	self := os.Getpid()
	matched := map[int]int{} // start times by process id: a dead process matches nothing any more
	deadline := time.Now().Add(bound)
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		all, err := listProcesses()
		if err != nil {
			return err
		}
		decided := map[int]bool{0: false}
		for p := all[self]; p.pid != 0; p = all[p.parent] {
			if _, seen := decided[p.pid]; seen {
				break
			}
			decided[p.pid] = false // this process, its parent, and so on
		}
		var belongs func(proc) bool
		belongs = func(p proc) bool {
			answer, ok := decided[p.pid]
			if !ok {
				decided[p.pid] = false // ends the recursion if the snapshot has a cycle
				start, before := matched[p.pid]
				answer = before && start == p.start || match(p) || belongs(all[p.parent])
				decided[p.pid] = answer
			}
			return answer
		}
		left := 0
		for _, p := range all {
			if !belongs(p) {
				continue
			}
			matched[p.pid] = p.start
			switch {
			case p.state != 'Z':
				left++
				p.kill()
			case p.parent == self:
				syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			case belongs(all[p.parent]):
				left++ // becomes our child, to be reaped, when its parent is dead
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kill the processes left in %s: %w: %d of them survive SIGKILL", ws.Path, ErrUnresponsive, left)
		}
		time.Sleep(pause)
	}
}

// killLeftovers kills the processes that an earlier, killed run left in a workspace: our user's
// processes whose environment names the workspace, and their descendants. A process without any
// environment belongs to the workspace that it is in: one that is just starting another program
// shows none for a moment. The caller holds the issue's claim, so no such process is wanted.
// The error is [ErrBusy].
func (r *Root) killLeftovers(ctx context.Context, ws Workspace) error {
	mark := []byte("\x00" + workspaceMark + ws.Path + "\x00")
	uid := uint32(os.Geteuid())
	found := 0
	err := killMatching(r.Grace.Kill, ws, func(p proc) bool {
		var owner syscall.Stat_t
		if syscall.Stat(procFile(p.pid, "environ"), &owner) != nil || owner.Uid != uid {
			return false
		}
		env := readEnviron(p.pid)
		if isEmpty := len(env) <= 1; !bytes.Contains(env, mark) && !(isEmpty && p.isInside(ws)) {
			return false
		}
		found++
		return true
	})
	if err != nil {
		return fmt.Errorf("workspace %s: %w: %w", ws.Path, ErrBusy, err)
	}
	if found > 0 {
		r.issueLogger(ws).WarnContext(ctx, "processes of an earlier run killed", "path", ws.Path, "processes", found)
	}
	return nil
}

// Programs returns the paths of the executables that the agent's processes run, so
// that the caller can leave them readable: Codex executes itself again inside its
// sandbox.
func (p *Process) Programs() []string { return Programs(p.session.leader) }

// Programs returns the paths of the executables that a process and its descendants run.
func Programs(pid int) []string {
	var paths []string
	seen := map[int]bool{}
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		pid := todo[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if path, err := os.Readlink(procFile(pid, "exe")); err == nil && !strings.HasSuffix(path, " (deleted)") {
			paths = append(paths, path)
		}
		children, _ := readChildren(pid) // empty if the process is gone or has no children
		for _, child := range children {
			if pid, err := strconv.Atoi(child); err == nil {
				todo = append(todo, pid)
			}
		}
	}
	return paths
}
