package codex

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/internal/text"
)

const (
	// maxUnwritten bounds the output that waits for a slow writer, in bytes. The read
	// loop cannot wait for it, because the session's other messages would wait too.
	maxUnwritten = 32 << 20
	maxStderr    = 4 << 10 // bytes of standard error that are kept: the last ones
)

// execDelta is a piece of the output of a program (command/exec/outputDelta).
type execDelta struct {
	ProcessID  string `json:"processId"`
	Stream     string `json:"stream"`
	Data       string `json:"deltaBase64"`
	CapReached bool   `json:"capReached"`
}

// execOutput is the output of one program on its way from the read loop to a writer.
type execOutput struct {
	limit   int           // bytes of standard output; Codex holds standard error to the same
	both    bool          // standard error is passed on too
	refused chan struct{} // closed by refuse
	wake    chan struct{} // has room for one: there is something to write
	stderr  text.Tail

	mu      sync.Mutex // guards the fields below; see core for the order of locks
	chunks  []chunk    // output that is not written yet
	waiting int        // bytes in chunks
	total   int        // bytes of standard output so far
	refusal *ExecError
}

type chunk struct {
	data     []byte
	isStderr bool
}

func newExecOutput(limit int, both bool) *execOutput {
	return &execOutput{limit: limit, both: both, refused: make(chan struct{}), wake: make(chan struct{}, 1), stderr: text.Tail{Limit: maxStderr}}
}

// add takes a piece of output. It fails if the piece cannot be understood.
func (o *execOutput) add(d execDelta) error {
	data, err := base64.StdEncoding.DecodeString(d.Data)
	switch {
	case err != nil:
		return err
	case d.Stream == "stderr":
		_, _ = o.stderr.Write(data)
		if !o.both {
			return nil
		}
	case d.Stream != "stdout":
		return errors.New("output of an unknown stream")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.refusal != nil {
		return nil
	}
	if d.Stream == "stdout" {
		o.total += len(data)
	}
	switch {
	case o.total > o.limit || d.CapReached:
		o.refuseLocked(ErrExecOutput, fmt.Sprintf("it writes more than %d bytes", o.limit), nil)
		return nil
	case o.waiting+len(data) > maxUnwritten:
		o.refuseLocked(ErrExecOutput, fmt.Sprintf("%d bytes of its output wait for a writer that is too slow", o.waiting), nil)
		return nil
	}
	o.chunks = append(o.chunks, chunk{data, d.Stream == "stderr"})
	o.waiting += len(data)
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// refuse drops the output, including later output, for a reason. Later reasons are dropped.
func (o *execOutput) refuse(category error, reason string, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuseLocked(category, reason, cause)
}

// refuseLocked does the work of refuse. o.mu must be held.
func (o *execOutput) refuseLocked(category error, reason string, cause error) {
	if o.refusal == nil {
		o.refusal = &ExecError{Category: category, Reason: reason, Cause: cause}
		o.chunks, o.waiting = nil, 0
		close(o.refused)
	}
}

// failure returns the error of refused output, or nil.
func (o *execOutput) failure() *ExecError {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refusal
}

// drain writes the output until the server has answered and nothing is left. It stops
// writing when the output is refused, which a failed write does.
func (o *execOutput) drain(stdout, stderr io.Writer, answered <-chan struct{}) {
	for ended := false; ; {
		for c, ok := o.next(0); ok; c, ok = o.next(len(c.data)) {
			w := stdout
			if c.isStderr {
				w = stderr
			}
			if _, err := w.Write(c.data); err != nil {
				o.refuse(ErrExecOutput, "its output cannot be written", err)
			}
		}
		if ended {
			return
		}
		select {
		case <-o.wake:
		case <-answered:
			ended = true // one more look: everything came before the answer
		}
	}
}

// next drops the first chunk, of which size bytes were written, and returns the
// following one. A size of 0 drops nothing. It returns false when there is none.
func (o *execOutput) next(size int) (chunk, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if size > 0 && len(o.chunks) > 0 {
		o.chunks[0] = chunk{}
		o.chunks, o.waiting = o.chunks[1:], o.waiting-size
	}
	for len(o.chunks) > 0 && len(o.chunks[0].data) == 0 {
		o.chunks = o.chunks[1:]
	}
	if len(o.chunks) == 0 {
		return chunk{}, false
	}
	return o.chunks[0], true
}

// stderrTail returns the end of standard error for people: whole runes, and no control
// characters except line ends and tabs.
func (o *execOutput) stderrTail() string {
	tail, cut := o.stderr.End()
	for cut && len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return strings.TrimSpace(text.Lines(string(tail)))
}

// notStarted reports whether it is the sandbox's helper that failed, and not the
// program, as far as the output shows it: a program can print the same.
func (o *execOutput) notStarted() bool {
	end, _ := o.stderr.End()
	said := string(end)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total == 0 && (strings.Contains(said, "bwrap: ") || strings.Contains(said, "error building bubblewrap command") ||
		strings.Contains(said, "Failed to execvp") || strings.Contains(said, "linux-sandbox/"))
}
