package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/symphony-runner/symphony/internal/child"
	"github.com/symphony-runner/symphony/internal/text"
)

// command is one run of git.
type command struct {
	dir        string   // working directory
	repository string   // the repository itself (GIT_DIR); empty for commands without one
	bare       []string // further folders that git reads or writes; each is checked like dir
	args       []string
	config     []string // keys and values, in addition to baseConfig
	env        []string // variables, in addition to the host's
	remote     *Remote  // remote that the command talks to; nil for none
	stdin      io.Reader
	stdout     io.Writer // nil: run returns the output
	confined   bool      // limits of commands on incoming objects hold
	fileSize   int64     // bytes of one file that git may write; 0 for no limit
	timeout    time.Duration
}

// passedOn are the variables of our own environment that git sees besides the PATH: those
// for the network and for temporary files.
var passedOn = []string{
	"TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
}

// environment returns the environment of every git: made from nothing, so that neither the
// user's configuration nor a variable of the job changes git's behavior.
func environment(parent []string, path, home string) []string {
	env := []string{
		"PATH=" + path, "HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ADVICE=0",
	}
	for _, name := range passedOn {
		if value := lookup(parent, name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if file := lookup(parent, "SSL_CERT_FILE"); file != "" && lookup(parent, "GIT_SSL_CAINFO") == "" {
		env = append(env, "GIT_SSL_CAINFO="+file) // git has to trust the certificates that this program trusts
	}
	return env
}

// baseConfig is the configuration of every git. It is given in the environment and so overrides
// the configuration of a repository.
var baseConfig = []string{
	"core.hooksPath", "/dev/null",
	"core.fsmonitor", "false",
	"core.askPass", "/bin/false",
	"core.packedGitWindowSize", "16m", // so that limits of memory do not depend on the size of the store
	"core.packedGitLimit", "128m",
	"credential.helper", "",
	"fetch.recurseSubmodules", "false",
	"fetch.unpackLimit", "1", // objects stay in packs, which Populate copies
	"transfer.unpackLimit", "1",
	"fetch.fsckObjects", "true",
	"gc.auto", "0",
	"maintenance.auto", "false",
	"http.followRedirects", "false", // a redirect would carry the token to another host
	"http.lowSpeedLimit", "1",
	"pack.threads", "1", // the limit of memory is for all threads together
	"protocol.ext.allow", "never",
	"push.recurseSubmodules", "no",
	"submodule.recurse", "false",
	"transfer.bundleURI", "false",
	"transfer.credentialsInUrl", "die",
}

// historicDefects lists defects that old and harmless history may contain, although a
// check calls them errors. None is about names of files.
var historicDefects = []string{
	"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail", "missingNameBeforeEmail",
	"missingSpaceBeforeDate", "missingSpaceBeforeEmail", "zeroPaddedDate", "zeroPaddedFilemode",
}

// process is a running git.
type process struct {
	verb   string
	ctx    context.Context
	cancel context.CancelFunc
	mask   func(string) string
	stderr text.Tail
	done   chan struct{} // closed when git and everything it started are dead
	err    error         // outcome of git; valid after done
}

// run runs git and returns its output, unless the command redirects that.
func (e *engine) run(ctx context.Context, c command) ([]byte, error) {
	_, out, err := e.output(ctx, c)
	return out, err
}

// output is run for callers that need git's standard error as well. The process is nil if git
// was not started.
func (e *engine) output(ctx context.Context, c command) (*process, []byte, error) {
	out := &boundedBuffer{limit: e.limits.output}
	if c.stdout == nil {
		c.stdout = out
	}
	p, err := e.start(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	err = p.wait()
	if out.full {
		err = fmt.Errorf("git %s: %w: it prints more than %d bytes", p.verb, ErrTooBig, out.limit)
	}
	return p, out.buf.Bytes(), err
}

// start starts git; nothing else does. The caller must call wait. git gets its own
// session, so that it finds no terminal, and everything in it is killed when ctx or the
// time of the command ends.
func (e *engine) start(ctx context.Context, c command) (*process, error) {
	for _, folder := range append([]string{c.dir, c.repository}, c.bare...) {
		if folder == "" {
			continue
		}
		if err := e.checkFolder(folder); err != nil {
			return nil, err
		}
	}
	if c.remote != nil {
		remote, err := c.remote.authorized(ctx)
		if err != nil {
			return nil, err
		}
		c.remote = remote
	}
	timeout := c.timeout
	switch {
	case timeout > 0:
	case c.remote != nil:
		timeout = e.limits.network
	default:
		timeout = e.limits.local
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("git %s: %w: not done within %v", c.args[0], ErrTimeout, timeout))
	p := &process{verb: c.args[0], ctx: ctx, cancel: cancel, mask: func(s string) string { return s }, stderr: text.Tail{Limit: keptStderr}, done: make(chan struct{})}
	argv := e.argv(c)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = e.commandEnv(c)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, &p.stderr
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if c.remote != nil {
		p.mask = c.remote.mask
	}
	wait, err := child.Start(cmd)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git %s: %w", p.verb, err)
	}
	go p.supervise(cmd.Process.Pid, wait)
	return p, nil
}

// supervise waits for the end of git and kills its remaining children.
func (p *process) supervise(pid int, wait func() error) {
	defer close(p.done)
	p.err = wait()
	// Children of git that are left are in its process group. If they have become our
	// children we reap them; else somebody else does.
	for syscall.Kill(-pid, syscall.SIGKILL) == nil {
		if _, err := syscall.Wait4(-pid, nil, 0, nil); err != nil {
			break
		}
	}
}

// wait waits for the end of git and returns its outcome: the cause of the context, an
// [*exitError], or an error of the input or output.
func (p *process) wait() error {
	<-p.done
	defer p.cancel()
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return nil
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case errors.As(p.err, &exit):
		e := &exitError{verb: p.verb, code: exit.ExitCode(), stderr: p.errorText()}
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			e.signal = status.Signal()
		}
		return e
	}
	return fmt.Errorf("git %s: %w", p.verb, p.err)
}

// errorText returns the end of git's standard error, without the token. It is valid after wait.
func (p *process) errorText() string {
	end, _ := p.stderr.End()
	return p.mask(strings.ToValidUTF8(string(end), "\uFFFD"))
}

const keptStderr = 32 << 10 // bytes

// argv returns the program and its arguments. Limits are set by a shell, which then
// becomes git. Some systems do not have all of them.
func (e *engine) argv(c command) []string {
	script := ""
	limit := func(flag string, n int64) { script += fmt.Sprintf("ulimit -%s %d 2>/dev/null || :\n", flag, n) }
	limit("c", 0)
	if c.confined {
		limit("v", e.limits.memory/1024)
		limit("t", int64(e.limits.processor))
		limit("s", 8<<10)
	}
	if size := c.fileSize; size > 0 {
		limit("f", size/512)
	}
	return append([]string{e.shell, "-c", script + `exec "$@"`, "sh", e.git}, c.args...)
}

func (e *engine) commandEnv(c command) []string {
	env := slices.Concat(e.env, c.env)
	if c.repository != "" {
		env = append(env, "GIT_DIR="+c.repository)
	}
	protocol := "none"
	config := slices.Concat(baseConfig, []string{"http.lowSpeedTime", strconv.Itoa(int(e.limits.slow / time.Second))}, c.config)
	for _, defect := range historicDefects {
		config = append(config, "fetch.fsck."+defect, "ignore")
	}
	if c.remote != nil {
		protocol = c.remote.scheme
		config = append(config, c.remote.config()...)
	}
	env = append(env, "GIT_ALLOW_PROTOCOL="+protocol, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
	for i := 0; i < len(config); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+config[i], "GIT_CONFIG_VALUE_"+n+"="+config[i+1])
	}
	return env
}

// boundedBuffer keeps the bytes written to it, and fails when they are more than limit.
type boundedBuffer struct {
	buf   bytes.Buffer // no embedded field, whose ReadFrom io.Copy would call
	limit int64
	full  bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if int64(b.buf.Len()+len(p)) > b.limit {
		b.full = true
		return 0, ErrTooBig
	}
	return b.buf.Write(p)
}
