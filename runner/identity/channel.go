package identity

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/symphony-runner/symphony/internal/text"
)

// AskTime bounds the time in which Codex gets the answer of the program that asks a channel.
const AskTime = issueTime + 10*time.Second

// Channel gives the tokens of a source to the app-server of one session. The agent must not
// read Dir.
type Channel struct {
	Dir string // absolute, without links

	source   *Source
	listener *net.UnixListener
	leader   int // process that the session was started as
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	used     string // the latest token that the session got
	failed   error  // reason why the session has no new token; nil after one
	stranger error  // the first refusal of a process that is not the app-server's
}

// Listen makes a channel. It answers after [Channel.Serve].
func Listen(source *Source) (*Channel, error) {
	fail := func(err error) (*Channel, error) {
		return nil, fmt.Errorf("make the channel for tokens: %w: %w: let this user write /tmp", ErrUnavailable, err)
	}
	if err := canProve(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "symphony-identity-") // TMPDIR may be too long for a socket
	if err != nil {
		return fail(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fail(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName), Net: "unix"})
	if err == nil {
		err = os.Chmod(filepath.Join(dir, socketName), 0o600)
	}
	if err != nil {
		os.RemoveAll(dir)
		return fail(err)
	}
	c := &Channel{Dir: dir, source: source, listener: listener}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// socketName is the name of the socket in the folder of a channel.
const socketName = "s"

// Socket returns the path for [Ask].
func (c *Channel) Socket() string { return filepath.Join(c.Dir, socketName) }

// Serve lets the channel answer the app-server below the process leader, until Close.
func (c *Channel) Serve(leader int) {
	c.leader = leader
	c.running.Go(func() {
		for {
			conn, err := c.listener.AcceptUnix()
			if err != nil {
				return // closed
			}
			c.running.Go(func() { c.answer(conn) })
		}
	})
}

// Close ends the channel and removes its folder.
func (c *Channel) Close() {
	c.cancel()
	c.listener.Close()
	c.running.Wait()
	os.RemoveAll(c.Dir)
}

// Failed returns the reason why the session got no token when it asked last; nil if it got one.
func (c *Channel) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// answer answers one client: a line that begins with + has the token, one that begins with -
// the reason why there is none.
func (c *Channel) answer(conn *net.UnixConn) {
	defer conn.Close()
	defer context.AfterFunc(c.ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(AskTime))
	if err := prove(conn, c.leader); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stranger == nil {
			c.stranger = fmt.Errorf("a process that is not the session's Codex asked for the model's token and got none: %w", err)
		}
		return
	}
	c.mu.Lock()
	used := c.used
	c.mu.Unlock()
	token, err := c.source.Token(c.ctx, used)
	c.mu.Lock()
	c.failed = err
	if err == nil {
		c.used = token.Value
	}
	c.mu.Unlock()
	if err != nil {
		_, _ = io.WriteString(conn, "-"+text.OneLine(err.Error(), maxReason)+"\n") // a client that has gone needs none
		return
	}
	_, _ = io.WriteString(conn, "+"+token.Value+"\n")
}

// maxReason bounds the reason that a client gets, in runes.
const maxReason = 1000

// Stranger returns the refusal of the first process that asked and was not the app-server's; nil
// if there was none.
func (c *Channel) Stranger() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stranger
}

// Ask returns the token that a channel gives to this process.
func Ask(socket string) (string, error) {
	const operation = "ask for the model's token"
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return "", fmt.Errorf("%s: %w: only Codex gets it, and only while its session lasts", operation, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(AskTime))
	line, err := bufio.NewReader(io.LimitReader(conn, 2*maxToken)).ReadString('\n')
	line = strings.TrimSuffix(line, "\n")
	switch {
	case err == nil && strings.HasPrefix(line, "+"):
		return line[1:], nil
	case err == nil && strings.HasPrefix(line, "-"):
		return "", errors.New(line[1:])
	case err == nil || errors.Is(err, io.EOF):
		return "", fmt.Errorf("%s: refused: only Codex gets it", operation)
	}
	return "", fmt.Errorf("%s: %w", operation, err)
}
