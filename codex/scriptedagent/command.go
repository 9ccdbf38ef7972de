package scriptedagent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	outputChunk = 8 << 10     // bytes of output in one delta
	outputCap   = 1 << 20     // bytes of output in the item of a finished command
	pipeGrace   = time.Second // wait for the output of a command that has exited or was killed
)

func runCommand(ctx context.Context, t *turn, args arguments) error {
	return t.command(ctx, args[0])
}

// command runs a command in the thread's folder and waits for it. It fails if the
// command does. If the turn is interrupted the command continues to run, as with Codex,
// until the agent ends.
func (t *turn) command(ctx context.Context, command string) error {
	item := t.commandItem(command)
	return t.execute(ctx, command, item, t.item(ctx, item))
}

func (t *turn) commandItem(command string) object {
	return object{"type": "commandExecution", "id": t.itemID("call"), "status": "inProgress",
		"command": "/bin/bash -c " + quote(command), "cwd": t.thread.Cwd, "source": "agent",
		"commandActions": []object{{"type": "unknown", "command": command}}, "processId": nil,
		"aggregatedOutput": nil, "exitCode": nil, "durationMs": nil, "pluginId": nil, "scriptPath": nil}
}

// execute runs the command of an item that has been announced.
func (t *turn) execute(ctx context.Context, command string, item object, end func(context.Context)) error {
	t.said = nil
	id := item["id"]
	out := &commandOutput{emit: func(delta string) {
		t.notify(ctx, "item/commandExecution/outputDelta", object{"turnId": t.id, "itemId": id, "delta": delta})
	}}
	cmd := bash(ctx, t.thread.Cwd, command)
	cmd.Stdout, cmd.Stderr = out, out // one pipe for both
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = pipeGrace
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	done := make(chan error, 1) // so that a command outlives its turn
	t.thread.commands.Store(cmd, nil)
	t.agent.commands.Go(func() {
		err := cmd.Wait()
		t.thread.commands.Delete(cmd)
		done <- err
	})
	err, stopped := await(ctx, t, done)
	if stopped != nil {
		return stopped
	}
	code := cmd.ProcessState.ExitCode()
	item["processId"] = strconv.Itoa(cmd.Process.Pid)
	if item["exitCode"] = code; out.kept.Len() > 0 {
		item["aggregatedOutput"] = out.kept.String()
	}
	item["durationMs"] = time.Since(began).Milliseconds()
	item["status"] = "completed"
	if code != 0 {
		item["status"] = "failed"
	}
	end(ctx)
	if code != 0 {
		return fmt.Errorf("command %q failed with exit code %d", command, code)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // a child of the command may hold the pipe
		return fmt.Errorf("run %q: %w", command, err)
	}
	return nil
}

// leaveCommand starts a command and does not wait for it. The command has a session of
// its own, so killing the agent's process group does not reach it.
func leaveCommand(ctx context.Context, t *turn, args arguments) error {
	cmd := bash(context.WithoutCancel(ctx), t.thread.Cwd, args[0])
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("leave %q running: %w", args[0], err)
	}
	item := t.commandItem(args[0])
	item["processId"] = strconv.Itoa(cmd.Process.Pid)
	t.item(ctx, item)
	t.said = nil
	return cmd.Process.Release()
}

func bash(ctx context.Context, dir, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// quote returns s quoted for a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// commandOutput emits output in chunks of whole runes and keeps its beginning. Only the
// goroutine that copies the output writes to it.
type commandOutput struct {
	emit func(delta string)
	kept strings.Builder
	part []byte // the beginning of a rune that the next write completes
}

func (o *commandOutput) Write(p []byte) (int, error) {
	o.kept.Write(p[:min(len(p), outputCap-o.kept.Len())])
	data := append(o.part, p...)
	for len(data) > 0 {
		n := wholeRunes(data[:min(len(data), outputChunk)])
		if n == 0 {
			break
		}
		o.emit(string(data[:n]))
		data = data[n:]
	}
	o.part = append([]byte(nil), data...)
	return len(p), nil
}

// wholeRunes returns the length of b without an incomplete rune at its end.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return i
		}
	}
	return len(b)
}
