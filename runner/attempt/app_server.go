package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/symphony-runner/symphony/codex"
	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/room"
	"github.com/symphony-runner/symphony/workspace"
)

// appServer is the connection to the app-server of a session: a process of the session's own, or one
// that runs already (codex.endpoint) and goes on running. Package codex does not learn which, except
// by the options of the session.
type appServer struct {
	io.ReadWriteCloser
	process *workspace.Process // nil for one that runs already
	log     *slog.Logger       // gets what the end of the process shows; nil for the attempt's
}

func (j *Job) isShared() bool { return j.Codex.Endpoint.Address != "" }

// sharedName returns the word by which a server knows the session in a workspace, of which there is
// one at a time.
func sharedName(ws workspace.Workspace) string {
	sum := sha256.Sum256([]byte(ws.Path))
	return hex.EncodeToString(sum[:8])
}

// programs returns the paths of the executables that the server runs. pid is the process of one that
// runs already.
func (s *appServer) programs(pid int) []string {
	switch {
	case s.process != nil:
		return s.process.Programs()
	case pid != 0:
		return workspace.Programs(pid)
	}
	return nil
}

// end ends the connection, and the process of the session's own. It returns the error of the
// session, with what the server's end adds to it.
func (s *appServer) end(ctx context.Context, err error) error {
	lost := errors.Is(err, codex.ErrPortExit)
	if s.process == nil {
		if lost {
			err = fmt.Errorf("%w: %w: the next session on the issue continues the thread", endpoint.ErrLost, err)
		}
		return errors.Join(err, s.Close())
	}
	if s.log != nil {
		s.process.SetLogger(s.log)
	}
	if lost {
		err = addExitStatus(err, s.process)
	}
	return errors.Join(err, s.process.Stop(ctx))
}

// endLost ends what a session whose connection was lost has left on a server that goes on running:
// its turn, and its permission profiles.
func (a *attempt) endLost(ctx context.Context, options codex.Options) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.stoppedTime)
	defer cancel()
	options.Resume = ""
	server, err := endpoint.Dial(ctx, a.Codex.Endpoint)
	if err == nil {
		var session *codex.Session
		if session, err = codex.Connect(ctx, server, options); err == nil {
			err = session.Close()
		}
	}
	if err != nil {
		a.warn("the turn of the lost session may still run in the app-server of codex.endpoint; the next session on the issue ends it", err)
	}
}

// start starts the app-server, or connects to one that runs already, and returns it with the options
// of its session except their callbacks.
func (a *attempt) start(ctx context.Context, ws workspace.Workspace, isRepository bool) (*appServer, codex.Options, error) {
	if a.opensSockets() {
		if err := a.dirs.sockets.Find(a.Lookup); err != nil {
			return nil, codex.Options{}, fmt.Errorf("%w: %w", codex.ErrNoSandbox, err)
		}
	}
	server := new(appServer)
	options := codex.Options{
		Version: a.Version, Cwd: ws.Path,
		Name:   a.Issue.Identifier + ": " + a.Issue.Title,
		Config: a.Codex, Tools: a.tools(), Resume: a.Thread, Prompt: a.Prompt,
		Key: a.Account.Key, Home: a.dirs.home, Temp: a.dirs.temp, Repository: isRepository,
		LongInput: a.Policy.Budget.Prices.LongInput(),
		Set:       a.dirs.variables(a.dirs.temp, a.Network), Loopback: a.Loopback, Network: a.Network, Networks: a.sandbox.networks, Services: a.Services,
		ReviewWork:  a.publication.look.folder(),
		UnixSockets: a.dirs.sockets.Own != "", HostSocket: a.dirs.sockets.Own,
		Deny: func(home string, pid int) []string {
			readable := slices.Concat(a.Denied.Readable, server.programs(pid))
			denied := slices.DeleteFunc(room.RealPaths(a.deniedPaths(home), readable), a.dirs.links.Hold)
			if err := a.dirs.shareTmp(slices.Concat(a.dirs.named(denied), readable, []string{ws.Path}), a.Workspaces.Environment(a.Codex.Env)); err != nil {
				a.warn("commands cannot write /tmp", err)
			}
			return denied
		},
		Link: func(path string) string {
			link, err := a.dirs.links.To(path)
			if err == nil {
				err = a.dirs.shareTmp([]string{link, path}, nil)
			}
			if err != nil {
				a.warn("a denied path that is a pattern for Codex has no link", err)
			}
			return link
		},
	}
	if a.dirs.temp != "" {
		own := a.dirs.room(a.dirs.temp, a.Network)
		options.ShellStart, options.Certificates = own.ShellStart(), own.Certificates()
	}
	options.NeedsExec = a.Repository != nil // programs of the host run inside the agent's sandbox
	command := a.Codex.Command
	switch {
	case a.isShared():
		options.Shared, options.Environment = sharedName(ws), a.Workspaces.Environment(a.dirs.environment())
		var err error
		server.ReadWriteCloser, err = endpoint.Lasting(ctx, a.Codex.Endpoint, func(lost error) {
			a.Log.Warn("the connection to codex.endpoint was lost, and the session goes on over another", "error", lost)
		})
		return server, options, err
	case a.Repository == nil && !a.Codex.UsesProfile():
	case a.dirs.home != "":
		options.SaveProfile = a.dirs.saveProfile
	default:
		command, options.ProfileGiven = codex.CommandWithProfile(command, options)
	}
	if a.dirs.bubblewrap != nil {
		command, options.Bubblewrap = a.dirs.bubblewrap.Command(command), a.dirs.bubblewrap
	}
	process, err := a.Workspaces.Start(ctx, ws, command, a.dirs.environment())
	if err != nil {
		return nil, codex.Options{}, err
	}
	server.ReadWriteCloser, server.process, options.PID = process, process, process.PID()
	if a.dirs.tokens != nil {
		a.dirs.tokens.Serve(process.PID())
	}
	return server, options, nil
}

// exitStatusTime bounds the end of a process after the end of its output. On a busy machine it
// takes more than a second.
const exitStatusTime = 5 * time.Second

// addExitStatus adds to the error of a closed connection how the process ended. A
// command that was not found is the cause of all the rest, so it stands alone.
func addExitStatus(err error, process *workspace.Process) error {
	select {
	case <-process.Done():
		exit := process.Err()
		switch {
		case errors.Is(exit, workspace.ErrNotFound):
			return exit
		case errors.Is(err, codex.ErrSlowStart):
			return fmt.Errorf("codex.command ended before its first answer, with %s: let it start an app-server, as `codex app-server` does: %w", endOf(exit, process), err)
		case exit != nil:
			return fmt.Errorf("%w: %w", err, exit)
		}
	case <-time.After(exitStatusTime): // it closed its output and runs on: there is no status to add
	}
	return err
}

func endOf(exit error, process *workspace.Process) string {
	if exit != nil {
		return exit.Error()
	}
	if said := process.Stderr(); said != "" {
		return fmt.Sprintf("exit status 0; its last output: %q", said)
	}
	return "exit status 0"
}
