package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/trackertest"
	"github.com/symphony-runner/symphony/internal/transport"
)

const (
	token   = "oauth/token+0123456789"
	address = "http://localhost/api"
)

// scripted answers each request with the next of its handlers, and all further ones
// with the last.
type scripted struct {
	handlers []http.HandlerFunc
	requests atomic.Int32
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.requests.Add(1))
	s.handlers[min(n, len(s.handlers))-1](w, r)
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// faults are the failures that may be temporary.
var faults = map[string]http.HandlerFunc{
	"500":           status(500),
	"503":           status(503),
	"an empty wait": status(503, "Retry-After", "0"),
	"a broken one":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"no answer":     func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	"a short wait":  status(429, "Retry-After", "2"),
	"a body cut short": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = w.Write([]byte("{"))
	},
	"an endless header": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 11<<20)) },
}

// bubble runs a test over a server with these handlers, in virtual time.
func bubble(t *testing.T, run func(t *testing.T, s *scripted, tr *transport.Transport), handlers ...http.HandlerFunc) {
	t.Helper()
	s := &scripted{handlers: handlers}
	trackertest.Bubble(t, s, func(t *testing.T, base http.RoundTripper) {
		run(t, s, newTransport(t, address, base))
	})
}

func newTransport(t *testing.T, at string, base http.RoundTripper) *transport.Transport {
	t.Helper()
	tr, err := transport.New(at, "Bearer "+token, base)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func send(ctx context.Context, tr *transport.Transport, method, at string) (transport.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader([]byte(`{"a":1}`)))
	if err != nil {
		return transport.Answer{}, err
	}
	return tr.Do(req)
}

// failure returns the error of a request that must fail, in a form fit for people.
func failure(t *testing.T, err error, kind transport.Kind, words ...string) *transport.Error {
	t.Helper()
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("got %#v (%v), want kind %d", err, err, kind)
	}
	for _, word := range words {
		if !strings.Contains(e.Error(), word) {
			t.Errorf("%q does not say %q", e, word)
		}
	}
	if strings.Contains(e.Error(), token) || len(e.Error()) > 400 {
		t.Errorf("not fit to be shown: %q", e)
	}
	return e
}

func TestATemporaryFailureIsRepeatedTwice(t *testing.T) {
	t.Parallel()
	good := func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != `{"a":1}` {
			t.Errorf("the request was repeated with the body %q", body)
		}
		_, _ = w.Write([]byte("good"))
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
				a, err := send(transport.Repeatable(t.Context()), tr, http.MethodPost, address)
				if err != nil || string(a.Body) != "good" || s.requests.Load() != 3 {
					t.Errorf("%q, %v after %d requests, want success with the third", a.Body, err, s.requests.Load())
				}
			}, fault, fault, good)
			bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
				start := time.Now()
				if _, err := send(t.Context(), tr, http.MethodGet, address); err == nil || s.requests.Load() != 3 {
					t.Errorf("%v after %d requests, want an error after 3", err, s.requests.Load())
				}
				if took := time.Since(start); took > 3*tr.Timeout+5*time.Second {
					t.Errorf("it took %v", took)
				}
			}, fault)
		})
	}
}

func TestWhatMayNotBeDoneTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range faults {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
				if _, err := send(t.Context(), tr, method, address); err == nil || s.requests.Load() != 1 {
					t.Errorf("%s, %s: %v after %d requests", method, name, err, s.requests.Load())
				}
			}, fault)
		}
	}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 304, 307, 308, 400, 401, 403, 404, 409, 418, 422} {
		bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
			_, err := send(t.Context(), tr, http.MethodGet, address)
			if e := failure(t, err, transport.Refused); e.Answer.Status != code || s.requests.Load() != 1 || e.InDoubt() {
				t.Errorf("%d: %d after %d requests, in doubt: %t", code, e.Answer.Status, s.requests.Load(), e.InDoubt())
			}
		}, status(code, "Location", "http://localhost/other", "Retry-After", "1"))
	}
}

func TestTheWaitThatTheServerAsksForIsKeptOrReturned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code       int
		retryAfter string
		repeated   bool
		wait       time.Duration // between two tries, or returned
	}{
		"short":                   {503, "4", true, 4 * time.Second},
		"short, of a limit":       {429, "5", true, 5 * time.Second},
		"a date":                  {503, "Sat, 01 Jan 2000 00:00:03 GMT", true, 3 * time.Second},
		"long":                    {503, "6", false, 6 * time.Second},
		"long, of a limit":        {429, "90", false, 90 * time.Second},
		"a date, of a limit":      {429, "Sat, 01 Jan 2000 01:00:00 GMT", false, time.Hour},
		"for ages":                {429, "99999999999", false, 24 * time.Hour},
		"unreadable, of a limit":  {429, "soon", false, 0},
		"not said, of a limit":    {429, "", false, 0},
		"in the past, of a limit": {429, "Fri, 31 Dec 1999 00:00:00 GMT", false, 0},
		"negative, of a limit":    {429, "-5", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
				start := time.Now()
				_, err := send(t.Context(), tr, http.MethodGet, address)
				took := time.Since(start)
				if test.repeated {
					if err != nil || took != test.wait {
						t.Errorf("%v after %v, want success after %v", err, took, test.wait)
					}
					return
				}
				kind := transport.RateLimited
				if test.code != 429 {
					kind = transport.Refused
				}
				if e := failure(t, err, kind); e.Wait != test.wait || s.requests.Load() != 1 || took != 0 {
					t.Errorf("wait %v (want %v) after %d requests in %v", e.Wait, test.wait, s.requests.Load(), took)
				}
			}, status(test.code, "Retry-After", test.retryAfter), status(200))
		})
	}
}

func TestALimitIsReadFromItsHeaders(t *testing.T) {
	t.Parallel()
	seconds := func(s int64) time.Time { return time.Unix(s, 0) }
	bubble(t, func(t *testing.T, _ *scripted, _ *transport.Transport) {
		for name, test := range map[string]struct {
			remaining, reset string
			want             transport.Limit
			ok               bool
		}{
			"used up":      {"0", "946684860", transport.Limit{Exhausted: true, Reset: time.Minute}, true}, // virtual time begins at 946684800
			"not used up":  {"7", "946684860", transport.Limit{Reset: time.Minute}, true},
			"in the past":  {"0", "1", transport.Limit{Exhausted: true, Reset: time.Second}, true},
			"for ages":     {"0", "9223372036854775807", transport.Limit{Exhausted: true, Reset: 24 * time.Hour}, true},
			"without time": {"0", "", transport.Limit{}, false},
			"nonsense":     {"0", "later", transport.Limit{}, false},
		} {
			header := http.Header{}
			header.Set("X-RateLimit-Requests-Remaining", test.remaining)
			header.Set("X-RateLimit-Requests-Reset", test.reset)
			if got, ok := transport.ReadLimit(header, "Requests-", seconds); got != test.want || ok != test.ok {
				t.Errorf("%s: %+v, %t, want %+v, %t", name, got, ok, test.want, test.ok)
			}
		}
	}, status(200))
}

func TestASilentServerEndsEachTry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, _ *scripted, tr *transport.Transport) {
		start := time.Now()
		_, err := send(t.Context(), tr, http.MethodGet, address)
		if e := failure(t, err, transport.Unanswered, "no answer within 30s", "localhost can be reached"); !e.InDoubt() {
			t.Error("it is not in doubt")
		}
		if took := time.Since(start); took < 90*time.Second || took > 94*time.Second {
			t.Errorf("three tries took %v, want 90 s and two short pauses", took)
		}
	}, faults["no answer"])
}

func TestTheCauseOfACancelledRequestIsInTheError(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"while it waits for an answer": faults["no answer"],
		"between two tries":            status(503, "Retry-After", "5"),
	} {
		bubble(t, func(t *testing.T, _ *scripted, tr *transport.Transport) {
			stop := errors.New("the tick is over")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, stop)
			defer cancel()
			start := time.Now()
			_, err := send(ctx, tr, http.MethodGet, address)
			failure(t, err, transport.Unanswered, "the tick is over")
			if !errors.Is(err, stop) || time.Since(start) != time.Second {
				t.Errorf("%s: %v after %v, want the cause after 1s", name, err, time.Since(start))
			}
		}, handler)
	}
}

func TestAnAnswerThatIsTooLargeIsAnError(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *scripted, tr *transport.Transport) {
		tr.MaxAnswer = 1000
		_, err := send(t.Context(), tr, http.MethodGet, address)
		if failure(t, err, transport.Unreadable, "more than 1000 bytes"); s.requests.Load() != 1 {
			t.Errorf("%d requests", s.requests.Load())
		}
		tr.MaxAnswer = 4096
		if a, err := send(t.Context(), tr, http.MethodGet, address); err != nil || len(a.Body) != 4096 {
			t.Errorf("one that just fits: %d bytes, %v", len(a.Body), err)
		}
	}, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 4096)) })
}

// counting is a body of zeros that counts what is read of it.
type counting struct{ left, read int64 }

func (c *counting) Read(p []byte) (int, error) {
	n := min(int64(len(p)), c.left)
	c.left, c.read = c.left-n, c.read+n
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func (c *counting) Close() error { return nil }

func TestOfAnAnswerThatIsTooLargeAtMostTheBoundIsRead(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	for name, test := range map[string]struct {
		length int64 // as the header says it
		most   int64 // bytes that are read
	}{
		"it says its length": {size, 0},
		"it does not":        {-1, 16<<20 + 1},
	} {
		body := &counting{left: size}
		tr := newTransport(t, address, roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, ContentLength: test.length, Body: body}, nil
		}))
		_, err := send(t.Context(), tr, http.MethodGet, address)
		if failure(t, err, transport.Unreadable, "more than 16777216 bytes"); !errors.Is(err, transport.ErrTooLong) || body.read > test.most {
			t.Errorf("%s: %d bytes were read, want at most %d: %v", name, body.read, test.most, err)
		}
	}
}

func TestATokenTravelsOnlyOverHTTPSOrWithinTheMachine(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"https://api.example.org/v3", "https://10.0.0.1/", "http://127.0.0.1:8080/", "http://127.8.8.8", "http://[::1]:80/", "http://localhost/",
	} {
		if _, err := transport.New(good, "Bearer "+token, nil); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"http://api.example.org":         "in the clear",
		"http://127.0.0.1.example.org/":  "in the clear",
		"http://localhost.example.org/":  "in the clear",
		"http://10.0.0.1/":               "in the clear",
		"ftp://localhost/":               "in the clear",
		"http://0.0.0.0/":                "in the clear",
		"https://me:" + token + "@host/": "is not a plain URL",
		"https:///path":                  "is not a plain URL",
		"https://:80/":                   "is not a plain URL",
		"api.example.org":                "is not a plain URL",
		"https://%zz/":                   "is not a plain URL",
		"":                               "is not a plain URL",
		"http://me:" + token + "@[::1]/": "is not a plain URL",
		"https://me@localhost":           "is not a plain URL",
	} {
		_, err := transport.New(bad, "Bearer "+token, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

func TestTheTokenIsSentToNoOtherHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was sent %q", r.Header)
	}))
	t.Cleanup(other.Close)
	s := &scripted{handlers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("User-Agent") != "symphony" {
			t.Errorf("got %q", r.Header)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	tr := newTransport(t, server.URL+"/api/v3", nil)
	for _, at := range []string{other.URL + "/api/v3", strings.Replace(server.URL, "http:", "https:", 1), "http://example.org"} {
		_, err := send(t.Context(), tr, http.MethodGet, at)
		failure(t, err, transport.NotSent, "is not "+strings.TrimPrefix(server.URL, "http://"))
	}
	_, err := send(t.Context(), tr, http.MethodGet, server.URL)
	if failure(t, err, transport.Refused, "307"); s.requests.Load() != 1 {
		t.Errorf("%d requests", s.requests.Load())
	}
}

func TestTheTokenIsNowhereInWhatComesBack(t *testing.T) {
	t.Parallel()
	const escaped = "oauth%2Ftoken%2B0123456789"
	says := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Echo", "Bearer "+token)
			w.WriteHeader(code)
			_, _ = w.Write([]byte("you sent " + token + ", or " + escaped))
		}
	}
	for _, code := range []int{200, 403, 429, 500} {
		bubble(t, func(t *testing.T, _ *scripted, tr *transport.Transport) {
			var log bytes.Buffer
			tr.Log = slog.New(slog.NewTextHandler(&log, nil))
			a, err := send(t.Context(), tr, http.MethodGet, address)
			if e, ok := errors.AsType[*transport.Error](err); ok {
				a = e.Answer
			}
			all := log.String() + string(a.Body) + a.Header.Get("X-Echo") + tr.Quote("x "+token)
			if strings.Contains(all, token) || strings.Contains(all, escaped) || !strings.Contains(string(a.Body), "you sent [secret]") {
				t.Errorf("%d: %s", code, all)
			}
			if strings.Contains(log.String(), "request repeated") != (code == 500) {
				t.Errorf("%d: the log says %q", code, &log)
			}
		}, says(code))
	}
	// What is not an HTTP is quoted in the error of net/http.
	bubble(t, func(t *testing.T, _ *scripted, tr *transport.Transport) {
		_, err := send(t.Context(), tr, http.MethodGet, address)
		failure(t, err, transport.Unanswered, "malformed HTTP", "[secret]")
	}, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte("lost " + token + "\r\n\r\n"))
			_ = conn.Close()
		}
	})
	tr := newTransport(t, address, nil)
	if text := tr.Quote(strings.Repeat("ü", 110) + token); strings.Contains(text, token[:8]) {
		t.Errorf("cut in the middle of the token: %s", text)
	}
}

func TestATokenTooShortToBeOneIsAnOrdinaryWord(t *testing.T) {
	t.Parallel()
	tr, err := transport.New(address, "Bearer test", nil)
	if err != nil || tr.Quote("a test") != `"a test"` {
		t.Errorf("%v, %s", err, tr.Quote("a test"))
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	tr := newTransport(t, gone.URL, nil)
	tr.Pause = time.Millisecond
	_, err := send(t.Context(), tr, http.MethodGet, gone.URL)
	failure(t, err, transport.Unanswered, "connection refused", "see that "+strings.TrimPrefix(gone.URL, "http://")+" can be reached")
}

func TestACertificateThatIsRefusedIsExplained(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
	for name, test := range map[string]struct {
		at   string
		base http.RoundTripper
		want string
	}{
		"of another name": {"https://localhost:" + port, server.Client().Transport, "its certificate is for another name"},
		"not trusted":     {server.URL, http.DefaultTransport, "set SSL_CERT_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTransport(t, test.at, test.base)
			tr.Pause = time.Millisecond
			_, err := send(t.Context(), tr, http.MethodGet, test.at)
			failure(t, err, transport.Unanswered, "x509", test.want)
		})
	}
}
