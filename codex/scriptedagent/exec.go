package scriptedagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// builtinProfiles are the permission profiles that need no configuration.
var builtinProfiles = []string{":read-only", ":workspace", ":danger-full-access"}

// profiles returns the names of the permission profiles: a setting whose key begins with
// permissions.NAME. defines one. The settings are in the command and in the home's
// config.toml, which Codex reads each time.
func (s *server) profiles() []string {
	names := slices.Clone(builtinProfiles)
	file, _ := os.ReadFile(filepath.Join(s.Home, "config.toml")) // a missing file configures nothing
	for _, setting := range slices.Concat(s.Config, strings.Split(string(file), "\n")) {
		rest, ok := strings.CutPrefix(setting, "permissions.")
		if name, _, found := strings.Cut(rest, "."); ok && found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (s *server) listProfiles(r request) {
	data := []Object{}
	for _, name := range s.profiles() {
		data = append(data, Object{"id": name, "description": nil, "allowed": true})
	}
	r.reply(Object{"data": data, "nextCursor": nil})
}

// startProgram runs a program of the client, without a sandbox. The reply follows when
// the program has ended.
func (s *server) startProgram(ctx context.Context, r request) *Error {
	switch {
	case len(r.Command) == 0:
		return Invalid("command must not be empty")
	case r.ProcessID == "" || !r.Stream || r.TimeoutMs == 0 || r.OutputBytesCap == 0:
		return Invalid("command/exec tty or streaming requires a client-supplied processId; this agent requires that, a timeout and a cap")
	case !slices.Contains(s.profiles(), r.PermissionProfile):
		return Invalid("invalid permission profile: default_permissions refers to undefined profile `%s`", r.PermissionProfile)
	}
	ctx, stop := context.WithCancel(ctx)
	if _, used := s.programs.LoadOrStore(r.ProcessID, stop); used {
		stop()
		return Invalid("duplicate active command/exec process id: %q", r.ProcessID)
	}
	s.running.Go(func() {
		defer stop()
		code, refusal := r.runProgram(ctx)
		s.programs.Delete(r.ProcessID)
		if refusal != nil {
			s.send(Object{"id": r.id, "error": refusal})
			return
		}
		r.reply(Object{"exitCode": code, "stdout": "", "stderr": ""})
	})
	return nil
}

func (s *server) terminateProgram(r request) *Error {
	stop, ok := s.programs.Load(r.ProcessID)
	if !ok {
		return Invalid("no active command/exec for process id %q", r.ProcessID)
	}
	stop.(context.CancelFunc)()
	r.reply(Object{})
	return nil
}

// probes are the variables of the client's probes, which look whether a program has a network
// of its own, and sees the Unix sockets of the machine.
var probes = []string{"SYMPHONY_PROBE_PORT", "SYMPHONY_PROBE_SOCKET"}

// runProgram runs a program to its end and returns its exit code, as Codex reports it. There
// is no sandbox here, so the probes are not run: they succeed as they do with Codex. Nor does bash
// look at the network before a program, by BASH_ENV.
func (r request) runProgram(ctx context.Context) (code int, refusal *Error) {
	if slices.ContainsFunc(probes, func(name string) bool { return r.Env[name] != nil }) {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.TimeoutMs)*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	cmd.Dir = r.Cwd
	cmd.Env = changeEnv(cmd.Environ(), r.Env)
	cmd.Stdout, cmd.Stderr = r.stream("stdout"), r.stream("stderr")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	if err := cmd.Start(); err != nil {
		if _, noFolder := os.Stat(r.Cwd); noFolder != nil {
			return 0, &Error{Code: -32603, Message: "failed to spawn command: No such file or directory (os error 2)"}
		}
		fmt.Fprintf(cmd.Stderr, "\nthread 'main' (2) panicked at linux-sandbox/src/linux_run_main.rs:1199:5:\nFailed to execvp %s: %v\n", r.Command[0], err)
		return 101, nil
	}
	_ = cmd.Wait()                                      // its state has the outcome
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ends the processes that it left running
	switch status := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return 124, nil
	case status.Signaled():
		return 128 + int(status.Signal()), nil
	default:
		return status.ExitStatus(), nil
	}
}

// changeEnv returns an environment with changes. nil unsets a variable.
func changeEnv(env []string, changes map[string]*string) []string {
	env = slices.DeleteFunc(env, func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		_, changed := changes[name]
		return changed
	})
	for name, value := range changes {
		if value != nil && name != "BASH_ENV" {
			env = append(env, name+"="+*value)
		}
	}
	return env
}

// stream returns a stream of a program's output on its way to the client.
func (r request) stream(name string) io.Writer { return &stream{name, r, r.OutputBytesCap} }

type stream struct {
	name string
	request
	left int // bytes until the cap
}

func (s *stream) Write(data []byte) (int, error) {
	if s.left > 0 {
		kept := data[:min(len(data), s.left)]
		s.left -= len(kept)
		s.s.notify("command/exec/outputDelta", Object{
			"processId": s.ProcessID, "stream": s.name, "deltaBase64": kept, "capReached": s.left == 0})
	}
	return len(data), nil
}
