package linear

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/shurcooL/graphql"
	"github.com/symphony-runner/symphony/internal/transport"
	"github.com/symphony-runner/symphony/tracker"
)

// Open returns the adapter of the project; see [tracker.Config]. Reader, writer, conversation
// and tool are safe for concurrent use.
func (c *Config) Open(o tracker.Options, client *http.Client, log *slog.Logger) (tracker.Adapter, error) {
	cfg := *c
	cfg.Options = o
	r, err := newReader(cfg, client, log)
	if err != nil {
		return tracker.Adapter{}, err
	}
	return tracker.Adapter{
		Reader:       r,
		Writer:       writer{r},
		Conversation: conversation{r},
		Pictures:     pictures{r},
		Tools:        []tracker.Tool{graphqlTool(cfg.Endpoint, r.wire)},
		Find:         r.find,
		Check:        r.checkSettings,
	}, nil
}

func newReader(cfg Config, client *http.Client, log *slog.Logger) (*reader, error) {
	wire, err := newWire(cfg, client.Transport, log)
	return &reader{cfg: cfg, wire: wire}, err
}

// reader implements [tracker.Reader] for one project.
type reader struct {
	cfg             Config
	wire            *transport.Transport
	settingsChecked atomic.Bool // the project and its states are known to fit cfg
	commentPages    transport.Pages
}

// query sends the query that the struct into describes, and decodes the answer into
// it.
func (r *reader) query(ctx context.Context, op string, into any, variables map[string]any) error {
	return failed(r.wire, op, r.exchange(transport.Repeatable(ctx), into, variables, (*graphql.Client).Query))
}

// change sends a mutation that does the same when it is sent twice. call is its name with its
// arguments.
func (r *reader) change(ctx context.Context, op, call string, variables map[string]any) error {
	return failed(r.wire, op, r.mutate(transport.Repeatable(ctx), call, variables))
}

// mutate sends a mutation, and fails with [errUndone] if Linear says that it did not do it. The
// query is written from this type:
//
//	struct {
//		NAME struct{ Success bool } `graphql:"CALL"`
//	}
func (r *reader) mutate(ctx context.Context, call string, variables map[string]any) error {
	name, _, _ := strings.Cut(call, "(")
	done := reflect.StructField{
		Name: strings.ToUpper(name[:1]) + name[1:], Type: reflect.TypeFor[struct{ Success bool }](), Tag: reflect.StructTag(fmt.Sprintf("graphql:%q", call)),
	}
	answer := reflect.New(reflect.StructOf([]reflect.StructField{done}))
	err := r.exchange(ctx, answer.Interface(), variables, (*graphql.Client).Mutate)
	if err == nil && !answer.Elem().Field(0).Field(0).Bool() {
		err = errUndone
	}
	return err
}

// exchange sends an operation. The GraphQL client writes it and sends it. Its decoder
// reads an answer token by token and encodes and decodes every value once more, so it
// gets an empty answer, and encoding/json decodes the real one.
func (r *reader) exchange(ctx context.Context, into any, variables map[string]any, send func(*graphql.Client, context.Context, any, map[string]any) error) error {
	answer := &dataRecorder{wire: r.wire}
	client := graphql.NewClient(r.cfg.Endpoint, &http.Client{Transport: answer})
	if err := send(client, ctx, into, variables); err != nil {
		return err
	}
	return json.Unmarshal(answer.data, into)
}

// dataRecorder is the http.RoundTripper of one operation. It keeps the data of the
// answer.
type dataRecorder struct {
	wire *transport.Transport
	data json.RawMessage
}

func (k *dataRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Value(signedKey{}) != nil {
		req.Header.Set("public-file-urls-expire-in", signedFor)
	}
	answer, err := k.wire.Do(req)
	if err == nil {
		k.data, err = result(k.wire, answer)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"data":{}}`)), Request: req}, nil
}
