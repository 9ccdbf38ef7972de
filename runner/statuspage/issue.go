package statuspage

import (
	"html/template"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/transcript"
	"github.com/symphony-runner/symphony/tracker"
	"github.com/symphony-runner/symphony/workspace"
)

const (
	// maxRead bounds how much of a log is read at a time. Of a longer one the end is shown.
	maxRead = 4 << 20
	// maxEntries bounds how many entries of a transcript a page begins with.
	maxEntries = 200
	// maxSessions bounds how many sessions of an issue a page names.
	maxSessions = 50
)

// issuePage is the page of one issue.
type issuePage struct {
	page
	LogCommand string // that shows all of the transcript
	Sections   []section
	Transcript []template.HTML
	Omitted    bool // the beginning of the transcript is not there
}

// aboutIssue is the data of the sections of an issue's page.
type aboutIssue struct {
	*issue
	View *view
	Logs []sessionFile
}

// Issue returns the issue, for templates that need it by itself.
func (a aboutIssue) Issue() *issue { return a.issue }

// Retry returns the command that lets the issue go on.
func (a aboutIssue) Retry() string { return a.View.retryCommand(wordOf(a.issue)) }

// wordOf returns the name of an issue for a command. ID stands for a name that a shell might
// read as more than a word.
func wordOf(i *issue) string {
	if workspace.Key(i.Name) == i.Name && !strings.HasPrefix(i.Name, "-") {
		return i.Name
	}
	return "ID"
}

// GoOn returns the way to let the issue go on if it is parked.
func (a aboutIssue) GoOn() string { return a.View.GoOn() }

// Workspace returns the path of the workspace of the issue; empty for a former one, whose
// workspace may be gone.
func (a aboutIssue) Workspace() string {
	if a.IsFormer() {
		return ""
	}
	return a.View.workspaceOf(a.issue)
}

// issuePageOf returns the page of an issue, without its transcript, that shows a session, see
// logsOf.
func issuePageOf(v *view, i *issue, session string) issuePage {
	title := i.Name
	if more := i.Title(); more != "" {
		title += " " + more
	}
	live := i.Path + "/events"
	if session != "" {
		live += "?session=" + url.QueryEscape(session)
	}
	return issuePage{
		page: page{Title: title + " · Symphony", Where: v.where(), Live: live}, LogCommand: v.line(report.LogCommand(v.raw.Program, v.raw.Logs, wordOf(i)), maxLine),
		Sections: sectionsOf(aboutIssue{i, v, v.logsOf(i, session)}, "about", "control", "history", "sessions"),
	}
}

func (s *Server) serveIssue(w http.ResponseWriter, r *http.Request, snap *snapshot) {
	v, name := snap.view(), r.PathValue("issue")
	i := v.findPage(name)
	if i == nil {
		s.fail(w, r, http.StatusNotFound, "issue_not_found", unknownIssue(clean(s.redactor, name, maxName)))
		return
	}
	session := r.URL.Query().Get("session")
	p := issuePageOf(v, i, session)
	log := follower{redactor: s.redactor, folder: v.raw.Logs}
	defer log.close()
	if more := log.read(v.logOf(i, session), i.live()); more != nil {
		p.Transcript, p.Omitted = more.Entries, more.Omitted
	}
	writePage(w, http.StatusOK, render("issue-page", p))
}

// findPage returns the issue of a page by its identifier or id: one that find returns, one that
// another process works on, or a former one, of which there are only events, or the log of its
// last session. It returns nil if there is none.
func (v *view) findPage(name string) *issue {
	if i := v.find(name); i != nil {
		return i
	}
	for _, i := range v.Elsewhere {
		if i.isNamed(name) {
			return i
		}
	}
	for _, e := range v.raw.Events {
		if i := v.unclaimed(e.ID, e.Identifier); i.isNamed(name) {
			return i
		}
	}
	if i := v.unclaimed(tracker.ID(name), name); v.logOf(i, "") != "" {
		return i
	}
	return nil
}

func (i *issue) isNamed(name string) bool {
	return strings.EqualFold(i.Name, name) || strings.EqualFold(i.ID, name)
}

// serveIssueEvents sends an open page of an issue what changes.
func (s *Server) serveIssueEvents(w http.ResponseWriter, r *http.Request) {
	var sent changes
	var known schedule.Claim
	log := follower{redactor: s.redactor}
	defer log.close()
	s.stream(w, r, func(snap *snapshot) *update {
		v := snap.view()
		i := v.findPage(r.PathValue("issue"))
		if i == nil {
			return nil // nothing is left of it: the page keeps what it has
		}
		if i.IsFormer() {
			i.claim.Title, i.claim.URL = known.Title, known.URL
		}
		known = i.claim
		session := r.URL.Query().Get("session")
		p := issuePageOf(v, i, session)
		log.folder = v.raw.Logs
		name := log.name
		if i.session != nil || name == "" {
			name = v.logOf(i, session)
		}
		return sent.of(p.Title, p.Sections, log.read(name, i.live()))
	})
}

// sessionFile is the event log of one session of an issue.
type sessionFile struct {
	Name   string // below the folder of logs
	Key    string // that names it in an address
	Number int
	Began  time.Time
	Path   string // of the page that shows it
	Shown  bool
}

// logsOf returns the event logs of an issue, at most the latest maxSessions, the latest first.
// The one that is shown is that of a key, or what logOf returns without one.
func (v *view) logsOf(i *issue, wanted string) []sessionFile {
	if v.raw.Logs == "" {
		return nil
	}
	files, _ := transcript.ListOf(os.DirFS(v.raw.Logs), workspace.Key(i.claim.Identifier)) // without them there is nothing to show
	slices.Reverse(files)
	files = files[:min(len(files), maxSessions)]
	logs := make([]sessionFile, len(files))
	chosen := false
	for n, f := range files {
		key := strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
		logs[n] = sessionFile{Name: f.Path, Key: key, Number: f.Number, Began: f.Began, Path: i.Path + "?session=" + url.QueryEscape(key), Shown: key == wanted}
		chosen = chosen || logs[n].Shown
	}
	if len(logs) > 0 {
		logs[0].Path, logs[0].Shown = i.Path, logs[0].Shown || !chosen
	}
	return logs
}

// logOf returns the event log of an issue that is shown: that of a key, or else that of its
// session, or else that of its last one. It is a name below the folder of logs, empty for none.
func (v *view) logOf(i *issue, wanted string) string {
	logs := v.logsOf(i, wanted)
	for _, log := range logs {
		if log.Shown && log.Key == wanted {
			return log.Name
		}
	}
	if i.session != nil && v.raw.Logs != "" {
		return i.sessionLog()
	}
	if len(logs) == 0 {
		return ""
	}
	return logs[0].Name
}

// sessionLog returns the name of the log of the issue's session below the folder of logs; empty
// for none.
func (i *issue) sessionLog() string {
	if i.raw().Log == "" {
		return ""
	}
	name, err := filepath.Rel(i.view.raw.Logs, i.session.Log)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(name)
}

// live returns the entries of the session of the issue, with the name of its log; nil for none.
func (i *issue) live() *liveLog {
	name := i.sessionLog()
	if name == "" || i.session.Live == nil {
		return nil
	}
	return &liveLog{name, i.session.Live}
}

// liveLog is a log that a session of this process writes.
type liveLog struct {
	name string // below the folder of logs
	*transcript.Live
}

// follower reads the event log of an issue's sessions as it grows. A log that ends is
// read to its end; another one takes its place. Of a session of this process it gets what
// is written, and of all others it reads the file.
type follower struct {
	redactor *redact.Redactor
	folder   string // of the logs
	name     string // of the log that is read; empty before the first
	live     *transcript.Live
	seen     int // entries of live
	file     *os.File
	reader   transcript.Reader
}

// read returns the new entries of the log of a name since the last call, nil for nothing.
func (f *follower) read(name string, live *liveLog) *newEntries {
	var more newEntries
	switch {
	case name == "" || name == f.name:
	case live != nil && live.name == name:
		f.close()
		f.name, f.live, f.seen, more.Restart = name, live.Live, 0, true
	default:
		file, omitted, err := openLog(f.folder, name)
		if err != nil {
			return nil // it is not there yet
		}
		f.close()
		f.name, f.file, f.reader = name, file, transcript.Reader{Redact: f.redactor.String}
		more.Restart, more.Omitted = true, omitted
		if omitted {
			f.skipLine()
		}
	}
	for _, e := range f.next(&more) {
		if e.Kind != transcript.KindSession { // the page says it above
			more.Entries = append(more.Entries, transcript.HTML(e))
		}
	}
	if over := len(more.Entries) - maxEntries; over > 0 {
		more.Entries = more.Entries[over:]
		more.Omitted = more.Omitted || more.Restart
	}
	if !more.Restart && len(more.Entries) == 0 {
		return nil
	}
	return &more
}

// next returns the entries since the last call. If some are lost, the page begins again.
func (f *follower) next(more *newEntries) []transcript.Entry {
	switch {
	case f.live != nil:
		entries, lost, _ := f.live.Since(f.seen)
		f.seen += lost + len(entries)
		more.Restart, more.Omitted = more.Restart || lost > 0, lost > 0
		return entries
	case f.file != nil:
		part, _ := io.ReadAll(io.LimitReader(f.file, maxRead)) // what cannot be read now is read later
		return f.reader.Feed(part)
	}
	return nil
}

// openLog opens a log for reading. Of one that is too long it skips the beginning.
func openLog(folder, name string) (file *os.File, omitted bool, err error) {
	file, err = transcript.Open(folder, name)
	if err != nil {
		return nil, false, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > maxRead {
		omitted = true
		_, err = file.Seek(-maxRead, io.SeekEnd)
	}
	if err != nil {
		file.Close()
		return nil, false, err
	}
	return file, omitted, nil
}

// skipLine reads up to the next line end: the line before it is not whole.
func (f *follower) skipLine() {
	at, _ := f.file.Seek(0, io.SeekCurrent)
	part := make([]byte, 1<<20)
	n, _ := io.ReadFull(f.file, part)
	for i, c := range part[:n] {
		if c == '\n' {
			f.file.Seek(at+int64(i)+1, io.SeekStart)
			return
		}
	}
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
	f.file, f.live, f.name = nil, nil, ""
}
