package codextest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"
)

// serve sends the reply as the n-th response of a model, as server-sent
// events. It waits no longer than until stopped is closed or the client goes.
func (r Reply) serve(w http.ResponseWriter, req *http.Request, stopped <-chan struct{}, n int) {
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-req.Context().Done():
			return
		case <-stopped:
			return
		}
	}
	if r.End == Reset {
		panic(http.ErrAbortHandler) // the server's way to close the connection without an answer
	}
	maps.Copy(w.Header(), r.Header)
	if r.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.Status)
		io.WriteString(w, r.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range r.events(n) {
		data, err := json.Marshal(e)
		if err != nil {
			panic(fmt.Sprintf("codextest: %v", err)) // only our own types get here
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
	}
	http.NewResponseController(w).Flush()
	switch r.End {
	case Cut:
		panic(http.ErrAbortHandler)
	case Hang:
		select {
		case <-req.Context().Done():
		case <-stopped:
		}
	}
}
