package codex

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/internal/text"
)

// A server that runs already (Options.Shared) was started by a person and may serve others. What a
// server of our own gets when it is started, this one gets in other ways:
//
//   - The permission profiles are written to its configuration, under names of this session, and
//     removed again by Close. Two settings that have an effect on other clients are the person's.
//   - Its environment is not ours. Turns inherit nothing of it, and programs of the host have each
//     of its variables unset. Both get Options.Environment.
//   - It must be on this machine, or nothing of the guard could be tried. That is not believed: it
//     reads a file of ours, and finds a listener of ours in its network.
//   - It must run as our user: a server of root could be asked for more than this program may do.
//   - A session whose connection was lost may have left a turn that still works in the workspace.
//     It is interrupted before anything else, and Close leaves none.
//
// Threads in other folders are never opened or changed.

// SharedSettings are the arguments with which a server has to be started for [Options.Shared].
const SharedSettings = `-c 'default_permissions=":read-only"' -c features.network_proxy=true`

// sharedServer holds the facts about a server that runs already.
type sharedServer struct {
	pid       int      // its process
	variables []string // names of the variables of its environment
	ready     bool     // it has the settings of SharedSettings
}

// sharing prepares a server that runs already for a session, and leaves nothing of it there.
type sharing struct {
	*core
	sandbox *sandbox
}

const (
	leaveTime    = 10 * time.Second                                         // bounds the requests by which Close leaves nothing behind
	sharedAdvice = "start the app-server on this machine, as the same user" // the remedy for one that is not
)

func elsewhere(why string) error {
	return fmt.Errorf("%w: the app-server of codex.endpoint %s: %s", ErrNoSandbox, text.OneLine(why, messageRunes), sharedAdvice)
}

// join prepares a server that runs already for the session: it checks where the server is, learns
// its environment, and ends what an earlier session has left.
func (s *sharing) join(ctx context.Context) error {
	if runtime.GOOS != "linux" {
		return elsewhere("can be checked on Linux alone")
	}
	if !s.server.shared.ready {
		return fmt.Errorf("%w: the app-server of codex.endpoint lacks two settings: start it with %s", ErrSettings, SharedSettings)
	}
	err := s.isHere(ctx)
	if err == nil {
		err = s.readVariables(ctx)
	}
	if err == nil {
		err = s.endTurns(ctx)
	}
	return err
}

// isHere checks that the server has the files, the processes and the network of this program.
func (s *sharing) isHere(ctx context.Context) error {
	secret := []byte(rand.Text())
	proof := filepath.Join(s.o.Temp, ".symphony-"+rand.Text())
	if err := os.WriteFile(proof, secret, 0o600); err != nil {
		return fmt.Errorf("find out where the app-server of codex.endpoint is: %w", err)
	}
	defer os.Remove(proof)
	if got, err := s.readFile(ctx, proof); err != nil || !bytes.Equal(got, secret) {
		return s.unlessLost(elsewhere("does not see the files of this program"))
	}
	stat, err := s.readFile(ctx, "/proc/self/stat")
	number, _, _ := strings.Cut(string(stat), " ")
	pid, wrong := strconv.Atoi(number)
	here, unread := os.ReadFile(filepath.Join("/proc", number, "stat"))
	if err != nil || wrong != nil || unread != nil || endpoint.Process(here) != endpoint.Process(stat) {
		return s.unlessLost(elsewhere("is not among the processes of this machine"))
	}
	if owner, err := userOf(pid); err != nil || owner != os.Geteuid() {
		return s.unlessLost(elsewhere(fmt.Sprintf("does not run as user %d, as this program does", os.Geteuid())))
	}
	s.server.shared.pid = pid
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find out where the app-server of codex.endpoint is: %w", err)
	}
	defer listener.Close()
	sockets, err := s.readFile(ctx, "/proc/self/net/tcp")
	if port := listener.Addr().(*net.TCPAddr).Port; err != nil || !bytes.Contains(sockets, fmt.Appendf(nil, "0100007F:%04X 00000000:0000 0A ", port)) {
		return s.unlessLost(elsewhere("has another network than this program"))
	}
	return nil
}

// userOf returns the effective user of a process. The owner of its folder in /proc would not do: that
// of a process which nobody may trace is root.
func userOf(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "\nUid:")
	users := strings.Fields(after) // real, effective, saved, of files
	if len(users) < 2 {
		return 0, fmt.Errorf("the status of process %d names no user", pid)
	}
	return strconv.Atoi(users[1])
}

// unlessLost returns an error, or the reason why the connection ended.
func (s *sharing) unlessLost(err error) error {
	if lost := s.conn.failure(); lost != nil {
		return lost
	}
	return err
}

func (s *sharing) readFile(ctx context.Context, path string) (content []byte, err error) {
	var r struct{ DataBase64 []byte }
	err = s.call(ctx, "fs/readFile", map[string]string{"path": path}, into(&r))
	return r.DataBase64, err
}

// readVariables learns the names of the variables that the server's commands have.
func (s *sharing) readVariables(ctx context.Context) error {
	params := map[string]any{
		"command": []string{"bash", "-c", "compgen -e"}, "cwd": s.o.Cwd, "sandboxPolicy": map[string]string{"type": "readOnly"},
		"env": map[string]string{"BASH_ENV": ""},
	}
	var r execReply
	err := s.call(ctx, execMethod, params, into(&r))
	s.server.shared.variables = strings.Fields(r.Stdout)
	if err == nil && len(s.server.shared.variables) == 0 {
		err = fmt.Errorf("%w: the app-server of codex.endpoint cannot run bash in its sandbox", ErrNoSandbox)
	}
	return err
}

// endTurns interrupts the turns in this session's workspace, whoever began them, and kills the
// commands that they have left running. It returns when there are none.
func (s *sharing) endTurns(ctx context.Context) error {
	var threads struct{ Data []string }
	err := s.call(ctx, "thread/loaded/list", struct{}{}, into(&threads))
	for _, id := range threads.Data {
		if err == nil {
			err = s.endThread(ctx, id)
		}
	}
	return err
}

func (s *sharing) endThread(ctx context.Context, id string) error {
	of := map[string]string{"threadId": id}
	for {
		var r struct {
			Thread struct {
				Cwd    string
				Status struct{ Type string }
			}
		}
		err := s.callOptional(ctx, "thread/read", of, into(&r))
		if err != nil || filepath.Clean(r.Thread.Cwd) != filepath.Clean(s.o.Cwd) {
			return err
		}
		if r.Thread.Status.Type != "active" {
			return s.cleanTerminals(ctx, id)
		}
		err = s.callOptional(ctx, "turn/interrupt", map[string]string{"threadId": id, "turnId": ""}, nil)
		if err != nil {
			return err
		}
		select {
		case <-time.After(killPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// write writes the permission profiles to the server's configuration, or removes them.
func (s *sharing) write(ctx context.Context, remove bool) error {
	var edits []map[string]any
	for _, name := range s.o.profiles() {
		edit := map[string]any{"keyPath": "permissions." + name, "mergeStrategy": "replace", "value": nil}
		if !remove {
			edit["value"] = s.sandbox.profileTable(name)
		}
		edits = append(edits, edit)
	}
	err := s.call(ctx, "config/batchWrite", map[string]any{"edits": edits, "reloadUserConfig": true}, nil)
	if err != nil {
		return fmt.Errorf("write the permission profiles to the app-server of codex.endpoint: %w", execRefusal(err))
	}
	return nil
}

// leave ends the session's turns on a server that goes on running, and removes its profiles.
func (s *sharing) leave() {
	if s.o.Shared == "" || s.conn.failure() != nil || s.sandbox.rules == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), leaveTime, ErrResponseTimeout)
	defer cancel()
	err := s.endTurns(ctx)
	if gone := s.write(ctx, true); err == nil {
		err = gone
	}
	if err != nil {
		s.warn("something of the session is left in the app-server of codex.endpoint; the next session on this issue removes it: " + err.Error())
	}
}

// environment returns the changes of the server's environment for a program of the host. They unset
// all of its variables and set Options.Environment, without the variables of Config.Env that are not
// in inherit.
func (s *sharedServer) environment(o Options, inherit []string) map[string]*string {
	env := make(map[string]*string, len(s.variables))
	for _, name := range s.variables {
		env[name] = nil
	}
	for _, assignment := range o.Environment {
		name, value, _ := strings.Cut(assignment, "=")
		if !slices.Contains(modelKeys, name) && (!slices.Contains(o.Config.Env, name) || slices.Contains(inherit, name)) {
			env[name] = &value
		}
	}
	return env
}
