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
)

// link is one side of a connection, on which each side calls the other by HTTP. Each call has a
// stream of its own, so that calls do not wait for each other.
type link struct {
	session *yamux.Session
	server  *http.Server
	client  *http.Client
}

// newLink returns a side of a connection, which answers calls once it serves. The two sides must differ
// in dials.
func newLink(conn io.ReadWriteCloser, dials bool) (*link, error) {
	config := yamux.DefaultConfig()
	config.KeepAliveInterval, config.ConnectionWriteTimeout, config.LogOutput = aliveEvery, answerTime, io.Discard
	config.StreamOpenTimeout, config.StreamCloseTimeout = 0, 0 // a call may take as long as its context
	open := yamux.Server
	if dials {
		open = yamux.Client
	}
	session, err := open(conn, config)
	if err != nil {
		return nil, fmt.Errorf("begin the connection: %w", err)
	}
	return &link{
		session: session,
		server:  &http.Server{MaxHeaderBytes: maxArguments},
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
	go func() { _ = l.server.Serve(l.session) }() // it ends with the session
}

// lost returns a channel that is closed when the connection has ended.
func (l *link) lost() <-chan struct{} { return l.session.CloseChan() }

func (l *link) close() {
	_ = l.server.Close()
	_ = l.session.Close()
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
	if err := json.NewDecoder(body).Decode(answer); err != nil {
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
	if err := json.NewDecoder(response.Body).Decode(&failed); err != nil {
		return nil, l.broken(ctx, name, err)
	}
	return nil, &failed
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
	serve, known := f[r.URL.Path[1:]]
	if !known {
		answerError(w, fmt.Errorf("there is no function %q", r.URL.Path))
		return
	}
	serve(w, r)
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
			err = json.NewDecoder(r.Body).Decode(&arguments)
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
