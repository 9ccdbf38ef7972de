package prompt

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/osteele/liquid/values"
)

// maxIterations limits the loop iterations of one render, nested ones included.
const maxIterations = 100_000

// maxBytes limits the output of one render. It allows for maxChars characters of
// any length.
const maxBytes = 4 * maxChars

var (
	errTooManyIterations = fmt.Errorf("more than %d loop iterations; loop over less", maxIterations)
	errTooLong           = fmt.Errorf("the prompt is too long: it may have %d characters; print less, e.g. with truncate", maxChars)
)

// output is a text that takes no more than maxBytes.
type output struct{ strings.Builder }

func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > maxBytes {
		return 0, errTooLong
	}
	return o.Builder.Write(p)
}

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// loopCounter counts the loop iterations of one render.
type loopCounter struct{ n int }

// each implements the filter that every loop passes its collection through, see
// [expression.loop].
func (c *loopCounter) each(collection any, line int) any {
	if r, ok := collection.(values.Range); ok {
		return counted{max(0, r.Len()), r.Index, c, line}
	}
	v := reflect.ValueOf(collection)
	if v.Kind() != reflect.Slice {
		return counted{} // null, or a value that the checker could not foresee
	}
	return counted{v.Len(), func(i int) any { return v.Index(i).Interface() }, c, line}
}

// counted is a collection whose items count as loop iterations when the engine
// reads them.
type counted struct {
	n       int
	item    func(int) any
	counter *loopCounter
	line    int
}

func (c counted) Len() int { return c.n }

func (c counted) Index(i int) any {
	if c.counter.n++; c.counter.n > maxIterations {
		panic(fmt.Errorf("line %d: %w", c.line, errTooManyIterations)) // the engine offers no other way out
	}
	return c.item(i)
}
