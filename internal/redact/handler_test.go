package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/symphony-runner/symphony/internal/redact"
)

const password = `hunter2"\hunter2`

type (
	stringer  struct{ s string }
	valuer    struct{ s string }
	marshaler struct{ s string }
	plain     struct {
		Name   string
		hidden string
	}
	panicker struct{}
	secretly map[string]any
)

func (s stringer) String() string { return s.s }
func (v valuer) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("inner", stringer(v)), slog.String(v.s, v.s))
}
func (m marshaler) MarshalText() ([]byte, error) { return []byte(m.s), nil }
func (panicker) MarshalJSON() ([]byte, error)    { panic(password) }

func handlers(out *bytes.Buffer) map[string]slog.Handler {
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	return map[string]slog.Handler{"text": slog.NewTextHandler(out, options), "JSON": slog.NewJSONHandler(out, options)}
}

func TestNoLogLineHoldsASecret(t *testing.T) {
	t.Parallel()
	const before, after = "before", "after"
	s := before + password + after
	values := map[string]any{
		"string": s, "bytes": []byte(s), "error": fmt.Errorf("wrapped: %w", errors.New(s)), "Stringer": stringer{s},
		"LogValuer": valuer{s}, "TextMarshaler": marshaler{s}, "struct": plain{s, s}, "pointer": &plain{s, s},
		"map": secretly{s: []any{s, secretly{"deep": s}}}, "slice": []string{s, s}, "group": slog.GroupValue(slog.Group(s, "k", s)),
		"URL": &url.URL{Scheme: "https", Host: "h", User: url.UserPassword("u", s)}, "joined": errors.Join(errors.New(s), nil),
		"any of any": []any{errors.New(s), stringer{s}}, "channel in a struct": struct {
			C chan int
			S string
		}{nil, s}, "panic": panicker{}, "raw JSON": json.RawMessage(`{"a":"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"}`),
	}
	for name, value := range values {
		var out bytes.Buffer
		for kind, h := range handlers(&out) {
			out.Reset()
			log := slog.New(redact.New(password).Handler(h)).With("with", value, s, s).WithGroup("g" + s).With(slog.Any("in", value))
			log.Info("message "+s, "key", value, slog.Group("nested", "a", value, slog.Group("more", "b", value)))
			for _, spelling := range []string{password, "hunter2", "panicked"} {
				if strings.Contains(out.String(), spelling) {
					t.Errorf("%s, %s: %s", name, kind, out.String())
				}
			}
			if !strings.Contains(out.String(), "before***after") {
				t.Errorf("%s, %s: what is no secret is gone: %s", name, kind, out.String())
			}
			if kind == "JSON" && !json.Valid(out.Bytes()) {
				t.Errorf("%s: not JSON: %s", name, out.String())
			}
		}
	}
}

func TestALogLineWithoutSecretsStaysAsItIs(t *testing.T) {
	t.Parallel()
	attrs := []any{
		"string", "a b", "n", 12, "f", 1.5, "yes", true, "for", time.Second, "at", time.Unix(0, 0).UTC(), "error", errors.New("no such file"),
		"nil", nil, "address", netip.MustParseAddr("127.0.0.1"), "level", slog.LevelWarn, "bytes", json.RawMessage(`{"a":[1,2]}`),
		slog.Group("group", "a", 1, slog.Group("b", "c", "d")), slog.Any("empty", slog.GroupValue()), "list", []string{"a", "b"}, "map", map[string]int{"a": 1},
	}
	record := func(h slog.Handler, attrs []any) {
		h = h.WithAttrs([]slog.Attr{slog.Int("with", 1)}).WithGroup("g")
		r := slog.NewRecord(time.Unix(0, 0), slog.LevelWarn, "failed", 0)
		r.Add(attrs...)
		if err := h.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	for kind, attrs := range map[string][]any{"JSON": attrs, "text": append(attrs[:len(attrs)-4:len(attrs)-4], "marshals", marshaler{"a b"})} {
		var want, got bytes.Buffer
		record(handlers(&want)[kind], attrs)
		record(redact.New("hunter2hunter2").Handler(handlers(&got)[kind]), attrs)
		if got.String() != want.String() {
			t.Errorf("%s: %s\nbecame %s", kind, want.String(), got.String())
		}
	}
}

func TestALevelThatIsOffStaysOff(t *testing.T) {
	t.Parallel()
	h := redact.New().Handler(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.Enabled(t.Context(), slog.LevelInfo) || !h.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("the level is not that of the handler")
	}
}

func TestTextByAnotherNameIsLoggedAsText(t *testing.T) {
	t.Parallel()
	type id string
	var out bytes.Buffer
	slog.New(redact.New("hunter22").Handler(slog.NewTextHandler(&out, nil))).Info("m", "id", id("A-1"), "key", id("hunter22"))
	if got := out.String(); !strings.Contains(got, "id=A-1 key=***") {
		t.Errorf("logged %q", got)
	}
}
