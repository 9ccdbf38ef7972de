package storetest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
)

// Fault describes the failure of one request. With a Status the request is not carried out;
// without one it is.
type Fault struct {
	Before func()      // called just before the request is handled
	After  func()      // called after it was handled, before the answer
	Status int         // answered instead
	Says   string      // message of that answer
	Body   string      // whole body of that answer, instead of JSON with the message
	Header http.Header // headers of that answer
	Lose   bool        // the connection breaks before the answer
	Hang   bool        // no answer comes
}

// Fail queues faults for a kind of request. Each is used for one request; the zero
// Fault lets one succeed.
func (h *Hub) Fail(op Op, faults ...Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[op] = append(h.faults[op], faults...)
}

// FailNth sets the fault of one request, whatever its kind: the n-th from now, where 1
// is the next. Requests that the server does not know are counted too.
func (h *Hub) FailNth(n int, f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faultsAt[len(h.log)+n-1] = f
}

// nextFault returns the fault of the request that has n before it, or else removes the
// first one of its kind from the queue.
func (h *Hub) nextFault(op Op, n int) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f, ok := h.faultsAt[n]; ok {
		return f
	}
	queue := h.faults[op]
	if len(queue) == 0 {
		return Fault{}
	}
	h.faults[op] = queue[1:]
	return queue[0]
}

// serve counts a request and answers it, with its fault if it has one. It sends
// nothing of the answer before After has returned.
func (h *Hub) serve(op Op, w http.ResponseWriter, r *http.Request, handler http.Handler) {
	f := h.nextFault(op, h.count(op, r))
	if f.Before != nil {
		f.Before()
	}
	rec := httptest.NewRecorder()
	switch {
	case f.Body != "":
		writeResponse(rec, max(f.Status, http.StatusOK), f.Header, rawBody(f.Body))
	case f.Status != 0:
		writeResponse(rec, f.Status, f.Header, errorMessage(f.Says))
	default:
		handler.ServeHTTP(rec, r)
	}
	if f.After != nil {
		f.After()
	}
	if f.Hang {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client disconnects
		<-r.Context().Done()
	}
	if f.Lose || f.Hang {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes()) // the client may have hung up
}
