package statuspage

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Serve answers the requests of a listener until stop is called, which waits for the end.
func (s *Server) Serve(listener net.Listener) (stop func()) {
	server := &http.Server{
		Handler: s.Handler(), MaxHeaderBytes: 64 << 10,
		ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, // the updates of an open page extend WriteTimeout
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener) // ends with Close
	}()
	return func() {
		s.Close() // or Shutdown would wait for the pages that are open
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}
}
