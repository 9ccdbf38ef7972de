package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	// aliveEvery is the time after which a silent connection is tried, and answerTime the time that
	// the other side has for its answer. A connection that is cut somewhere in the network is found
	// lost after both.
	aliveEvery, answerTime = 10 * time.Second, 20 * time.Second
	// argumentsHeader holds the arguments of a call whose body is a stream.
	argumentsHeader = "Symphony-Arguments"
	maxArguments    = 1 << 20 // bytes of that header
	// maxBody bounds the arguments of a call without a stream, and an answer, in bytes.
	maxBody = 16 << 20
	// maxCalls bounds the calls that a side answers at once. As many more wait.
	maxCalls = 32
)

// link is one side of a connection, on which each side calls the other by HTTP. Each call has a
// stream of its own, so that calls do not wait for each other.
type link struct {
	session *yamux.Session
	server  *http.Server
	client  *http.Client
	slots   chan struct{} // one for each call that is being answered
	ended   sync.Once
}

// newLink returns a side of a connection, which answers calls once it serves. The two sides must differ
// in dials.
func newLink(conn io.ReadWriteCloser, dials bool) (*link, error) {
	config := yamux.DefaultConfig()
	config.KeepAliveInterval, config.ConnectionWriteTimeout, config.LogOutput = aliveEvery, answerTime, io.Discard
	config.StreamOpenTimeout, config.StreamCloseTimeout = 0, 0 // a call may take as long as its context
	config.AcceptBacklog = maxCalls
	open := yamux.Server
	if dials {
		open = yamux.Client
	}
	session, err := open(&pingGuard{ReadWriteCloser: conn, began: time.Now()}, config)
	if err != nil {
		return nil, fmt.Errorf("begin the connection: %w", err)
	}
	slots := make(chan struct{}, maxCalls)
	return &link{
		session: session,
		slots:   slots,
		server: &http.Server{MaxHeaderBytes: maxArguments, ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed { // each connection comes to it once
				<-slots
			}
		}},
		client: &http.Client{Transport: &http.Transport{
			DialContext:            func(context.Context, string, string) (net.Conn, error) { return session.Open() },
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxArguments,
		}},
	}, nil
}

// serve begins to answer calls by a handler. panics gets the stack of a function that panics.
func (l *link) serve(handler http.Handler, panics *log.Logger) {
	l.server.Handler, l.server.ErrorLog = handler, panics
	go func() { _ = l.server.Serve(l) }() // it ends with the session
}

// Accept implements [net.Listener] for the calls of the other side.
func (l *link) Accept() (net.Conn, error) {
	conn, err := l.session.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
		return conn, nil
	case <-l.lost():
		return nil, errors.Join(errLost, conn.Close())
	}
}

// Addr and Close implement [net.Listener].
func (l *link) Addr() net.Addr { return l.session.Addr() }
func (l *link) Close() error   { return l.session.Close() }

// lost returns a channel that is closed when the connection has ended.
func (l *link) lost() <-chan struct{} { return l.session.CloseChan() }

// finish waits until no call is being answered, and answers no more.
func (l *link) finish() {
	l.ended.Do(func() {
		for range maxCalls {
			l.slots <- struct{}{}
		}
	})
}

// close ends the connection and the contexts of the calls, and waits until none is being answered.
func (l *link) close() {
	_ = l.server.Close()
	_ = l.session.Close()
	l.finish()
}

// call calls a function of the other side with arguments, and reads its answer, which may be nil.
// It fails with the error of the function, see [failure], and with errLost.
func (l *link) call(ctx context.Context, name string, arguments, answer any) error {
	body, err := l.stream(ctx, name, arguments, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if answer == nil {
		return nil
	}
	if err := decode(body, answer); err != nil {
		return l.broken(ctx, name, err)
	}
	return nil
}

// stream calls a function of the other side with arguments and, unless it is nil, a stream that the
// function reads. It returns the stream of its answer.
func (l *link) stream(ctx context.Context, name string, arguments any, input io.Reader) (io.ReadCloser, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	body, header := input, string(text)
	if input == nil {
		body, header = bytes.NewReader(text), ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://worker/"+name, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	if header != "" {
		request.Header.Set(argumentsHeader, header)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return nil, l.broken(ctx, name, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	var failed failure
	if err := decode(response.Body, &failed); err != nil {
		return nil, l.broken(ctx, name, err)
	}
	return nil, &failed
}

// decode reads a value of at most maxBody bytes.
func decode(r io.Reader, value any) error {
	return json.NewDecoder(io.LimitReader(r, maxBody)).Decode(value)
}

// errLost is the error of a call when the connection is lost.
var errLost = errors.New("the connection to the worker host was lost")

// broken returns the error of a call that has no answer.
func (l *link) broken(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("call %s: %w: %w", name, errLost, err)
}

// functions are the functions of a side, by their names.
type functions map[string]http.HandlerFunc

func (f functions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, known := f[strings.TrimPrefix(r.URL.Path, "/")]
	if !known {
		answerError(w, fmt.Errorf("there is no function %.100q", r.URL.Path))
		return
	}
	serve(w, r)
}

// atMost returns a function that makes handlers answer so many calls in all, and then an error.
func atMost(calls int) func(http.HandlerFunc) http.HandlerFunc {
	var made atomic.Int64
	return func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if made.Add(1) > int64(calls) {
				answerError(w, fmt.Errorf("%s: the session has made %d calls of this kind, and may make no more", strings.TrimPrefix(r.URL.Path, "/"), calls))
				return
			}
			answer(w, r)
		}
	}
}

// function returns the handler of a function whose arguments and answer are JSON.
func function[A, B any](do func(context.Context, A) (B, error)) http.HandlerFunc {
	return streaming(func(ctx context.Context, arguments A, _ io.Reader, w http.ResponseWriter) error {
		answer, err := do(ctx, arguments)
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(answer)
	})
}

// streaming returns the handler of a function that reads a stream, or writes one. An error after it has
// begun to write breaks off the answer.
func streaming[A any](do func(ctx context.Context, arguments A, input io.Reader, w http.ResponseWriter) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var arguments A
		var err error
		if header := r.Header.Get(argumentsHeader); header != "" {
			err = json.Unmarshal([]byte(header), &arguments)
		} else {
			err = decode(r.Body, &arguments)
			_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection ends the context
		}
		out := &begun{ResponseWriter: w}
		if err == nil {
			err = do(r.Context(), arguments, r.Body, out)
		}
		_, _ = io.Copy(io.Discard, r.Body) // the caller sends all of it before it reads the answer
		switch {
		case err == nil:
		case out.written:
			panic(http.ErrAbortHandler)
		default:
			answerError(w, err)
		}
	}
}

func answerError(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(failureOf(err)) // without a connection nobody reads it
}

// begun notes whether an answer has begun. Each write reaches the other side at once.
type begun struct {
	http.ResponseWriter
	written bool
}

func (b *begun) Write(text []byte) (int, error) {
	b.written = true
	n, err := b.ResponseWriter.Write(text)
	if err == nil {
		err = http.NewResponseController(b.ResponseWriter).Flush()
	}
	return n, err
}
