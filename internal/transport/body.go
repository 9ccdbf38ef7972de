package transport

import (
	"context"
	"io"
	"net/http"
)

// roundTrip sends a request and returns the answer, whose body can be read only as long as the
// context of the request lasts, and must be closed. The answer 101 has no body: another
// protocol follows its header, nobody has asked for one, and a read of it would not end with
// the context.
func (t *Transport) roundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close()
		resp.Body = http.NoBody
		return resp, nil
	}
	body := resp.Body
	resp.Body = timedBody{body, context.AfterFunc(req.Context(), func() { _ = body.Close() })}
	return resp, nil
}

// timedBody is a body that is closed when a context ends.
type timedBody struct {
	io.ReadCloser
	stop func() bool // the watch over the context
}

func (b timedBody) Close() error {
	if !b.stop() {
		return nil // it is closed, or being closed
	}
	return b.ReadCloser.Close()
}
