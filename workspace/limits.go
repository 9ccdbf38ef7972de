package workspace

import (
	"fmt"
	"math"
	"strings"
	"syscall"
)

// Limits bounds what the processes of one agent may take, by the limits that the
// system has for it (setrlimit(2)). Zero leaves a limit as it is. The agent cannot
// raise them again.
type Limits struct {
	// Processes bounds the processes and threads of our user, all of them: an agent
	// that has reached it starts no more. The superuser has no such bound.
	Processes int
	OpenFiles int // of one process
	// Memory bounds what one process may allocate, in MiB (Linux). Programs that
	// reserve much more than they use, as address sanitizers do, do not start below
	// any bound.
	Memory int
}

// outOfMemory makes the kernel end a process of the agent first, before us, when
// the machine has no memory left (Linux, proc_pid_oom_score_adj(5)).
const outOfMemory = "{ echo 500 > /proc/self/oom_score_adj; } 2>/dev/null\n"

// script returns the lines of shell that apply the limits to everything after
// them. A limit that is lower already stays.
func (l Limits) script() string {
	var b strings.Builder
	b.WriteString(outOfMemory)
	set := func(flag string, resource, limit, unit int) {
		var have syscall.Rlimit
		if limit <= 0 || resource < 0 {
			return
		}
		if syscall.Getrlimit(resource, &have) == nil && have.Max <= math.MaxInt64 {
			limit = min(limit, int(have.Max)/unit)
		}
		// The hard limit alone, unless the soft one is above it.
		fmt.Fprintf(&b, "ulimit -H%s %d 2>/dev/null || ulimit -%[1]s %[2]d 2>/dev/null\n", flag, limit)
	}
	set("n", syscall.RLIMIT_NOFILE, l.OpenFiles, 1)
	set("u", limitProcesses, l.Processes, 1)
	set("d", syscall.RLIMIT_DATA, l.Memory*1024, 1024)
	return b.String()
}
