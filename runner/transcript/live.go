package transcript

import "sync"

// maxLive and maxLiveBytes bound the entries that a Live keeps.
const maxLive, maxLiveBytes = 1000, 4 << 20

// Live holds the latest entries of a session that runs, for displays in its process: the log
// is read by other processes, and after the session. The session waits for no display. A
// display that is slow loses the oldest entries, and is told how many.
type Live struct {
	mu      sync.Mutex
	reader  Reader
	entries []Entry
	dropped int           // entries before them
	bytes   int           // bytes of the texts of entries
	changed chan struct{} // closed when the next line comes
}

// NewLive returns a Live without entries. redact hides secrets.
func NewLive(redact func(string) string) *Live {
	return &Live{reader: Reader{Redact: redact}, changed: make(chan struct{})}
}

// Line takes the next line of the log.
func (l *Live) Line(line []byte) {
	if isPiece(line) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.reader.Line(line) {
		l.entries = append(l.entries, e)
		l.bytes += e.size()
	}
	for len(l.entries) > maxLive || l.bytes > maxLiveBytes && len(l.entries) > 1 {
		l.bytes -= l.entries[0].size()
		l.entries = l.entries[1:]
		l.dropped++
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (e Entry) size() int { return len(e.Title) + len(e.Input) + len(e.Text) }

// Since returns the entries after the first seen ones of the session, the number of entries
// among them that are lost, and a channel that is closed when there is more.
func (l *Live) Since(seen int) (entries []Entry, lost int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost = max(l.dropped-seen, 0)
	return l.entries[seen+lost-l.dropped:], lost, l.changed
}

// Doing returns the present work of the agent in one line, see [Reader.Doing].
func (l *Live) Doing() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reader.Doing()
}
