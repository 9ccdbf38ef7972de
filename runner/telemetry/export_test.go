package telemetry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
)

// A collector that is silent until a request has to end is said to be so each time, in whatever
// order timers fire.
func TestASilentCollectorDoesNotAnswerInTime(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			var f failures
			client := f.newClient(traces, &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go io.Copy(io.Discard, far)
				return near, nil
			}})
			ctx, cancel := context.WithTimeout(t.Context(), sendTime)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://collector.example/v1/traces", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := client.Do(r); err == nil {
				answer.Body.Close()
				t.Fatal("it answers")
			}
			if err := f.take(); !errors.Is(err, errNoAnswer) {
				t.Errorf("the reason is %v", err)
			}
		})
	}
}
