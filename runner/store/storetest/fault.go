package storetest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
)

// Fault is what goes wrong with one request. With Status, what is asked for is
// not done; otherwise it is.
type Fault struct {
	Before func()      // happens just before it is answered
	After  func()      // happens when it has been done
	Status int         // is answered instead
	Says   string      // the message of that answer
	Body   string      // that answer itself, instead of JSON with the message
	Header http.Header // of that answer
	Lose   bool        // the connection breaks before the answer
	Hang   bool        // no answer comes
}

// Fail queues faults for a kind of request. Each is for one request; the zero
// fault lets it pass.
func (h *Hub) Fail(op Op, faults ...Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[op] = append(h.faults[op], faults...)
}

// nextFault takes the fault of a request off its queue.
func (h *Hub) nextFault(op Op) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := h.faults[op]
	if len(queue) == 0 {
		return Fault{}
	}
	h.faults[op] = queue[1:]
	return queue[0]
}

// serve counts a request and answers it, with its fault. Nothing of the answer
// leaves before the fault is over.
func (h *Hub) serve(op Op, w http.ResponseWriter, r *http.Request, handler http.Handler) {
	h.count(op, r)
	f := h.nextFault(op)
	if f.Before != nil {
		f.Before()
	}
	said := httptest.NewRecorder()
	switch {
	case f.Body != "":
		writeResponse(said, max(f.Status, http.StatusOK), f.Header, rawBody(f.Body))
	case f.Status != 0:
		writeResponse(said, f.Status, f.Header, errorMessage(f.Says))
	default:
		handler.ServeHTTP(said, r)
	}
	if f.After != nil {
		f.After()
	}
	if f.Hang {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client goes away
		<-r.Context().Done()
	}
	if f.Lose || f.Hang {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), said.Header())
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes()) // who hung up has no need of it
}
