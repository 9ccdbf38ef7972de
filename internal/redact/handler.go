package redact

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
)

// Handler returns a handler that hides secrets in messages, keys and values, also
// in groups, before h sees them. A value of any other type is redacted as h would
// print it: errors and types with a String or MarshalText method as their text,
// the rest as JSON.
func (r *Redactor) Handler(h slog.Handler) slog.Handler { return handler{r, h} }

type handler struct {
	r    *Redactor
	next slog.Handler
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.r.String(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.r.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.r, h.next.WithAttrs(h.r.attrs(attrs))}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.r, h.next.WithGroup(h.r.String(name))}
}

func (r *Redactor) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = r.attr(a)
	}
	return clean
}

func (r *Redactor) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(r.String(v.String()))
	case slog.KindGroup:
		v = slog.GroupValue(r.attrs(v.Group())...)
	case slog.KindAny:
		v = r.any(v.Any())
	}
	return slog.Attr{Key: r.String(a.Key), Value: v}
}

// any returns a value of any type as redacted text, or as JSON that handlers write
// as it is.
func (r *Redactor) any(v any) (clean slog.Value) {
	defer func() {
		if p := recover(); p != nil { // a method of v panicked: a log line must not end the program
			clean = slog.StringValue(r.String(fmt.Sprintf("!PANIC: %v", p)))
		}
	}()
	switch v := v.(type) {
	case nil:
		return slog.AnyValue(nil)
	case []byte:
		return slog.StringValue(r.String(string(v)))
	case error, fmt.Stringer:
		return slog.StringValue(r.String(fmt.Sprint(v)))
	case encoding.TextMarshaler:
		if text, err := v.MarshalText(); err == nil {
			return slog.StringValue(r.String(string(text)))
		}
	}
	if named := reflect.ValueOf(v); named.Kind() == reflect.String { // an id, a class: text by another name
		return slog.StringValue(r.String(named.String()))
	}
	if data, err := json.Marshal(v); err == nil {
		if data = r.Bytes(data); json.Valid(data) {
			return slog.AnyValue(json.RawMessage(data))
		}
	}
	return slog.StringValue(r.String(fmt.Sprintf("%+v", v)))
}
