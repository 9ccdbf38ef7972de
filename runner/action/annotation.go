package action

import (
	"fmt"
	"strings"

	"github.com/symphony-runner/symphony/internal/text"
)

type kind string

const (
	failure kind = "error"
	warning kind = "warning"
	notice  kind = "notice"
)

// The number of annotations of a kind that GitHub shows for a step, and the length
// of each (in bytes, which are never fewer than its characters).
const (
	maxNotes = 10
	maxNote  = 4096
	maxTitle = 200
)

// notes holds the annotations of one kind.
type notes struct {
	shown int
	held  []string // beyond the limit: one line each, in the log already
}

// Error annotates the run with a fault that a person must fix. At most 10 annotations of a kind
// are shown: the last of them, made by [Runtime.Close], holds the rest, which the log has at
// once. Outside Actions it is a line of text.
func (r *Runtime) Error(title, text string) { r.note(failure, title, text) }

// Warning annotates the run with a fault that did not stop it; see [Runtime.Error].
func (r *Runtime) Warning(title, text string) { r.note(warning, title, text) }

// Notice annotates the run with information; see [Runtime.Error].
func (r *Runtime) Notice(title, text string) { r.note(notice, title, text) }

func (r *Runtime) note(k kind, title, s string) {
	title = text.TruncateBytes(oneLine(title), maxTitle)
	line := oneLine(s)
	if title != "" {
		line = title + ": " + line
	}
	if !r.inActions {
		r.print(string(k) + ": " + line)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.noted[k]
	if n == nil {
		n = &notes{}
		r.noted[k] = n
	}
	if n.shown < maxNotes-1 {
		n.shown++
		r.annotate(k, title, lines(s))
		return
	}
	n.held = append(n.held, text.TruncateBytes(line, maxNote))
	r.print(string(k) + ": " + line)
}

// sumUp shows the annotations that were held as one.
func (r *Runtime) sumUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range []kind{failure, warning, notice} {
		n := r.noted[k]
		if n == nil || len(n.held) == 0 {
			continue
		}
		const rest = "\n… and 1000000 more, all of them in the log"
		var s strings.Builder
		for i, line := range n.held {
			if i > 0 && s.Len()+1+len(line)+len(rest) > maxNote {
				fmt.Fprintf(&s, "\n… and %d more, all of them in the log", len(n.held)-i)
				break
			}
			if i > 0 {
				s.WriteByte('\n')
			}
			s.WriteString(text.TruncateBytes(line, maxNote-len(rest)))
		}
		title := ""
		if len(n.held) > 1 {
			title = fmt.Sprintf("%d more of this kind", len(n.held))
		}
		r.annotate(k, title, s.String())
		n.held = nil
	}
}

// annotate issues the command. Title and text must be escaped.
func (r *Runtime) annotate(k kind, title, s string) {
	lib := r.lib
	if title != "" {
		lib = lib.WithFieldsMap(map[string]string{"title": title})
	}
	issue := map[kind]func(string, ...any){failure: lib.Errorf, warning: lib.Warningf, notice: lib.Noticef}[k]
	r.command(func() { issue("%s", text.TruncateBytes(s, maxNote)) })
}
