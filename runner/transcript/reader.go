package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/codex"
)

// maxLine bounds a line of a log, in bytes. The lines of this program are shorter.
const maxLine = 1 << 20

// Reader turns the lines of an event log into entries. It remembers the lines before, so a log
// is read from its first line. The zero value is ready.
type Reader struct {
	// Redact hides secrets in the entries. A log has no secret that was known when it was
	// written; nil hides no others.
	Redact func(string) string

	session Session
	outcome *Outcome
	partial []byte // a line whose end has not come; used by Feed
	tooLong int    // bytes of a line that is too long, whose end has not come

	now     time.Duration     // time of the latest line, since the session began
	cwd     string            // the agent's workspace
	thread  string            // the session's own
	turn    turn              // the latest
	begun   []item            // items that have started and not ended, in their order
	totals  map[string]tokens // tokens of each thread, as the agent counts them
	spent   tokens            // tokens of the session
	notice  string            // the latest notice, which is not repeated
	damaged bool              // the latest line could not be read
}

// turn is a turn of the agent.
type turn struct {
	number int // 1 is the first
	id     string
	open   bool
	began  time.Duration
	before tokens // tokens that the session had used earlier
}

// tokens counts the tokens of a model. Cached is a part of Input.
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Cached int64 `json:"cachedInputTokens"`
	Output int64 `json:"outputTokens"`
}

func (t tokens) total() int64 { return t.Input + t.Output }

// each returns the results of f for each pair of parts.
func (t tokens) each(u tokens, f func(a, b int64) int64) tokens {
	return tokens{f(t.Input, u.Input), f(t.Cached, u.Cached), f(t.Output, u.Output)}
}

func (t tokens) minus(u tokens) tokens { return t.each(u, func(a, b int64) int64 { return a - b }) }

// Session returns the first line of the log, with clean texts; the zero value if it has not
// come.
func (r *Reader) Session() Session { return r.session }

// Outcome returns the outcome of the session, nil if the log has none yet.
func (r *Reader) Outcome() *Outcome { return r.outcome }

// Doing returns the present work of the agent in one line: its latest command, change or call
// that has not ended. It is empty if there is none.
func (r *Reader) Doing() string {
	if len(r.begun) == 0 {
		return ""
	}
	e := r.itemEntry(r.begun[len(r.begun)-1])
	if e.Kind == KindCommand {
		return "running `" + e.Title + "`"
	}
	return e.Title
}

// Feed takes the next part of a log, which may end anywhere, and returns the entries of
// the lines that it completes.
func (r *Reader) Feed(part []byte) []Entry {
	var all []Entry
	for {
		end := bytes.IndexByte(part, '\n')
		if end < 0 {
			break
		}
		switch {
		case r.tooLong > 0:
			all = append(all, r.unreadable(r.tooLong+end))
			r.tooLong = 0
		case len(r.partial) > 0:
			all = append(all, r.Line(append(r.partial, part[:end]...))...)
			r.partial = r.partial[:0]
		default:
			all = append(all, r.Line(part[:end])...)
		}
		part = part[end+1:]
	}
	switch {
	case r.tooLong > 0:
		r.tooLong += len(part)
	case len(r.partial)+len(part) > maxLine:
		r.tooLong, r.partial = len(r.partial)+len(part), nil
	default:
		r.partial = append(r.partial, part...)
	}
	return all
}

// End returns the entries for the parts that have no end in the log: the agent's work in
// progress, and a last line that is not whole. It is for a log that does not go on, as after a
// session that was killed.
func (r *Reader) End() []Entry {
	all := r.unfinished(anyItem)
	if n := len(r.partial) + r.tooLong; n > 0 {
		all = append(all, r.entry(KindNotice, fmt.Sprintf("the log ends inside a line, after %s", count(int64(n), "byte"))))
		r.partial, r.tooLong = nil, 0
	}
	if r.outcome == nil {
		e := r.entry(KindOutcome, "the log ends before the session does")
		e.Failed = true
		all = append(all, e)
	}
	return all
}

// Now returns the entries of the work in progress of a session that runs. Its log goes on.
func (r *Reader) Now() []Entry {
	var all []Entry
	for _, it := range r.begun {
		all = append(all, r.itemEntry(it))
	}
	return append(all, r.entry(KindNotice, "the session is running"))
}

// unfinished forgets the items that have begun and that which accepts, and returns their
// entries: nothing more comes of them.
func (r *Reader) unfinished(which func(item) bool) []Entry {
	var all []Entry
	r.begun = slices.DeleteFunc(r.begun, func(it item) bool {
		if !which(it) {
			return false
		}
		e := r.itemEntry(it)
		e.Failed, e.Exit = true, nil
		e.Text = strings.TrimPrefix(e.Text+"\n(it was not finished)", "\n")
		all = append(all, e)
		return true
	})
	return all
}

func anyItem(item) bool { return true }

// Line takes the next line of a log, without its line end, and returns its entries. Most
// lines have none or one.
func (r *Reader) Line(line []byte) []Entry {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || isPiece(line) {
		return nil
	}
	var l Line
	if len(line) > maxLine || json.Unmarshal(line, &l) != nil {
		if r.damaged {
			return nil
		}
		r.damaged = true
		return []Entry{r.unreadable(len(line))}
	}
	r.damaged = false
	r.now = time.Duration(min(max(l.Millis, 0), maxMillis)) * time.Millisecond
	switch {
	case l.Session != nil:
		return r.onSession(*l.Session)
	case l.Hook != nil:
		return []Entry{r.hookEntry(*l.Hook)}
	case l.Outcome != nil:
		return append(r.unfinished(anyItem), r.outcomeEntry(*l.Outcome))
	case l.Event != nil:
		return r.onEvent(*l.Event)
	case l.Msg == nil:
		return nil // the size of a message alone
	}
	var m message
	if json.Unmarshal(l.Msg, &m) != nil {
		return nil // a line without a message of the protocol has an event
	}
	m.omitted = max(l.Omitted, 0)
	if l.Dir == ">" {
		return r.onSent(m)
	}
	return r.onReceived(m)
}

// isPiece reports whether a line is a message with a piece of a text, of which a whole log
// has most. It comes as a whole later.
func isPiece(line []byte) bool {
	const head = 120 // bytes in which the method is; in a string its quotes have backslashes
	_, method, _ := bytes.Cut(line[:min(len(line), head)], []byte(`"method":"`))
	method, _, _ = bytes.Cut(method, []byte(`"`))
	return bytes.HasSuffix(method, []byte("elta"))
}

// maxMillis bounds the time of a line: a forged one could not be added to a date.
const maxMillis = int64(1000 * time.Hour / time.Millisecond)

func (r *Reader) entry(kind Kind, title string) Entry {
	e := Entry{Kind: kind, Title: r.line(title), Since: r.now}
	if !r.session.Began.IsZero() {
		e.At = r.session.Began.Add(r.now)
	}
	return e
}

func (r *Reader) unreadable(size int) Entry {
	e := r.entry(KindNotice, fmt.Sprintf("a line of the log cannot be read (%s)", count(int64(size), "byte")))
	e.Omitted, e.Failed = size, true
	return e
}

// noticeEntries returns a notice, unless the one before it said the same.
func (r *Reader) noticeEntries(text string, failed bool) []Entry {
	if text == "" || text == r.notice {
		return nil
	}
	r.notice = text
	e := r.entry(KindNotice, text)
	e.Failed = failed
	if r.lines(text) != e.Title { // it does not fit into a title
		e.Title = "warning"
		if failed {
			e.Title = "error"
		}
		e.Text, e.Omitted = r.bounded(text)
	}
	return []Entry{e}
}

// onSession begins a session: a log that is continued has several.
func (r *Reader) onSession(s Session) []Entry {
	for _, text := range []*string{&s.IssueID, &s.Identifier, &s.Title, &s.URL, &s.State, &s.Run, &s.Host} {
		*text = r.line(*text)
	}
	*r = Reader{Redact: r.Redact, session: s, now: r.now, partial: r.partial, tooLong: r.tooLong}
	e := r.entry(KindSession, strings.TrimSpace(s.Identifier+" "+s.Title))
	about := []string{fmt.Sprintf("attempt %d, session %d", s.Attempt+1, s.Number)}
	if s.Number == 0 {
		about[0] = "removal of the workspace"
	}
	if !s.Began.IsZero() {
		about = append(about, s.Began.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if s.State != "" {
		about = append(about, "state "+s.State)
	}
	if s.Run != "" {
		about = append(about, "workflow run "+s.Run)
	}
	if s.Host != "" {
		about = append(about, "on "+s.Host)
	}
	e.Text = strings.Join(about, ", ")
	if s.URL != "" {
		e.Text += "\n" + s.URL
	}
	return []Entry{e}
}

func (r *Reader) hookEntry(h Hook) Entry {
	e := r.entry(KindHook, "hook "+h.Name+" succeeded")
	if e.Failed = h.Error != ""; e.Failed {
		e.Title = r.line("hook " + h.Name + " failed")
	}
	e.Exit, e.Took = h.Exit, time.Duration(min(max(h.Millis, 0), maxMillis))*time.Millisecond
	e.Text, e.Omitted = r.bounded(strings.TrimRight(h.Output, "\n") + "\n" + h.Error)
	return e
}

// outcomes holds the classes of an outcome in words.
var outcomes = map[string]string{
	"done": "the session ended well", "stopped": "the session was stopped", "issue": "the session failed",
	"transient": "the session failed, and another one may succeed", "thread_lost": "the session failed, and its thread is lost", "host": "the worker host of the session failed",
	"systemic": "the session failed as every other one would", "needs_input": "the session waits for a person",
	Removed: "the workspace was removed", NotRemoved: "the workspace was not removed",
}

func (r *Reader) outcomeEntry(o Outcome) Entry {
	r.outcome = &o
	e := r.entry(KindOutcome, cmp.Or(outcomes[o.Class], "the session ended: "+o.Class))
	e.Failed = !slices.Contains([]string{"done", "stopped", "needs_input", Removed}, o.Class)
	e.Took = r.now
	var text []string
	for _, part := range []string{o.Why, o.Question, o.Refused} {
		if part != "" && (len(text) == 0 || !strings.Contains(text[0], part)) {
			text = append(text, part)
		}
	}
	for _, w := range o.Warnings {
		text = append(text, "warning: "+w)
	}
	if o.Class != Removed && o.Class != NotRemoved {
		text = append(text, fmt.Sprintf("%s, %s (%s in, %s out)", count(int64(o.Turns), "turn"), count(o.Input+o.Output, "token"), grouped(o.Input), grouped(o.Output)))
	}
	e.Text, e.Omitted = r.bounded(strings.Join(text, "\n"))
	return e
}

// onEvent takes an event of the session. Events that the protocol tells as well are not shown
// again.
func (r *Reader) onEvent(e codex.Event) []Entry {
	switch e.Kind {
	case codex.SessionStarted, codex.Notification, codex.OtherMessage:
		return nil
	case codex.TurnCompleted, codex.TurnFailed, codex.TurnCancelled, codex.TurnEndedWithError, codex.TurnInputRequired:
		if r.turn.open {
			return r.endTurn(e.Kind == codex.TurnCompleted, string(e.Kind), e.Summary)
		}
		if e.Kind == codex.TurnInputRequired {
			return r.noticeEntries(e.Summary, false)
		}
		return nil
	case codex.ApprovalAutoApproved:
		return r.noticeEntries(e.Summary, false)
	}
	return r.noticeEntries(e.Summary, e.Kind != codex.Warning)
}

func (r *Reader) endTurn(completed bool, status, why string) []Entry {
	r.turn.open = false
	how := "completed"
	if !completed {
		how = strings.TrimPrefix(strings.ReplaceAll(status, "_", " "), "turn ")
	}
	e := r.entry(KindTurn, fmt.Sprintf("turn %d %s", r.turn.number, how))
	e.Failed, e.Took = !completed, r.now-r.turn.began
	used := r.spent.minus(r.turn.before)
	cached := ""
	if used.Cached > 0 {
		cached = ", " + grouped(used.Cached) + " of them cached"
	}
	text := fmt.Sprintf("%s (%s in%s, %s out)", count(used.total(), "token"), grouped(used.Input), cached, grouped(used.Output))
	if r.turn.number > 1 {
		text += fmt.Sprintf("; %s so far", grouped(r.spent.total()))
	}
	if !completed && why != "" && why != r.notice {
		text = why + "\n" + text
	}
	e.Text, e.Omitted = r.bounded(text)
	return []Entry{e}
}
