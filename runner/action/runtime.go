package action

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"

	"github.com/sethvargo/go-githubactions"
)

// Runtime is the Actions runtime of this step; outside Actions it prints plain text.
// It may be used by several goroutines.
type Runtime struct {
	getenv    func(string) string
	inActions bool
	out       *stdout
	lib       *githubactions.Action // writes to out's raw side; use it through command or try

	mu     sync.Mutex // guards the fields below
	masked map[string]bool
	noted  map[kind]*notes
}

// New returns a Runtime that owns out, the standard output.
func New(out io.Writer, getenv func(string) string) *Runtime {
	inActions := getenv("GITHUB_ACTIONS") == "true"
	s := &stdout{w: out, escaped: inActions}
	return &Runtime{
		getenv:    getenv,
		inActions: inActions,
		out:       s,
		lib:       githubactions.New(githubactions.WithWriter(rawSide{s}), githubactions.WithGetenv(getenv)),
		masked:    map[string]bool{},
		noted:     map[kind]*notes{},
	}
}

// InActions reports whether this is a step of a workflow.
func (r *Runtime) InActions() bool { return r.inActions }

// Writer returns standard output for text from outside: inside Actions, nothing
// written to it is ever a command. A line that is written in one call stays whole.
func (r *Runtime) Writer() io.Writer { return r.out }

// Handler returns a handler that writes text lines to w, which writes to [Runtime.Writer].
// Inside Actions they have no time, for the runner puts one in front of every line.
func (r *Runtime) Handler(w io.Writer, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if r.inActions {
		options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.NewTextHandler(w, options)
}

// Group prints text from outside as a group under a title. Text that is printed
// meanwhile comes before or after all of it. Outside Actions the text follows its
// title.
func (r *Runtime) Group(title, text string) {
	title, text = oneLine(title), strings.TrimRight(text, "\n")
	if !r.inActions {
		r.print(title + "\n" + text)
		return
	}
	r.command(func() {
		r.lib.Group(title)
		r.out.writeLocked([]byte(escapeCommands(text) + "\n"))
		r.lib.EndGroup()
	})
}

// Close sums up the annotations that were too many, ends an unfinished line, and returns the
// first error that standard output ever had.
func (r *Runtime) Close() error {
	r.sumUp()
	return r.out.end()
}

func (r *Runtime) print(line string) {
	_, _ = io.WriteString(r.out, line+"\n") // out keeps its error for Close
}

// command lets the library write one command, on a line of its own.
func (r *Runtime) command(issue func()) {
	r.out.command(func() { _ = try(issue) }) // out keeps its error for Close
}

// try calls f and returns the error it panics with, as the library does. A runtime
// error is a mistake in the program and stays a panic.
func try(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			panic(p)
		case error:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// The categories of this package's errors; find them with errors.Is. Each package declares
// its own: packages of one level import nothing of each other.
var (
	// ErrCommandFile: GITHUB_OUTPUT or GITHUB_STEP_SUMMARY is missing or cannot
	// be written.
	ErrCommandFile = errors.New("command_file")
	// ErrOutput: an output that the runner would misread.
	ErrOutput = errors.New("invalid_output")
	// ErrEvent: the runner's description of the event cannot be read.
	ErrEvent = errors.New("unreadable_event")
	// ErrJob: the settings of the job that the program runs in cannot be read.
	ErrJob = errors.New("unreadable_job")
	// ErrRefused: the program must not run here.
	ErrRefused = errors.New("refused")
)

// file returns an error about a file of the runner.
func file(operation, variable string, err error) error {
	return fmt.Errorf("%s: %w: %w; run it as a step of a workflow, which sets %s to a file that it may write", operation, ErrCommandFile, err, variable)
}

// oneLine returns text from outside as a title. The line is one for every reader of the
// log, and no workflow command.
func oneLine(s string) string {
	return escapeCommands(strings.Join(strings.FieldsFunc(s, isLineEnd), " "))
}

// lines returns text from outside in which every line ends with a line feed.
func lines(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return escapeCommands(strings.Map(func(r rune) rune {
		if isLineEnd(r) {
			return '\n'
		}
		return r
	}, s))
}

// minMask is the shortest text, in bytes, that is worth masking: less would be
// found, and masked, all over the log.
const minMask = 6

// Mask asks the runner to hide a secret in the log, before anything that may
// hold it is printed. The runner hides within lines, so each line of the secret
// is masked by itself; those shorter than 6 bytes are not. Asking again prints
// nothing. Outside Actions nothing is printed at all.
func (r *Runtime) Mask(secret string) {
	if !r.inActions {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range strings.FieldsFunc(secret, isLineEnd) {
		line = strings.TrimSpace(line)
		if len(line) < minMask || r.masked[line] {
			continue
		}
		r.masked[line] = true
		r.command(func() { r.lib.AddMask(line) })
	}
}
