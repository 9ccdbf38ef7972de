package statuspage

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"
)

const (
	// maxClients bounds how many pages may wait for updates at a time.
	maxClients = 32
	// updateEvery is the time between two updates of a page at least.
	updateEvery = 500 * time.Millisecond
	// heartbeat is the time after which a page without news is sent a sign of life, so
	// that one that is gone is noticed.
	heartbeat = 15 * time.Second
	// patience is how long a page may take to read an update. Then it is dropped; its
	// script connects again.
	patience = 10 * time.Second
)

// clients holds a channel for each page that waits for updates. A channel holds at most
// one wake-up: a slow page misses states, and nothing waits for it.
type clients struct {
	mu    sync.Mutex
	wakes map[chan struct{}]struct{}
	ended chan struct{} // closed when no more updates come
	end   func()
}

func newClients() *clients {
	ended := make(chan struct{})
	return &clients{wakes: map[chan struct{}]struct{}{}, ended: ended, end: sync.OnceFunc(func() { close(ended) })}
}

func (c *clients) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for wake := range c.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// join adds a client until leave is called. It reports false if there are too many.
func (c *clients) join() (wake <-chan struct{}, leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wakes) >= maxClients {
		return nil, nil, false
	}
	own := make(chan struct{}, 1)
	c.wakes[own] = struct{}{}
	return own, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.wakes, own)
	}, true
}

// update is one message to an open page.
type update struct {
	Build      string      `json:"build"` // of the page's script and style
	Title      string      `json:"title"`
	Sections   []section   `json:"sections,omitempty"` // that changed
	Transcript *newEntries `json:"transcript,omitempty"`
}

// newEntries holds the entries that continue a transcript.
type newEntries struct {
	Restart bool            `json:"restart,omitempty"` // it is of another log: what was shown is removed
	Omitted bool            `json:"omitted,omitempty"` // its beginning is left out
	Entries []template.HTML `json:"entries,omitempty"`
}

// changes keeps what a page was sent, to send what differs.
type changes struct {
	title string
	sent  map[string]template.HTML
}

// of returns the update of a page, nil if nothing differs.
func (c *changes) of(title string, sections []section, entries *newEntries) *update {
	u := &update{Build: loadAssets().build, Title: title, Transcript: entries}
	for _, s := range sections {
		if c.sent[s.ID] != s.HTML {
			u.Sections = append(u.Sections, s)
		}
	}
	if len(u.Sections) == 0 && entries == nil && c.title == title {
		return nil
	}
	c.title, c.sent = title, map[string]template.HTML{}
	for _, s := range sections {
		c.sent[s.ID] = s.HTML
	}
	return u
}

// eventsOf returns a handler that sends an open page of the run what changes.
func (s *Server) eventsOf(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var sent changes
		part := partOf(r)
		s.stream(w, r, func(snap *snapshot) *update {
			o := snap.overview(path, part)
			return sent.of(o.Title, o.Sections, nil)
		})
	}
}

// stream sends updates to a page as server-sent events, until it hangs up, is too slow or
// the server ends. next returns the next update, nil for none.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, next func(*snapshot) *update) {
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		// A page of somebody else can open frames, which would use up all clients.
		s.fail(w, r, http.StatusForbidden, "forbidden", "only the script of a page is sent its updates")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return // there is nothing to wait for
	}
	wake, leave, ok := s.clients.join()
	if !ok {
		w.Header().Set("Retry-After", "5")
		s.fail(w, r, http.StatusServiceUnavailable, "too_many_clients", fmt.Sprintf("%d pages are open already: close one", maxClients))
		return
	}
	defer leave()
	send := sender(w, s.patience)
	if !send("retry: 2000\n\n") {
		return
	}
	for {
		if snap := s.latest.Load(); snap != nil {
			if u := next(snap); u != nil {
				data, _ := json.Marshal(u) // text and flags can always be encoded
				if !send("event: update\ndata: " + string(data) + "\n\n") {
					return
				}
			}
		}
		if !s.sleep(r.Context(), s.every) {
			return
		}
		for waiting := true; waiting; {
			select {
			case <-wake:
				waiting = false
			case <-time.After(s.heartbeat):
				if !send(":\n\n") {
					return
				}
			case <-r.Context().Done():
				return
			case <-s.clients.ended:
				return
			}
		}
	}
}

// sleep waits for d. It reports false if the client or the server ended meanwhile.
func (s *Server) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
	case <-s.clients.ended:
	}
	return false
}

// sender returns a function that writes to a client at once, and reports whether the
// client has taken it in time.
func sender(w http.ResponseWriter, patience time.Duration) func(text string) bool {
	control := http.NewResponseController(w)
	return func(text string) bool {
		control.SetWriteDeadline(time.Now().Add(patience)) // fails only for a writer without deadlines, as in a test
		_, err := w.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
}
