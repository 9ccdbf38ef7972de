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

// A failure is told with its signal, and what an exporter repeats without one is not told again.
func TestEachSignalHasItsReason(t *testing.T) {
	for want, fail := range map[string]func(*failures){
		"not all traces reached the collector: it is away":                                func(f *failures) { f.keep(traces, errors.New("it is away")) },
		"not all traces and metrics reached the collector: it is away":                    func(f *failures) { f.keep(traces, errors.New("it is away")); f.keep(metrics, errors.New("it is away")) },
		"not all traces reached the collector: it is away; nor all metrics: it is full":   func(f *failures) { f.keep(metrics, errors.New("it is full")); f.keep(traces, errors.New("it is away")) },
		"not all metrics reached the collector: it did not answer in time":                func(f *failures) { f.handle(metrics, context.DeadlineExceeded); f.Handle(errors.New("an address")) },
		"a part of it did not reach the collector: the exporter failed to parse a header": func(f *failures) { f.sink().Error(nil, "parse a header") },
	} {
		var f failures
		if fail(&f); f.take().Error() != want {
			fail(&f)
			t.Errorf("%v, want %s", f.take(), want)
		}
		if err := f.take(); err != nil {
			t.Errorf("%v is told again", err)
		}
	}
}
