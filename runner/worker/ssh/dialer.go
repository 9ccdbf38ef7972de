package ssh

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// Dialer connects to this program on other hosts. Its methods may be called at the same time.
type Dialer struct {
	// Program is the path or name of ssh; empty for "ssh".
	Program string
	// Binary is the path of the executable that is started on the hosts; empty for the one of this process.
	Binary string
	// Env is the environment of this program as NAME=value, of which ssh gets a few variables.
	Env []string
	// Log gets the lines that ssh and the hosts write to stderr, at debug level.
	Log *slog.Logger
	// ConnectTime bounds the connection and the handshake, in whole seconds; 0 for 15 seconds.
	ConnectTime time.Duration
	// StartTime bounds the time until the login shell there has run the script; 0 for 60 seconds.
	StartTime time.Duration
	// EndTime bounds the end of a connection that is closed; 0 for 5 seconds.
	EndTime time.Duration

	reading sync.Mutex // guards program
	program program    // zero until it could be read

	uploads sync.Map // channel by Host, which is full during an upload
}

// passed are the variables of the environment that ssh gets: where its settings, its agent and its
// helpers are. A SendEnv of its settings can pass on no other.
var passed = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "SSH_AUTH_SOCK", "KRB5CCNAME", "LANG", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"}

// options are the settings of ssh that no other settings replace. Others, such as Port, are the person's.
var options = []string{
	"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", // asks nobody, learns no key
	"ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes", "Tunnel=no", "PermitLocalCommand=no", "RemoteCommand=none",
	"ServerAliveInterval=10", "ServerAliveCountMax=3",
	"ControlMaster=no", "ControlPath=none", // leaves no process behind
	"LogLevel=ERROR",
}

const (
	connectTime = 15 * time.Second
	startTime   = time.Minute
	endTime     = 5 * time.Second
	uploadTime  = 10 * time.Minute // a connection that is lost ends an upload earlier
)

// Dial starts this program with the arguments, which are plain words, on a host, and uploads it before if it
// is not there. ctx bounds Dial alone. The errors are [ErrNoSSH], [ErrRefused], [ErrUnreachable], the
// cause of ctx, and an error of the system if [Dialer.Binary] cannot be read.
func (d *Dialer) Dial(ctx context.Context, host Host, args ...string) (*Conn, error) {
	program, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("read this program for worker host %s: %w", host, err)
	}
	script := program.startScript(args)
	c, answer, err := d.start(ctx, host, script)
	if err != nil {
		return nil, err
	}
	if answer == answerMissing {
		c.Close()
		if err := d.upload(ctx, host, program); err != nil {
			return nil, err
		}
		if c, answer, err = d.start(ctx, host, script); err != nil {
			return nil, err
		}
	}
	if answer == answerReady {
		c.started = true
		return c, nil
	}
	c.Close()
	return nil, host.refuse(answer)
}

// open returns the program, which it reads once.
func (d *Dialer) open() (p program, err error) {
	d.reading.Lock()
	defer d.reading.Unlock()
	if d.program.file == nil {
		d.program, err = openProgram(d.Binary)
	}
	return d.program, err
}

// upload stores the program on a host, one upload at a time.
func (d *Dialer) upload(ctx context.Context, host Host, p program) error {
	slot, _ := d.uploads.LoadOrStore(host, make(chan struct{}, 1))
	select {
	case slot.(chan struct{}) <- struct{}{}:
		defer func() { <-slot.(chan struct{}) }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	began := time.Now()
	c, answer, err := d.start(ctx, host, p.uploadScript())
	if err != nil {
		return err
	}
	defer c.Close()
	if answer == answerSend {
		go func() { // ends with the connection at the latest
			_, _ = io.Copy(c, p.content()) // the answer says why it failed
			c.stdin.Close()
		}()
		if answer, err = c.await(ctx, uploadTime, "the upload of this program took more than "+text.Duration(uploadTime)+": is the network slow, or the disk there?"); err != nil {
			return err
		}
	}
	switch answer {
	case answerStored:
		d.Log.InfoContext(ctx, "program uploaded", "worker_host", host.String(), "bytes", p.size, "duration", time.Since(began).Round(time.Millisecond))
		fallthrough
	case answerThere:
		return nil
	}
	return host.refuse(answer)
}

// start runs a script on a host, and returns its first answer.
func (d *Dialer) start(ctx context.Context, host Host, script string) (*Conn, string, error) {
	m := newMark()
	command, err := d.command(host, m.command(script))
	if err != nil {
		return nil, "", err
	}
	c, err := open(host, m, command, cmp.Or(d.EndTime, endTime), d.Log.With("worker_host", host.String()))
	if err != nil {
		return nil, "", fmt.Errorf("start ssh to worker host %s: %w", host, err)
	}
	limit := cmp.Or(d.StartTime, startTime)
	answer, err := c.await(ctx, limit, "nothing has run there within "+text.Duration(limit)+": sshd or the agent hangs, or a login profile is slow or waits for input: try `"+host.command()+" true`")
	if err != nil {
		c.Close()
		return nil, "", err
	}
	return c, answer, nil
}

// command returns the ssh that runs a command on a host.
func (d *Dialer) command(host Host, command string) (*exec.Cmd, error) {
	path, err := exec.LookPath(cmp.Or(d.Program, "ssh"))
	if err != nil {
		return nil, fmt.Errorf("worker host %s: %w: install the OpenSSH client on this machine: %w", host, ErrNoSSH, err)
	}
	args := []string{"-T"}
	seconds := int(math.Ceil(cmp.Or(d.ConnectTime, connectTime).Seconds()))
	for _, option := range slices.Concat(options, []string{"ConnectTimeout=" + strconv.Itoa(seconds)}) {
		args = append(args, "-o", option)
	}
	ssh := exec.Command(path, append(append(args, host.arguments()...), command)...)
	ssh.Env = []string{} // nil is ours
	for _, variable := range d.Env {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(passed, name) {
			ssh.Env = append(ssh.Env, variable)
		}
	}
	return ssh, nil
}
