package workspace

import (
	"os"
	"strconv"
	"strings"
)

// Programs returns the files that the agent's processes are running, so that a
// caller can leave them readable: Codex runs itself again inside its sandbox.
func (p *Process) Programs() []string {
	var paths []string
	seen := map[int]bool{}
	for todo := []int{p.session.leader}; len(todo) > 0; todo = todo[1:] {
		pid := todo[0]
		if seen[pid] {
			continue
		}
		seen[pid] = true
		if path, err := os.Readlink(procFile(pid, "exe")); err == nil && !strings.HasSuffix(path, " (deleted)") {
			paths = append(paths, path)
		}
		children, _ := os.ReadFile(procFile(pid, "task/"+strconv.Itoa(pid)+"/children")) // gone, or none
		for _, child := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(child); err == nil {
				todo = append(todo, pid)
			}
		}
	}
	return paths
}
