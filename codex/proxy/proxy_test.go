package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequestsShareTheConnectionsToAHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		encrypted []string // protocols that the host has
		http2     bool     // the client has it
	}{
		{"clear", nil, false},
		{"HTTP/1 to HTTP/1", []string{"http/1.1"}, false},
		{"HTTP/1 to HTTP/2", []string{"h2"}, false},
		{"HTTP/2 to HTTP/1", []string{"http/1.1"}, true},
		{"HTTP/2 to HTTP/2", []string{"h2"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, r.Method, " ", r.Host, r.RequestURI, " ", r.Proto)
			}, test.encrypted...)
			s := serve(t, private, o.roots)
			for range 3 { // as many clients, each of which makes a connection of its own
				client := s.client(test.http2)
				for range 5 {
					want := fmt.Sprintf("200 GET %s:%s/a%%2fb?c=d;e&%%zz HTTP/1.1", host, o.port())
					if got := get(client, "GET", o.url("/a%2fb?c=d;e&%zz")); got != want {
						t.Errorf("%q, want %q", got, want)
					}
				}
				if got := get(client, "HEAD", o.url("/")); got != "200 " {
					t.Errorf("HEAD: %q", got)
				}
			}
			if n := o.connections.Load(); n != 1 {
				t.Errorf("the host has %d connections, want 1", n)
			}
			if refused := s.refusedHosts(); refused != nil {
				t.Errorf("refused: %q", refused)
			}
		})
	}
}

func TestHeadersAndBodiesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, strings.Repeat("text ", 1000))
	z.Close()
	var got http.Header
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		if body, _ := io.ReadAll(r.Body); len(body) > 0 || r.ContentLength > 0 {
			t.Errorf("a body arrives: %q", body)
		}
		h := w.Header()
		for name, value := range map[string]string{"ETag": `W/"0815"`, "Connection": "X-Hop", "X-Hop": "1", "Proxy-Authenticate": "Basic", "Proxy-Other": "1"} {
			h.Set(name, value)
		}
		h["X-Two"], h["Content-Type"] = []string{"a", "b"}, nil
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(http.StatusPartialContent)
		w.Write(zipped.Bytes())
	}, "http/1.1")
	s := serve(t, private, o.roots)
	for _, encodings := range [][]string{{"zstd;q=1, gzip"}, nil} {
		request, _ := http.NewRequest("GET", o.url("/"), strings.NewReader("a body"))
		sent := http.Header{"If-None-Match": {`"1"`}, "Authorization": {"Bearer x"}, "X-Two": {"a", "b"}, "Cookie": {"a=b; c=d"}}
		want := http.Header{"Etag": {`W/"0815"`}, "X-Two": {"a", "b"}, "Content-Length": {fmt.Sprint(zipped.Len())}}
		if encodings != nil {
			sent["Accept-Encoding"], sent["Range"], want["Content-Encoding"] = encodings, []string{"bytes=0-"}, []string{"gzip"}
		}
		request.Header = sent.Clone()
		for name, value := range map[string]string{
			"Connection": "X-Hop, keep-alive, Upgrade", "X-Hop": "1", "Proxy-Authorization": "Basic x", "Proxy-Connection": "keep-alive", "Proxy-Other": "1",
			"Keep-Alive": "1", "Te": "trailers", "Upgrade": "websocket", "X-Forwarded-For": "10.0.0.1", "User-Agent": "", "Expect": "100-continue",
		} {
			request.Header.Set(name, value)
		}
		answer, err := s.client(false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !bytes.Equal(body, zipped.Bytes()) {
			t.Errorf("the body has changed; %v", err)
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("the request (-want +got):\n%s", diff)
		}
		answer.Header.Del("Date") // net/http adds it, as a proxy should
		if diff := cmp.Diff(want, answer.Header); diff != "" || answer.StatusCode != http.StatusPartialContent {
			t.Errorf("the answer, %s (-want +got):\n%s", answer.Status, diff)
		}
	}
}

func TestBodiesPassInTheFullMode(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	s := serve(t, Rules{Hosts: []string{host}, Private: true, Full: true}, nil)
	body := strings.Repeat("text ", 100_000)
	for _, from := range []io.Reader{strings.NewReader(body), io.MultiReader(strings.NewReader(body))} { // with a length, and without
		request, _ := http.NewRequest("POST", o.url("/"), from)
		request.Header.Set("Expect", "100-continue")
		answer, err := s.client(false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(got) != body || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// TestAnAnswerInPartsArrivesInParts has a host that goes on only when the client has the part before.
func TestAnAnswerInPartsArrivesInParts(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		for range 3 {
			http.NewResponseController(w).Flush()
			<-next
			fmt.Fprint(w, "part")
		}
		w.Header().Set(http.TrailerPrefix+"Checksum", "0815")
	}, "h2")
	for _, http2 := range []bool{false, true} {
		s := serve(t, private, o.roots)
		answer, err := s.client(http2).Get(o.url("/"))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			next <- struct{}{}
			if _, err := io.ReadFull(answer.Body, make([]byte, len("part"))); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.ReadAll(answer.Body); err != nil || answer.Trailer.Get("Checksum") != "0815" {
			t.Errorf("%v; the trailer %v", err, answer.Trailer)
		}
		answer.Body.Close()
	}
}

func TestTheProxyGreets(t *testing.T) {
	t.Parallel()
	s := serve(t, private, nil)
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET /x HTTP/1.0\r\n\r\n", "POST //registry.example/ HTTP/1.1\r\nHost: registry.example\r\nContent-Length: 0\r\n\r\n"} {
		if got := ask(s.dial(), request); got != "200 "+Greeting+"\n" {
			t.Errorf("%q: %q", request, got)
		}
	}
}

func TestAHostThatDoesNotAnswerIsNamed(t *testing.T) {
	t.Parallel()
	closed := newOrigin(t, hello)
	closed.Close()
	cut := newOrigin(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "http/1.1")
	other := newOrigin(t, hello, "h2") // of another authority
	full := private
	full.Full = true
	refused := "dial tcp 127.0.0.1:" + closed.port() + ": connect: connection refused\n"
	for name, test := range map[string]struct {
		url, want string
		rules     Rules
	}{
		"clear":           {closed.url("/"), refused, private},
		"clear, full":     {closed.url("/"), refused, full},
		"cut off":         {cut.url("/"), "EOF\n", private},
		"its certificate": {other.url("/"), "tls: failed to verify certificate: x509: certificate signed by unknown authority", private},
	} {
		got := get(serve(t, test.rules, cut.roots).client(false), "GET", test.url)
		if !strings.HasPrefix(got, "502 symphony: the host registry.example gives no answer: "+test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	got := ask(serve(t, full, nil).dial(), "CONNECT "+host+":"+closed.port()+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(got, "502 ") {
		t.Errorf("in a tunnel that is not read: %q", got)
	}
}

func TestOneProxyServesSeveralCommands(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, hello, "h2")
	first := serve(t, private, o.roots)
	second := first.another()
	for range 2 {
		for _, s := range []*served{first, second} {
			if got := get(s.client(false), "GET", o.url("/")); got != "200 hello from the host" {
				t.Error(got)
			}
		}
	}
	second.end()
	if got := get(first.client(true), "GET", o.url("/")); got != "200 hello from the host" {
		t.Error(got)
	}
	get(first.client(false), "GET", "http://other.example/")
	if n := o.connections.Load(); n != 1 || len(first.refusedHosts()) != 1 || second.refusedHosts() != nil {
		t.Errorf("%d connections; refused %q and %q", n, first.refusedHosts(), second.refusedHosts())
	}
}
