package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/symphony-runner/symphony/internal/transport"
)

// roundTripper is a function as the way to all servers.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTailAsksOnlyServersThatAreAsSafeAsTheOwnOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ own, other, want string }{
		{"https://api.github.com", "https://logs.example.org/7?sig=secret", ""},
		{"https://api.github.com", "https://api.github.com/logs/7", ""},
		{"https://ghe.example.org/api/v3", "https://10.1.2.3:9000/7?sig=secret", ""},
		{"http://127.0.0.1:1", "http://127.0.0.1:2/7", ""},
		{"http://127.0.0.1:1", "http://localhost:2/7", ""},
		{"https://api.github.com", "http://logs.example.org/7", `leads to "http" instead of https`},
		{"https://api.github.com", "ftp://logs.example.org/7", `leads to "ftp" instead of https`},
		{"https://api.github.com", "file:///etc/passwd", "no plain address"},
		{"https://api.github.com", "https://me:password@logs.example.org/7", "no plain address"},
		{"https://api.github.com", "/logs/7", "no plain address"},
		{"https://api.github.com", "", "no plain address"},
		{"https://api.github.com", "https://127.0.0.1/7", "this machine"},
		{"https://api.github.com", "https://[::1]/7", "this machine"},
		{"https://api.github.com", "https://[::ffff:127.0.0.1]/7", "this machine"},
		{"https://api.github.com", "https://LocalHost./7", "this machine"},
		{"https://api.github.com", "https://logs.localhost/7", "this machine"},
		{"https://api.github.com", "https://0.0.0.0/7", "this machine"},
		{"https://api.github.com", "https://169.254.169.254/latest/meta-data", "this machine"},
		{"http://127.0.0.1:1", "http://logs.example.org/7", "does not lead to an https address"},
		{"http://127.0.0.1:1", "https://logs.example.org/7", `leads to "https" instead of http`},
	} {
		asked := 0
		tr, err := transport.New(tt.own, "Bearer "+token, roundTripper(func(r *http.Request) (*http.Response, error) {
			asked++
			if r.URL.String() != tt.other || r.Header.Get("Authorization") != "" {
				t.Errorf("asked %s with %v", r.URL, r.Header)
			}
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 3, Body: io.NopCloser(strings.NewReader("log"))}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		text, whole, err := tr.Tail(t.Context(), tt.other, 100)
		if tt.want == "" {
			if err != nil || string(text) != "log" || !whole || asked != 1 {
				t.Errorf("%s from %s: %q, %v, asked %d times", tt.other, tt.own, text, err, asked)
			}
			continue
		}
		e, ok := errors.AsType[*transport.Error](err)
		if !ok || e.Kind != transport.NotSent || asked > 0 || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "password") {
			t.Errorf("%s from %s: %v, asked %d times", tt.other, tt.own, err, asked)
		}
	}
}

// TestTailNeedsToKnowTheToken is about a base that adds a token to each request, which
// must not go to another server.
func TestTailNeedsToKnowTheToken(t *testing.T) {
	t.Parallel()
	tr, err := transport.New("https://api.github.com", "", roundTripper(func(r *http.Request) (*http.Response, error) {
		t.Errorf("asked %s", r.URL)
		return nil, io.EOF
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := tr.Tail(t.Context(), "https://logs.example.org/7", 100); err == nil {
		t.Error("it asked")
	}
}

func TestTailReturnsTheLastBytes(t *testing.T) {
	t.Parallel()
	const all = "0123456789"
	parts := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "log.txt", time.Time{}, strings.NewReader(all))
	})
	noParts := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, all)
	})
	noLength := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, all[:7])
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, all[7:])
	})
	for name, host := range map[string]http.Handler{"parts": parts, "no parts": noParts, "no length": noLength} {
		for _, tt := range []struct {
			n     int
			want  string
			whole bool
		}{{4, "6789", false}, {9, "123456789", false}, {10, all, true}, {100, all, true}} {
			s := httptest.NewServer(host)
			tr, err := transport.New(s.URL, "Bearer "+token, s.Client().Transport)
			if err != nil {
				t.Fatal(err)
			}
			if text, whole, err := tr.Tail(t.Context(), s.URL+"/7", tt.n); err != nil || string(text) != tt.want || whole != tt.whole {
				t.Errorf("%s, %d bytes: %q, whole %v, %v", name, tt.n, text, whole, err)
			}
			s.Close()
		}
	}
}

func TestTailEndsWhenTooLittleComesInTheTimeOfOneTry(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "slow")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	tr, err := transport.New(s.URL, "Bearer "+token, s.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	tr.Timeout = 10 * time.Millisecond
	if _, _, err := tr.Tail(t.Context(), s.URL+"/7?sig=secret", 100); err == nil || !strings.Contains(err.Error(), " within 10ms") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	tr.Timeout = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(io.ErrClosedPipe) })
	if _, _, err := tr.Tail(ctx, s.URL+"/7", 100); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// dripping is a body that comes piece by piece, and ends with its request.
type dripping struct {
	ctx    context.Context
	pieces int
	size   int // bytes of a piece
	every  time.Duration
}

func (d *dripping) Read(p []byte) (int, error) {
	if d.pieces == 0 {
		return 0, io.EOF
	}
	d.pieces--
	select {
	case <-time.After(d.every):
		return copy(p, bytes.Repeat([]byte("."), d.size)), nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (*dripping) Close() error { return nil }

func TestTailGivesALongDownloadItsTimeAndASlowOrEndlessOneAnEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pieces int
		size   int
		every  time.Duration
		want   string
		after  time.Duration
	}{
		{25, 1, time.Second, "", 25 * time.Second},
		{40, 32 << 10, 5 * time.Second, "", 200 * time.Second},
		{15, 32 << 10, 31 * time.Second, "no answer within 30s", 30 * time.Second},
		{1000, 32 << 10, 5 * time.Second, "not everything came within 10m0s: try again later", 10 * time.Minute},
		{1000, 1, 700 * time.Millisecond, "the download is too slow: 42 bytes within 30s, at least 131072 are needed: try again later", 30 * time.Second},
		{1000, 32 << 10, 14 * time.Second, "the download is too slow: 65536 bytes within 30s", 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr, err := transport.New("https://api.github.com", "Bearer "+token, roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: &dripping{r.Context(), tt.pieces, tt.size, tt.every}}, nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			text, whole, err := tr.Tail(t.Context(), "https://logs.example.org/7", 2<<20)
			if took := time.Since(began); took != tt.after {
				t.Errorf("%d pieces of %d bytes: it took %v, want %v", tt.pieces, tt.size, took, tt.after)
			}
			switch {
			case tt.want == "" && (err != nil || len(text) != tt.pieces*tt.size || !whole):
				t.Errorf("%d pieces: %d bytes, whole %v, %v", tt.pieces, len(text), whole, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%d pieces: %v, want %s", tt.pieces, err, tt.want)
			}
		})
	}
}

func TestTailHoldsNoMoreThanItReturns(t *testing.T) {
	t.Parallel()
	all := append(bytes.Repeat([]byte("x"), 100_000), bytes.Repeat([]byte("y"), 1000)...)
	for _, n := range []int{1000, 64 << 20} {
		tr, err := transport.New("https://api.github.com", "Bearer "+token, roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(all))}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		text, whole, err := tr.Tail(t.Context(), "https://logs.example.org/7", n)
		if want := all[max(0, len(all)-n):]; err != nil || !bytes.Equal(text, want) || whole != (n > len(all)) || cap(text) > 2*len(want) {
			t.Errorf("the last %d bytes: %d, room for %d, whole %v, %v", n, len(text), cap(text), whole, err)
		}
	}
}

func TestFetchReturnsAllOrNothing(t *testing.T) {
	t.Parallel()
	const address = "https://files.example.org/7?sig=secret"
	for name, tt := range map[string]struct {
		status int
		length int64
		body   string
		want   error // ErrTooLong or another one
	}{
		"as much as it may":            {200, 10, "0123456789", nil},
		"of no known length":           {200, -1, "0123456789", nil},
		"more than it may":             {200, 11, "", transport.ErrTooLong},
		"more, of no known length":     {200, -1, "0123456789a", transport.ErrTooLong},
		"a redirect to somewhere else": {302, 0, "", io.EOF},
		"an address that has expired":  {403, 0, "", io.EOF},
	} {
		read := 0
		tr, err := transport.New("https://api.github.com", "Bearer "+token, roundTripper(func(r *http.Request) (*http.Response, error) {
			if read++; r.Header.Get("Authorization") != "" {
				t.Errorf("%s: the token went along", name)
			}
			return &http.Response{StatusCode: tt.status, Header: http.Header{"Location": {"https://elsewhere.example.org"}}, ContentLength: tt.length, Body: io.NopCloser(strings.NewReader(tt.body))}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		content, err := tr.Fetch(t.Context(), address, 10)
		switch {
		case read != 1:
			t.Errorf("%s: %d requests", name, read)
		case tt.want == nil:
			if err != nil || string(content) != tt.body {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		case err == nil || errors.Is(err, transport.ErrTooLong) != (tt.want == transport.ErrTooLong) || len(content) > 0 || strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}
