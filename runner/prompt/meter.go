package prompt

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/osteele/liquid/values"
)

// maxWork is how much one render may do, in bytes: what goes into filters and
// comes out of them, output included, and for each turn of a loop a kilobyte
// and the length of the template, which is more than the loop's body.
const maxWork = 32 << 20

var errTooMuch = errors.New("this is too much work for a prompt")

// meter counts the work that is left to one render.
type meter struct {
	left int
	turn int // what a turn of a loop costs
}

func newMeter(source string) *meter { return &meter{left: maxWork, turn: 1<<10 + len(source)} }

// spend pays for some work before it is done, or fails.
func (m *meter) spend(n int) error {
	if n < 0 || n > m.left { // below zero after an overflow
		m.left = 0
		return errTooMuch
	}
	m.left -= n
	return nil
}

// weigh is the size of a value: its text, and a little for each item.
func weigh(value any) int {
	const item = 16
	n := item
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, one := range v {
			n += weigh(one)
		}
	case []string:
		for _, one := range v {
			n += item + len(one)
		}
	case map[string]any:
		for key, one := range v {
			n += len(key) + weigh(one)
		}
	case map[string]string:
		for key, one := range v {
			n += 2*item + len(key) + len(one)
		}
	case values.Range:
		n += item * min(max(0, v.Len()), maxWork)
	}
	return n
}

// metered is a filter that pays for its input and its result.
func (m *meter) metered(filter any) func(...any) (any, error) {
	fn := reflect.ValueOf(filter)
	return func(args ...any) (result any, err error) {
		defer recovered(&err) // here, since the engine knows the line of an error but not of a panic
		if err := m.spend(weigh(args)); err != nil {
			return nil, err
		}
		result, err = values.Call(fn, args)
		if err != nil {
			return nil, err
		}
		if n, ok := result.(int64); ok {
			result = int(n) // as loops and ranges require
		}
		return result, m.spend(weigh(result))
	}
}

// replace and join can multiply their input, so they pay before.

func (m *meter) replace(s, old, with string) (string, error) {
	if err := m.spend(strings.Count(s, old) * len(with)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(s, old, with), nil
}

func (m *meter) join(items []any, separator func(string) string) (string, error) {
	between := separator(" ")
	if err := m.spend(len(items) * len(between)); err != nil {
		return "", err
	}
	var texts []string
	for _, item := range items {
		if item != nil {
			texts = append(texts, fmt.Sprint(item))
		}
	}
	return strings.Join(texts, between), nil
}

// each is what a loop goes over, see [expression.loop].
func (m *meter) each(collection any, line int) any {
	if r, ok := collection.(values.Range); ok {
		return turns{max(0, r.Len()), r.Index, m, line}
	}
	v := reflect.ValueOf(collection)
	if v.Kind() != reflect.Slice {
		return turns{} // null, or what the checker could not foresee
	}
	return turns{v.Len(), func(i int) any { return v.Index(i).Interface() }, m, line}
}

// turns is a collection that the engine can go over, at a price.
type turns struct {
	n     int
	item  func(int) any
	meter *meter
	line  int
}

func (t turns) Len() int { return t.n }

func (t turns) Index(i int) any {
	if err := t.meter.spend(t.meter.turn); err != nil {
		panic(fmt.Errorf("line %d: %w; loop over less", t.line, err)) // the engine offers no other way out
	}
	return t.item(i)
}
