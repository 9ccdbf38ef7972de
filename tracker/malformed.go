package tracker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Malformed describes a record of the tracker that is not a valid issue.
type Malformed struct {
	ID         ID     // empty when the record does not say
	Identifier string // name for people; may be empty
	Reason     string // one line: fault and remedy
}

// Name returns the name of the record: its identifier, or else its id.
func (m Malformed) Name() string {
	name := m.Identifier
	if name == "" {
		name = string(m.ID)
	}
	switch {
	case name == "":
		return "a record without an id"
	case strings.ContainsFunc(name, unicode.IsControl):
		return strconv.Quote(name)
	}
	return name
}

func (m Malformed) String() string { return m.Name() + ": " + m.Reason }

// MalformedError is an [ErrResponse] that names every malformed record of a read. A
// read by id that fails with it succeeds for the other ids.
type MalformedError struct {
	Op      string      // the operation that failed
	Records []Malformed // one record or more
}

const maxNamed = 3

func (e *MalformedError) Error() string {
	var named []string
	for _, m := range e.Records[:min(len(e.Records), maxNamed)] {
		named = append(named, m.String())
	}
	text := fmt.Sprintf("%s: %v: malformed: %s", e.Op, ErrResponse, strings.Join(named, "; "))
	if more := len(e.Records) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (e *MalformedError) Unwrap() error { return ErrResponse }

type droppedKey struct{}

// WithDropped returns a context in which every list calls f with each record that it
// leaves out because it is malformed. f is called before the list returns, on the
// goroutine that requested the list.
func WithDropped(ctx context.Context, f func(Malformed)) context.Context {
	return context.WithValue(ctx, droppedKey{}, f)
}

// ReportDropped reports the malformed records of a list to the function of
// [WithDropped]. An adapter calls it at the end of a list, with the number of
// records in any state that it understood. It fails when that number is 0 and there
// are malformed records, because such a list must not look empty.
func ReportDropped(ctx context.Context, op string, understood int, malformed []Malformed) error {
	if understood == 0 && len(malformed) > 0 {
		return &MalformedError{Op: op, Records: malformed}
	}
	if f, ok := ctx.Value(droppedKey{}).(func(Malformed)); ok {
		for _, m := range malformed {
			f(m)
		}
	}
	return nil
}
