package codextest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Model is a scripted model for the real Codex: a server on loopback that implements
// the part of the Responses API that Codex uses, and answers from its lanes. A request
// without a lane is answered with the message that there is nothing left to do.
type Model struct {
	url      string
	server   http.Server
	stopped  chan struct{} // closed by Close, which ends replies that wait
	handlers sync.WaitGroup

	mu       sync.Mutex
	lanes    []Lane
	used     map[string]int // replies, by lane and thread
	requests []Request
}

// Lane is a sequence of replies to the requests that match.
type Lane struct {
	Match     *regexp.Regexp // pattern of the request's body; nil matches every request
	PerThread bool           // each thread starts at the first reply
	Loop      bool           // the first reply follows the last
	Replies   []Reply
}

// Request is a request that the model has received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         json.RawMessage
}

// NewModel starts a model, which the caller has to close. It panics if there is no free
// port on loopback.
func NewModel(lanes ...Lane) *Model {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("codextest: a model needs a port on loopback: %v", err))
	}
	m := &Model{
		url:     "http://" + l.Addr().String() + "/v1",
		stopped: make(chan struct{}),
		lanes:   lanes,
		used:    make(map[string]int),
	}
	m.server.Handler = m
	m.handlers.Go(func() { m.server.Serve(l) })
	return m
}

// URL returns the base URL of the provider, for the configuration of Codex.
func (m *Model) URL() string { return m.url }

// Add adds lanes after the existing ones. A request takes the first lane that matches.
func (m *Model) Add(lanes ...Lane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lanes = append(m.lanes, lanes...)
}

// Extend adds replies to the last lane, or to a first one.
func (m *Model) Extend(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lanes) == 0 {
		m.lanes = []Lane{{}}
	}
	last := &m.lanes[len(m.lanes)-1]
	last.Replies = append(last.Replies, replies...)
}

// Requests returns the requests so far, in order of arrival.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Close closes every connection, also those that hang, and waits for the server.
func (m *Model) Close() {
	m.mu.Lock()
	close(m.stopped)
	m.mu.Unlock()
	m.server.Close()
	m.handlers.Wait()
}

// enter adds a handler to those that Close waits for. It returns false after Close.
func (m *Model) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.stopped:
		return false
	default:
		m.handlers.Add(1)
		return true
	}
}

// ServeHTTP answers POST /v1/responses only: Codex works without a list of models and
// without a web socket.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.enter() {
		return
	}
	defer m.handlers.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.Error(w, `{"error":{"message":"not found"}}`, http.StatusNotFound)
		return
	}
	reply, n := m.next(Request{Method: r.Method, Path: r.URL.Path, Header: r.Header, Body: body})
	reply.serve(w, r, m.stopped, n)
}

// next records a request and returns the reply from its lane.
func (m *Model) next(r Request) (reply Reply, number int) {
	var thread struct {
		ID string `json:"prompt_cache_key"`
	}
	json.Unmarshal(r.Body, &thread) // a body without one is of no thread
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	for i, lane := range m.lanes {
		if lane.Match != nil && !lane.Match.Match(r.Body) {
			continue
		}
		key := fmt.Sprint(i)
		if lane.PerThread {
			key += " " + thread.ID
		}
		n := m.used[key]
		m.used[key]++
		if lane.Loop && len(lane.Replies) > 0 {
			n %= len(lane.Replies)
		}
		if n < len(lane.Replies) {
			return lane.Replies[n], len(m.requests)
		}
		break
	}
	return Reply{Items: []Item{Message{Text: "There is nothing left to do."}}}, len(m.requests)
}
