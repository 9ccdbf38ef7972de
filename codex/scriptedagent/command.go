package scriptedagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	outputCap = 1 << 20     // bytes of output in the item of a finished command
	pipeGrace = time.Second // wait for the output of a command that has exited or was killed
)

// Command runs a command in the thread's folder and waits for it. It fails if the
// command does. If the turn is interrupted the command continues to run, as with Codex,
// until the agent ends.
func (t *Turn) Command(ctx context.Context, command string) error {
	item := t.CommandItem(command)
	return t.Execute(ctx, command, item, t.Item(item))
}

// CommandItem returns the item of a command that has not run.
func (t *Turn) CommandItem(command string) Object {
	return Object{"type": "commandExecution", "id": t.itemID("call"), "status": "inProgress",
		"command": "/bin/bash -c '" + strings.ReplaceAll(command, "'", `'\''`) + "'", "cwd": t.Cwd, "source": "agent",
		"commandActions": []Object{{"type": "unknown", "command": command}}, "processId": nil,
		"aggregatedOutput": nil, "exitCode": nil, "durationMs": nil, "pluginId": nil, "scriptPath": nil}
}

// Execute runs the command of an item that has been announced.
func (t *Turn) Execute(ctx context.Context, command string, item Object, end func()) error {
	out := &commandOutput{emit: func(delta string) {
		t.Notify("item/commandExecution/outputDelta", Object{"turnId": t.ID, "itemId": item["id"], "delta": delta})
	}}
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir = t.Cwd
	cmd.Stdout, cmd.Stderr = out, out // one pipe for both
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = pipeGrace
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	var err error
	ended := make(chan struct{})
	t.thread.commands.Store(cmd, ended) // so that a command outlives its turn
	go func() {
		err = cmd.Wait()
		t.thread.commands.Delete(cmd)
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if len(out.line) > 0 {
		out.emit(string(out.line))
	}
	code := cmd.ProcessState.ExitCode()
	item["processId"] = strconv.Itoa(cmd.Process.Pid)
	if item["exitCode"] = code; out.kept.Len() > 0 {
		item["aggregatedOutput"] = out.kept.String()
	}
	item["durationMs"] = time.Since(began).Milliseconds()
	if item["status"] = "completed"; code != 0 {
		item["status"] = "failed"
	}
	end()
	if code != 0 {
		return fmt.Errorf("command %q failed with exit code %d", command, code)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // a child of the command may hold the pipe
		return fmt.Errorf("run %q: %w", command, err)
	}
	return nil
}

// commandOutput emits output in whole lines, which have no half a rune, and keeps its
// beginning. Only the goroutine that copies the output writes to it.
type commandOutput struct {
	emit func(delta string)
	kept strings.Builder
	line []byte // unfinished line
}

func (o *commandOutput) Write(p []byte) (int, error) {
	o.kept.Write(p[:min(len(p), outputCap-o.kept.Len())])
	o.line = append(o.line, p...)
	if end := bytes.LastIndexByte(o.line, '\n') + 1; end > 0 {
		o.emit(string(o.line[:end]))
		o.line = append([]byte(nil), o.line[end:]...)
	}
	return len(p), nil
}
