package workspace

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/child"
	"github.com/symphony-runner/symphony/internal/text"
)

// maxOperatorOutput bounds the standard output of [Output] in bytes.
const maxOperatorOutput = 64 << 10

// Output runs a script of the operator by `bash -c` in a folder, with this whole environment and
// the rights of this program, and returns its standard output. It is for scripts that say how
// this program works, and on which no issue and no agent have an influence. When ctx ends, the
// process group of the script is killed.
func Output(ctx context.Context, script, dir string, environment []string) (string, error) {
	bash, err := findBash(Env{Parent: environment}.get("PATH"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.Dir, cmd.Env = dir, environment
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out limitedOutput
	said := newTail()
	cmd.Stdout, cmd.Stderr = &out, said
	wait, err := child.Start(cmd)
	if err == nil {
		err = wait()
	}
	if err == nil && out.over {
		err = fmt.Errorf("it printed more than %d bytes", maxOperatorOutput)
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		if words := said.String(); words != "" {
			err = fmt.Errorf("%w; its last output: %q", err, text.Truncate(lastWords(words, maxHookOutput), maxHookOutput))
		}
		return "", err
	}
	return out.text.String(), nil
}

// limitedOutput keeps the beginning of an output.
type limitedOutput struct {
	text strings.Builder
	over bool
}

func (o *limitedOutput) Write(b []byte) (int, error) {
	rest := b[:min(len(b), maxOperatorOutput-o.text.Len())]
	o.over = o.over || len(rest) < len(b)
	o.text.Write(rest)
	return len(b), nil
}
