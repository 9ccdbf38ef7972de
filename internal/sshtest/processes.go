package sshtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Processes returns the command lines of what runs on the host: the sshd of each connection, and all that descends from
// it or has the mark of the host in its environment.
func (h *Host) Processes() []string {
	return slices.Sorted(maps.Values(h.find()))
}

// Left waits until nothing runs on the host, at most a minute, and returns what still runs.
func (h *Host) Left() (left []string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if left = h.Processes(); len(left) == 0 {
			break
		}
	}
	return left
}

// find returns the processes of the host and their command lines, by id.
func (h *Host) find() map[int]string {
	h.mu.Lock()
	roots := map[int]bool{}
	for command := range h.sessions {
		roots[command.Process.Pid] = true
	}
	h.mu.Unlock()
	parents, commands := map[int]int{}, map[int]string{}
	entries, _ := os.ReadDir("/proc") // none without Linux
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // empty if it has ended
		_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		commands[pid] = strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+h.mark+"\x00")) {
			roots[pid] = true
		}
	}
	found := map[int]string{}
	for pid := range parents {
		for at := pid; at != 0; at = parents[at] {
			if roots[at] {
				found[pid] = commands[pid]
				break
			}
		}
	}
	return found
}
