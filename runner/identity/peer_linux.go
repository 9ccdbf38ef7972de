package identity

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// canProve returns an error where nothing proves which process asks.
func canProve() error { return nil }

// prove returns an error unless the client of a connection is this program, started by a
// process below leader or by leader itself, in the namespaces of this process. Every sandbox
// gives its commands other mounts, so no command of the agent has the same.
func prove(conn *net.UnixConn, leader int) error {
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	for _, namespace := range []string{"mnt", "user", "pid"} {
		own, err := os.Readlink("/proc/self/ns/" + namespace)
		if err != nil {
			return err
		}
		its, err := os.Readlink(procFile(pid, "ns/"+namespace))
		if err != nil || its != own {
			return fmt.Errorf("process %d is in a sandbox or is gone", pid)
		}
	}
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return err
	}
	if its, err := os.Stat(procFile(pid, "exe")); err != nil || !os.SameFile(own, its) {
		return fmt.Errorf("process %d is another program", pid)
	}
	for at, steps := pid, 0; steps < maxAncestors && at > 1; steps++ {
		if at, err = parent(at); err != nil {
			return err
		}
		if at == leader {
			return nil
		}
	}
	return fmt.Errorf("process %d was not started by the session", pid)
}

// maxAncestors bounds how far up the tree of processes the leader is looked for.
const maxAncestors = 64

// peer returns the id of the process that made a connection, as the kernel knows it.
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var who *syscall.Ucred
	if controlled := raw.Control(func(fd uintptr) {
		who, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); controlled != nil || err != nil {
		return 0, errors.Join(controlled, err)
	}
	if who.Pid <= 0 || int(who.Uid) != os.Getuid() {
		return 0, errors.New("it is of another user or container")
	}
	return int(who.Pid), nil
}

func parent(pid int) (int, error) {
	line, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may contain any character, even a parenthesis.
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d has no parent", pid)
	}
	return strconv.Atoi(string(fields[1]))
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
