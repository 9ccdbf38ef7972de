package linear

import (
	"log/slog"
	"net/http"

	"github.com/symphony-runner/symphony/tracker"
)

// Open prepares the adapter. It makes no request, and there is nothing to
// close. Of the client only the transport is used: redirects, timeouts and
// retries are this package's own. Reader and tool may be used at the same time.
func Open(cfg Config, client *http.Client, log *slog.Logger) (tracker.Adapter, error) {
	r, err := newReader(cfg, client, log)
	if err != nil {
		return tracker.Adapter{}, err
	}
	return tracker.Adapter{
		Reader:    r,
		Tools:     []tracker.Tool{graphqlTool(cfg.Endpoint, r.wire)},
		SecretEnv: []string{"LINEAR_API_KEY"},
		// Does the project exist, and has it the states that cfg names?
		Check: r.check,
	}, nil
}

func newReader(cfg Config, client *http.Client, log *slog.Logger) (*reader, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	w := wire{base: client.Transport, key: cfg.APIKey, mask: newMask(cfg.APIKey), retries: retries, log: log}
	if w.base == nil {
		w.base = http.DefaultTransport
	}
	return &reader{cfg: cfg, wire: w}, nil
}
