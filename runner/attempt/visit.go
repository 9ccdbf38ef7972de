package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/runner/setup"
)

// Visitor is a person who works in the room of an issue.
type Visitor struct {
	Command        []string        // command to run there; empty for a shell on Terminal
	Terminal       *codex.Terminal // terminal of the shell
	Stdout, Stderr io.Writer
}

const (
	// visitTime bounds a visit.
	visitTime = 24 * time.Hour
	// maxVisitOutput bounds the output of programs during a visit, in bytes.
	maxVisitOutput = 1 << 40
	// visitorSuffix ends the name of the Codex home of a visit, in which no thread is kept. It is
	// no part of the key of a workspace.
	visitorSuffix = "+visit"
	// exitKilled is the exit status of a command that a signal has ended.
	exitKilled = 137
)

// Visit runs a command or a shell of a person in the workspace of an issue, in the sandbox and
// with the environment that the commands of its agent get, and returns its exit status. The
// home is a new one, with the caches that setup.run has made. It fails with the errors of
// [workspace.Root.Visit], of the start of an agent's process, and of [codex.Session.Exec].
func Visit(ctx context.Context, job Job, v Visitor) (code int, err error) {
	if !job.Codex.UsesProfile() {
		return 0, errors.New("codex.thread_sandbox or codex.turn_sandbox_policy sets a sandbox that only turns have: remove it, and sessions get the room of this program")
	}
	if job.Warn == nil {
		job.Warn = func(string) {}
	}
	a := newAttempt(job, func(u Update) {
		for _, text := range u.Warnings {
			job.Warn(text)
		}
	})
	a.dirs.suffix = visitorSuffix
	ws, err := a.Workspaces.Visit(ctx, a.workspaceIssue())
	if err != nil {
		return 0, err
	}
	defer a.Workspaces.Release(ws)
	defer a.preparation.close()
	err = a.runAgent(ctx, ws, codex.Connect, func() error {
		if err := a.preparation.takeKept(ctx, func() { a.Warn("the caches of the session that worked here are not kept any more: HOME is empty") }); err != nil {
			return err
		}
		var err error
		code, err = a.runVisitor(ctx, v)
		return err
	})
	if a.dirs.home != "" {
		err = errors.Join(err, forceRemoveAll(a.dirs.home))
	}
	return code, err
}

func (a *attempt) runVisitor(ctx context.Context, v Visitor) (code int, err error) {
	x := codex.Exec{
		// bash reads the same file as before each command of the agent.
		Argv: append([]string{"bash", "-c", `exec "$@"`, "bash"}, v.Command...), Doing: "running a command of a person",
		Env: append(codex.TurnEnv(len(v.Command) == 0), a.dirs.assignments(a.dirs.temp, a.Network)...), Inherit: a.Codex.Env, Timeout: visitTime, MaxOutput: maxVisitOutput, Stdout: v.Stdout, Stderr: v.Stderr,
	}
	if len(v.Command) == 0 {
		x.Argv, x.Terminal = []string{"bash", "-c", visitorsShell(runtime.GOOS)}, v.Terminal
	}
	result, err := a.sandbox.session.Exec(ctx, x)
	if errors.Is(err, codex.ErrExecKilled) {
		return exitKilled, nil
	}
	return result.ExitCode, err
}

// visitorsShell returns the script that starts a shell on a terminal. On Linux the terminal of
// Codex does not control its program, and the command script makes one that does.
func visitorsShell(system string) string {
	if system != "linux" {
		return "exec bash -i"
	}
	return `if script --version >/dev/null 2>&1; then
  exec script --quiet --return --command 'exec bash -i' /dev/null
fi
echo "symphony: there is no command script (util-linux), so Ctrl-C does not end a command" >&2
exec bash -i`
}

// takeKept unpacks the home that belongs to the prepared files of a workspace that no session
// works in. missing is called if it is not kept any more.
func (p *preparation) takeKept(ctx context.Context, missing func()) error {
	key := setup.Key(p.workspaces.Files(p.here.Workspace))
	if p.Setup == nil || key == "" {
		return nil
	}
	var err error
	p.pack, err = p.Preparations.Folder.Find(key)
	if errors.Is(err, fs.ErrNotExist) {
		missing()
		return nil
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.here.room)
	if err == nil {
		err = errors.Join(p.stage(root, p.here, false), root.Close())
	}
	if err != nil {
		return fmt.Errorf("copy the prepared files: %w", err)
	}
	command := p.repository.Host.TakeCommand(filepath.Join(p.here.room, packFolder), p.here.home())
	result, err := p.run(ctx, p.here, command, "copying the prepared files", checkoutTime, nil)
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("copy the prepared files: exit status %d: %s", result.ExitCode, p.brief(result.Stderr))
	}
	return err
}
