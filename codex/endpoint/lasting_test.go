package endpoint

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// server is an app-server with one thread, whose turn calls a tool a number of times. It cuts connections
// before or after it has written a message.
type server struct {
	t     *testing.T
	calls int
	cuts  func() bool // reports whether the connection is cut now
	hangs string      // request that gets no answer; empty for none

	mu       sync.Mutex
	process  int // start of its process
	answered []string
	running  bool
	socket   *websocket.Conn // of the client that has resumed; nil for none
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer socket.CloseNow()
	for {
		_, line, err := socket.Read(r.Context())
		if err != nil {
			return
		}
		s.mu.Lock()
		s.take(socket, line)
		s.mu.Unlock()
	}
}

// take handles a message of a client.
func (s *server) take(socket *websocket.Conn, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		s.t.Errorf("%s: %v", line, err)
	}
	answer := func(result string) { s.say(socket, `{"id":%s,"result":%s}`, m.ID, result) }
	status := map[bool]string{true: "inProgress", false: "completed"}[s.running]
	if s.hangs != "" && m.Method == s.hangs {
		return
	}
	switch m.Method {
	case "initialize":
		answer("{}")
	case "initialized":
	case "fs/readFile":
		stat, _ := json.Marshal([]byte(fmt.Sprintf("7 (codex) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %d 20 21", s.process)))
		answer(fmt.Sprintf(`{"dataBase64":%s}`, stat))
	case "thread/start":
		s.socket = socket
		answer(`{"thread":{"id":"T"}}`)
	case "thread/resume":
		s.socket = socket
		answer(`{"thread":{"id":"T"}}`)
		if s.running {
			s.call()
		}
	case "thread/read":
		answer(fmt.Sprintf(`{"thread":{"id":"T","turns":[{"id":"turn","status":%q}]}}`, status))
	case "turn/start":
		s.running = true
		answer(`{"turn":{"id":"turn"}}`)
		s.call()
		s.say(socket, `{"method":"turn/completed","params":{"threadId":"a review","turn":{"id":"other","status":"completed"}}}`)
	case "":
		if number, err := strconv.Atoi(string(m.ID)); err != nil || number > len(s.answered) || number < len(s.answered) && s.answered[number] != string(m.Result) {
			s.t.Errorf("an answer to %s, %s, after %q", m.ID, m.Result, s.answered)
			return
		} else if number < len(s.answered) {
			return // the same answer over two connections: the first one counts
		}
		s.answered = append(s.answered, string(m.Result))
		if len(s.answered) < s.calls {
			s.call()
			return
		}
		s.running = false
		s.say(s.socket, `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"turn","status":"completed"}}}`)
	}
}

// call calls the tool, or again if it was not answered.
func (s *server) call() {
	s.say(s.socket, `{"method":"item/tool/call","id":%d,"params":{"callId":"c%[1]d"}}`, len(s.answered))
}

func (s *server) say(to *websocket.Conn, format string, args ...any) {
	if s.cuts() {
		to.CloseNow()
		return
	}
	to.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, format, args...)) // a client that is gone resumes
	if s.cuts() {
		to.CloseNow()
	}
}

// client is a session over a connection. It answers each call of a tool with the number of its calls.
type client struct {
	t     *testing.T
	w     io.Writer
	lines *bufio.Scanner
	last  int
	tools int
}

// call makes a request and returns its result, or false if its connection was lost.
func (c *client) call(method string) (result string, ok bool) {
	c.last++
	fmt.Fprintf(c.w, "{\"id\":%d,\"method\":%q,\"params\":{}}\n", c.last, method)
	m := c.until(func(m message) bool { return m.Method == "" && string(m.ID) == fmt.Sprint(c.last) })
	if m.Error != nil && !strings.Contains(string(m.Error), fmt.Sprint(CodeLost)) {
		c.t.Fatalf("%s: %s", method, m.Error)
	}
	return string(m.Result), m.Error == nil
}

// until reads to a message.
func (c *client) until(is func(message) bool) message {
	for c.lines.Scan() {
		var m message
		if err := json.Unmarshal(c.lines.Bytes(), &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Method == "item/tool/call" {
			fmt.Fprintf(c.w, "{\"id\":%s,\"result\":%d}\n", m.ID, c.tools)
			c.tools++
		}
		if is(m) {
			return m
		}
	}
	c.t.Fatalf("the connection ended: %v", c.lines.Err())
	return message{}
}

func lastingClient(t *testing.T, s *server) (*client, *int) {
	t.Helper()
	host := httptest.NewServer(s)
	t.Cleanup(host.Close)
	times := new(int)
	connection, err := Lasting(t.Context(), Server{Address: parse(t, "ws"+strings.TrimPrefix(host.URL, "http"))}, func(error) { *times++ })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	c := &client{t: t, w: connection, lines: bufio.NewScanner(connection)}
	c.call("initialize")
	io.WriteString(connection, "{\"method\":\"initialized\"}\n")
	c.call("fs/readFile") // comes after the connection's own
	return c, times
}

// Turns over connections that are cut a hundred times, at any message: each call of a tool comes once and has
// its own answer, and each turn has an end.
func TestNothingIsLostOrComesTwiceOverConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	cuts := 0
	for seed := uint64(0); cuts < 100; seed++ {
		random := rand.New(rand.NewPCG(seed, seed))
		begun := false
		s := &server{t: t, calls: 20, cuts: func() bool { return begun && random.IntN(10) == 0 }}
		c, times := lastingClient(t, s)
		c.call("thread/start")
		s.mu.Lock()
		begun = true
		s.mu.Unlock()
		if _, ok := c.call("turn/start"); ok || s.isRunning() {
			c.until(func(m message) bool { return m.Method == "turn/completed" && strings.Contains(string(m.Params), `"T"`) })
		}
		s.mu.Lock()
		for i, answer := range s.answered {
			if answer != fmt.Sprint(i) {
				t.Errorf("seed %d: call %d has the answer %s", seed, i, answer)
			}
		}
		if c.tools != len(s.answered) || len(s.answered) != s.calls && s.running {
			t.Errorf("seed %d: %d calls came, %d were answered", seed, c.tools, len(s.answered))
		}
		s.mu.Unlock()
		cuts += *times
	}
}

func (s *server) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running || len(s.answered) > 0
}

func TestAServerThatWasStartedAnewIsNotResumed(t *testing.T) {
	t.Parallel()
	cut := false
	s := &server{t: t, calls: 2, cuts: func() bool { was := cut; cut = false; return was }}
	c, times := lastingClient(t, s)
	c.call("thread/start")
	s.mu.Lock()
	s.process, cut = 1, true
	s.mu.Unlock()
	fmt.Fprintf(c.w, "{\"id\":9,\"method\":\"turn/start\"}\n")
	for c.lines.Scan() {
		t.Errorf("the session gets %s", c.lines.Text())
	}
	if err := c.lines.Err(); *times != 0 || err == nil || !strings.Contains(err.Error(), "started anew") {
		t.Errorf("%d times, %v", *times, err)
	}
}

// A server that takes connections and answers nothing ends the session, after a while or by Close.
func TestAResumptionHasAnEnd(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{false, true} {
		cut := false
		s := &server{t: t, calls: 2, cuts: func() bool { was := cut; cut = false; return was }}
		c, times := lastingClient(t, s)
		c.call("thread/start")
		s.mu.Lock()
		s.hangs, cut = "thread/resume", true
		s.mu.Unlock()
		fmt.Fprintf(c.w, "{\"id\":9,\"method\":\"turn/start\"}\n")
		if closes {
			go c.w.(io.Closer).Close()
		}
		for c.lines.Scan() {
			t.Errorf("the session gets %s", c.lines.Text())
		}
		if *times != 0 {
			t.Errorf("%d times", *times)
		}
	}
}
