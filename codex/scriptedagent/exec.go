package scriptedagent

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The defaults of Codex for what a client leaves out.
const (
	defaultExecTime = 10 * time.Second
	defaultExecCap  = 1 << 20
)

// errTerminated is the cause of a program's end when the client asked for it.
var errTerminated = errors.New("terminated")

// builtinProfiles are the permission profiles that need no configuration.
var builtinProfiles = []string{":read-only", ":workspace", ":danger-full-access"}

// settings returns the lines that configure the agent: those of its command, and of
// config.toml in the home, which Codex reads each time and of which the agent understands one
// setting in a line.
func (a *agent) settings() []string {
	file, _ := os.ReadFile(filepath.Join(a.home, "config.toml")) // a missing file configures nothing
	return slices.Concat(a.config, strings.Split(string(file), "\n"))
}

// printCertificates prints the path of the certificates of a proxy that reads requests, if the
// network of a profile has one. There is no proxy here, so the certificate is none.
func (a *agent) printCertificates(profile string, stdout io.Writer) *wireError {
	isRead := func(setting string) bool {
		return strings.HasPrefix(setting, "permissions."+profile+".network=") && strings.Contains(setting, `"mode"="limited"`)
	}
	if !slices.ContainsFunc(a.settings(), isRead) {
		return nil
	}
	path := filepath.Join(a.home, "proxy/ca-bundle-scripted.pem")
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("scripted")}), 0o600)
	}
	if err != nil {
		return &wireError{Code: -32603, Message: err.Error()}
	}
	_, _ = io.WriteString(stdout, path) // the connection says if it has ended
	return nil
}

// profiles returns the names of the permission profiles: those that a setting whose key
// begins with permissions.NAME. defines.
func (a *agent) profiles() []string {
	names := slices.Clone(builtinProfiles)
	for _, setting := range a.settings() {
		rest, ok := strings.CutPrefix(setting, "permissions.")
		if name, _, found := strings.Cut(rest, "."); ok && found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *agent) listProfiles(params json.RawMessage) (object, func(), *wireError) {
	if err := decode(params, &struct{}{}); err != nil {
		return nil, nil, err
	}
	data := []object{}
	for _, name := range a.profiles() {
		data = append(data, object{"id": name, "description": nil, "allowed": true})
	}
	return object{"data": data, "nextCursor": nil}, nil, nil
}

// programs are the programs that command/exec has started, by the client's id.
type programs struct {
	mu   sync.Mutex
	stop map[string]context.CancelCauseFunc
}

// add registers a program. It returns false if the id is in use.
func (p *programs) add(id string, stop context.CancelCauseFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop[id] != nil {
		return false
	}
	if p.stop == nil {
		p.stop = make(map[string]context.CancelCauseFunc)
	}
	p.stop[id] = stop
	return true
}

func (p *programs) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.stop, id)
}

// terminate ends a program. It returns false if there is none.
func (p *programs) terminate(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := p.stop[id]
	if stop == nil {
		return false
	}
	stop(errTerminated)
	return true
}

func (a *agent) terminateProgram(params json.RawMessage) (object, func(), *wireError) {
	var p struct{ ProcessID *string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	switch {
	case p.ProcessID == nil:
		return nil, nil, missing("processId")
	case !a.programs.terminate(*p.ProcessID):
		return nil, nil, invalid("no active command/exec for process id %q", *p.ProcessID)
	}
	return object{}, nil, nil
}

// execParams are the parameters of command/exec. Only streamed output is supported.
type execParams struct {
	Command           []string
	Cwd               string
	Env               map[string]*string
	PermissionProfile string
	ProcessID         *string
	Stream            bool `json:"streamStdoutStderr"`
	TimeoutMs         *int64
	OutputBytesCap    *int
}

// startProgram runs a program of the client, without a sandbox. The reply follows when
// the program has ended.
func (a *agent) startProgram(ctx context.Context, m message) *wireError {
	var p execParams
	if err := decode(m.Params, &p); err != nil {
		return err
	}
	switch {
	case p.Command == nil:
		return missing("command")
	case len(p.Command) == 0:
		return invalid("command must not be empty")
	case p.ProcessID == nil:
		return invalid("command/exec tty or streaming requires a client-supplied processId")
	case !p.Stream:
		return invalid("the scripted agent streams the output of every program")
	}
	if !slices.Contains(a.profiles(), p.PermissionProfile) {
		return invalid("invalid permission profile: default_permissions refers to undefined profile `%s`", p.PermissionProfile)
	}
	limit := defaultExecTime
	if p.TimeoutMs != nil {
		limit = time.Duration(*p.TimeoutMs) * time.Millisecond
	}
	running, stop := context.WithCancelCause(ctx)
	if !a.programs.add(*p.ProcessID, stop) {
		stop(nil)
		return invalid("duplicate active command/exec process id: %q", *p.ProcessID)
	}
	a.commands.Go(func() {
		defer stop(nil)
		bounded, cancel := context.WithTimeout(running, limit)
		defer cancel()
		code, err := a.runProgram(bounded, p, a.execStream(ctx, p, "stdout"), a.execStream(ctx, p, "stderr"))
		a.programs.remove(*p.ProcessID)
		if err != nil {
			a.wire.send(ctx, object{"id": m.ID, "error": err})
			return
		}
		a.wire.send(ctx, object{"id": m.ID, "result": object{"exitCode": code, "stdout": "", "stderr": ""}})
	})
	return nil
}

// These are the variables of the client's probes, which look whether a program has a network of
// its own, and sees the Unix sockets of the machine.
const (
	probePort   = "SYMPHONY_PROBE_PORT"
	probeSocket = "SYMPHONY_PROBE_SOCKET"
)

// runProgram runs a program to its end and returns its exit code, as Codex reports it. There
// is no sandbox here, so the probes are not run: they succeed as they do with Codex. Nor does bash
// look at the network before a program, by BASH_ENV.
func (a *agent) runProgram(ctx context.Context, p execParams, stdout, stderr io.Writer) (code int, refusal *wireError) {
	if p.Env[probePort] != nil {
		return 0, a.printCertificates(p.PermissionProfile, stdout)
	}
	if p.Env[probeSocket] != nil {
		return 0, nil
	}
	p.Env = maps.Clone(p.Env)
	delete(p.Env, "BASH_ENV")
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Dir = p.Cwd
	cmd.Env = changeEnv(cmd.Environ(), p.Env)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	if err := cmd.Start(); err != nil {
		if _, noFolder := os.Stat(cmp.Or(p.Cwd, ".")); noFolder != nil {
			return 0, &wireError{Code: -32603, Message: "failed to spawn command: No such file or directory (os error 2)"}
		}
		reason := "Permission denied (os error 13)"
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
			reason = "No such file or directory (os error 2)"
		}
		fmt.Fprintf(stderr, "\nthread 'main' (2) panicked at linux-sandbox/src/linux_run_main.rs:1199:5:\nFailed to execvp %s: %s\n", p.Command[0], reason)
		return 101, nil
	}
	_ = cmd.Wait()                                      // its state says how it ended
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left running
	switch status := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return 124, nil
	case status.Signaled():
		return 128 + int(status.Signal()), nil
	default:
		return status.ExitStatus(), nil
	}
}

// changeEnv returns an environment with changes. nil unsets a variable.
func changeEnv(old []string, changes map[string]*string) []string {
	var env []string
	for _, assignment := range old {
		name, _, _ := strings.Cut(assignment, "=")
		if _, changed := changes[name]; !changed {
			env = append(env, assignment)
		}
	}
	for name, value := range changes {
		if value != nil {
			env = append(env, name+"="+*value)
		}
	}
	return env
}

// execStream is a stream of a program's output on its way to the client. Only the
// goroutine that copies the output writes to it.
type execStream struct {
	emit func(data []byte, capReached bool)
	left int // bytes until the cap
	full bool
}

func (a *agent) execStream(ctx context.Context, p execParams, name string) *execStream {
	left := defaultExecCap
	if p.OutputBytesCap != nil {
		left = *p.OutputBytesCap
	}
	return &execStream{left: left, emit: func(data []byte, capReached bool) {
		a.wire.notify(ctx, "command/exec/outputDelta", object{
			"processId": *p.ProcessID, "stream": name, "deltaBase64": data, "capReached": capReached})
	}}
}

func (s *execStream) Write(data []byte) (int, error) {
	if s.full {
		return len(data), nil
	}
	kept := data[:min(len(data), s.left)]
	s.left -= len(kept)
	s.full = s.left == 0
	s.emit(kept, s.full)
	return len(data), nil
}

// cleanTerminals kills the commands that outlived their turns.
func (a *agent) cleanTerminals(params json.RawMessage) (object, func(), *wireError) {
	var p struct{ ThreadID *string }
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if p.ThreadID == nil {
		return nil, nil, missing("threadId")
	}
	t, ok := a.threads[*p.ThreadID]
	if !ok {
		return nil, nil, invalid("thread not found: %s", *p.ThreadID)
	}
	t.commands.Range(func(cmd, _ any) bool {
		_ = syscall.Kill(-cmd.(*exec.Cmd).Process.Pid, syscall.SIGKILL) // it may have ended
		return true
	})
	return object{}, nil, nil
}
