package endpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestMain(m *testing.M) {
	tries, pause, resumeTime = 40, time.Millisecond, 50*time.Millisecond
	os.Exit(m.Run())
}

// echo answers each message with itself, in capitals, and closes after "bye".
func echo(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer socket.CloseNow()
		socket.SetReadLimit(-1)
		for {
			kind, message, err := socket.Read(r.Context())
			if err != nil {
				return
			}
			if string(message) == "bye" {
				socket.Close(websocket.StatusNormalClosure, "")
				return
			}
			if string(message) == "much" {
				message = []byte(strings.Repeat("x", maxMessage+1))
			}
			if err := socket.Write(r.Context(), kind, []byte(strings.ToUpper(string(message)))); err != nil {
				return
			}
		}
	}
}

func parse(t *testing.T, text string) Address {
	t.Helper()
	a, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

func TestLinesAreMessages(t *testing.T) {
	t.Parallel()
	tcp := httptest.NewServer(echo(t))
	t.Cleanup(tcp.Close)
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	unix := &httptest.Server{Listener: listener, Config: &http.Server{Handler: echo(t)}}
	unix.Start()
	t.Cleanup(unix.Close)
	for _, address := range []string{"ws" + strings.TrimPrefix(tcp.URL, "http"), "unix://" + path} {
		c, err := Dial(t.Context(), Server{Address: parse(t, address), Token: "token"})
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		for _, part := range []string{"{\"a\":1}\n{\"b\":2}\n", strings.Repeat("y", 1<<20) + "\n"} {
			if n, err := io.WriteString(c, part); n != len(part) || err != nil {
				t.Fatalf("%s: wrote %d of %d: %v", address, n, len(part), err)
			}
		}
		lines := bufio.NewReader(c)
		for _, want := range []string{`{"A":1}`, `{"B":2}`, strings.Repeat("Y", 1<<20)} {
			if got, err := lines.ReadString('\n'); got != want+"\n" || err != nil {
				t.Errorf("%s: read %.100q, %v", address, got, err)
			}
		}
		io.WriteString(c, "bye\n")
		if got, err := lines.ReadString('\n'); got != "" || err != io.EOF {
			t.Errorf("%s: after the end of the server: %q, %v", address, got, err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestAMessageThatIsTooLongEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(echo(t))
	t.Cleanup(s.Close)
	c, err := Dial(t.Context(), Server{Address: parse(t, "ws"+strings.TrimPrefix(s.URL, "http")), Token: ""})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "much\n")
	if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsARead(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(echo(t))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Dial(ctx, Server{Address: parse(t, "ws"+strings.TrimPrefix(s.URL, "http")), Token: ""})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // bounds Dial alone
	io.WriteString(c, "a\n")
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "A\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	ended := make(chan error)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	c.Close()
	if err := <-ended; err == nil {
		t.Error("the read goes on")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "127.0.0.1:80", "http://a", "ws://", "ws:///x", "wss://user:pass@a", "ws://a?token=x", "ws://a#b", "unix://a/b", "unix:relative", "unix:", "ws://[::1", "stdio://"} {
		if a, err := Parse(wrong); !errors.Is(err, ErrAddress) || a != "" {
			t.Errorf("%q: %v, %v", wrong, a, err)
		}
	}
	if _, err := Parse("unix:///" + strings.Repeat("a", maxPath)); !errors.Is(err, ErrLongPath) {
		t.Errorf("%v", err)
	}
	for address, safe := range map[string]bool{
		"ws://127.0.0.1:80": true, "ws://127.9.9.9": true, "ws://[::1]:80": true, "ws://localhost:80": true, "wss://a.example": true, "unix:///run/codex": true,
		"ws://a.example": false, "ws://10.0.0.1:80": false, "ws://127.0.0.1.example:80": false, "ws://0.0.0.0:80": false,
	} {
		if err := parse(t, address).CheckToken(); (err == nil) != safe || !safe && !errors.Is(err, ErrTransport) {
			t.Errorf("%s: %v", address, err)
		}
		if safe {
			continue
		}
		if _, err := Dial(t.Context(), Server{Address: parse(t, address), Token: "token"}); !errors.Is(err, ErrTransport) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAServerThatTakesNoConnection(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token went elsewhere") }))
	t.Cleanup(elsewhere.Close)
	for name, test := range map[string]struct {
		status int
		token  string
		kind   error
		says   string
		tries  int
	}{
		"without a token":    {http.StatusUnauthorized, "", ErrRefused, "401 Unauthorized: set codex.endpoint_token", 1},
		"with a wrong token": {http.StatusUnauthorized, "wrong", ErrRefused, "compare codex.endpoint_token", 1},
		"another server":     {http.StatusOK, "", ErrRefused, "is this the address of an app-server?", 1},
		"a redirect":         {http.StatusFound, "s3cret", ErrRefused, "302 Found", 1},
		"not ready":          {http.StatusServiceUnavailable, "", ErrUnreachable, "--listen ws://", 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; test.token != "" && r.Header.Get("Authorization") != "Bearer "+test.token {
					t.Errorf("%v", r.Header)
				}
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(test.status)
			}))
			defer s.Close()
			_, err := Dial(t.Context(), Server{Address: parse(t, "ws"+strings.TrimPrefix(s.URL, "http")), Token: test.token})
			if !errors.Is(err, test.kind) || !strings.Contains(fmt.Sprint(err), test.says) || asked != test.tries || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("asked %d times: %v", asked, err)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ws://127.0.0.1:1", "unix://" + filepath.Join(t.TempDir(), "none")} {
		if _, err := Dial(t.Context(), Server{Address: parse(t, address), Token: ""}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "start the app-server with --listen "+address) {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := Dial(ctx, Server{Address: parse(t, "ws://127.0.0.1:1"), Token: ""}); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
