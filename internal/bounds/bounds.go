// Package bounds brings data that is read from a file, or written to one, within the bounds that
// its types declare in the tags of their fields. A file is untrusted: anybody who can write it
// chooses its texts, numbers and lists.
//
// A tag is a list of words, such as bound:"list=100 whole=256":
//
//	line=n    one line of at most n characters, see [Line]
//	shown=n   one line of at most n characters that hides nothing, see [text.OneLine]
//	lines=n   lines of at most n bytes that hide nothing, see [text.Lines]
//	whole=n   one line of at most n bytes; a longer one is left out, see [Whole]
//	plain=n   the same, and it hides nothing
//	word      ASCII letters and underscores, at most 256; any other text is left out
//	free      any text, which something else checks
//	list=n    at most n entries; a list of texts needs it, and a longer one of structs is an error
//	max=n     a number of at most n; by default 2³¹-1 for an int, and 2⁵³ for an int64
//	keep      nothing is changed here and below, since a changed value would mean something else
//
// A number is never negative, and a time is in UTC: converted from another zone, it could
// leave the years that can be encoded. A text needs a bound, and a field that JSON does not
// have needs none.
package bounds

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/symphony-runner/symphony/internal/text"
)

// The largest numbers without a bound of their own. They leave room for sums.
const (
	MaxInt   = 1<<31 - 1
	MaxInt64 = 1 << 53
)

// maxWord is the length of the longest word.
const maxWord = 256

// Apply brings everything in the struct that v points to within its bounds, and returns an
// error for the first value that was not. It replaces a list of texts that it changes, so that a
// copy of the struct stays as it was, and leaves a list of structs that is too long to the caller.
func Apply(v any) error {
	var w walker
	w.apply(reflect.ValueOf(v).Elem(), rule{})
	return w.first
}

// Line returns s as one line of valid text, cut to limit characters. Unlike
// [text.OneLine] it keeps spaces and format characters as they are: a name stays equal
// to the one that it was copied from.
func Line(s string, limit int) string {
	s = strings.Map(func(r rune) rune { // Map also replaces invalid UTF-8
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return text.Truncate(s, limit)
}

// Whole returns s if it is one line of at most limit bytes, and "" otherwise. A part of it
// would name something else.
func Whole(s string, limit int) string { return unchanged(Line, s, limit) }

// Plain returns s if it is one line of at most limit bytes without hidden characters, and ""
// otherwise.
func Plain(s string, limit int) string { return unchanged(text.OneLine, s, limit) }

func unchanged(line func(string, int) string, s string, limit int) string {
	if len(s) > limit || line(s, limit) != s {
		return ""
	}
	return s
}

// texts holds the bound of a text by its word in a tag.
var texts = map[string]func(s string, limit int) string{
	"line": Line, "whole": Whole, "shown": text.OneLine, "plain": Plain,
	"lines": func(s string, limit int) string { return text.TruncateBytes(text.Lines(s), limit) },
	"free":  func(s string, _ int) string { return s },
	"word": func(s string, limit int) string {
		if len(s) > limit || strings.Trim(s, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return ""
		}
		return s
	},
}

// rule holds the bounds of a field.
type rule struct {
	text      func(s string, limit int) string
	textLimit int
	cuts      bool // a longer text is cut, and not left out
	list      int
	max       int64
	keep      bool
}

// field is a field of a struct that JSON has.
type field struct {
	index int
	name  string // name in JSON; empty for an embedded struct
	rule
}

// fieldsOf holds the fields of each struct that was seen.
var fieldsOf sync.Map // keys are reflect.Type, values []field

func fields(t reflect.Type) []field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		r := parse(f.Tag.Get("bound"))
		if kind := f.Type.Kind(); r.text == nil && (kind == reflect.String || kind == reflect.Slice && f.Type.Elem().Kind() == reflect.String) {
			panic("bounds: a text without a bound: " + t.String() + "." + f.Name + ": give its tag one, see package bounds")
		}
		all = append(all, field{f.Index[0], name, r})
	}
	fieldsOf.Store(t, all)
	return all
}

// parse returns the bounds in a tag. It panics for one that is wrong.
func parse(tag string) (r rule) {
	for _, part := range strings.Fields(tag) {
		word, number, limited := strings.Cut(part, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case word == "keep":
			r.keep = true
			continue
		case word == "word", word == "free":
			n = maxWord
		case err != nil || !limited:
			panic("bounds: " + part + " has no limit")
		}
		switch word {
		case "list":
			r.list = int(n)
		case "max":
			r.max = n
		default:
			if r.text = texts[word]; r.text == nil {
				panic("bounds: nothing is bound by " + part)
			}
			r.textLimit, r.cuts = int(n), word != "whole" && word != "plain" && word != "word"
		}
	}
	return r
}

// walker applies bounds, and holds the error for the first value that exceeded one.
type walker struct {
	path  []step // path to the present value
	first error
}

// step leads to a field of a struct, or to an entry of a list.
type step struct {
	field string
	entry reflect.Value // the entry of a list; the zero value for a field
	index int           // index of the entry
}

// name returns the path as people read it, such as claims["a1"].owner.pid. An entry whose first
// field is a text has it as its name.
func (w *walker) name() string {
	var b strings.Builder
	for _, s := range w.path {
		switch {
		case s.entry.IsValid() && s.entry.Field(0).Kind() == reflect.String:
			fmt.Fprintf(&b, "[%.40q]", s.entry.Field(0).String())
		case s.entry.IsValid():
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.field != "" && b.Len() > 0:
			b.WriteString("." + s.field)
		default:
			b.WriteString(s.field)
		}
	}
	return b.String()
}

func (w *walker) report(problem string) {
	if w.first == nil {
		w.first = fmt.Errorf("%s: %s", w.name(), problem)
	}
}

// at applies the rule to a value one step further.
func (w *walker) at(s step, v reflect.Value, r rule) {
	w.path = append(w.path, s)
	w.apply(v, r)
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) apply(v reflect.Value, r rule) {
	switch v.Kind() {
	case reflect.Bool:
	case reflect.String:
		if s := v.String(); r.text(s, r.textLimit) != s {
			w.report("it is too long or not plain text")
			if !r.keep {
				v.SetString(r.text(s, r.textLimit))
			}
		}
	case reflect.Int, reflect.Int64:
		w.number(v, r)
	case reflect.Slice:
		w.list(v, r)
	case reflect.Struct:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			if t.Location() != time.UTC {
				w.report("the time is not in UTC")
				*t = t.UTC()
			}
			return
		}
		for _, f := range fields(v.Type()) {
			f.keep = f.keep || r.keep
			w.at(step{field: f.name}, v.Field(f.index), f.rule)
		}
	default:
		panic("bounds: nothing bounds a " + v.Type().String())
	}
}

func (w *walker) number(v reflect.Value, r rule) {
	most := r.max
	switch {
	case most != 0:
	case v.Kind() == reflect.Int:
		most = MaxInt
	default:
		most = MaxInt64
	}
	n := v.Int()
	switch {
	case n < 0:
		w.report("it is negative")
	case n > most:
		w.report("it is too large")
	default:
		return
	}
	if !r.keep {
		v.SetInt(min(max(n, 0), most))
	}
}

// list applies the bounds to a list. Bytes are JSON of somebody else, which the owner of the
// list bounds.
func (w *walker) list(v reflect.Value, r rule) {
	kind := v.Type().Elem().Kind()
	if r.list > 0 && v.Len() > r.list {
		w.report(fmt.Sprintf("%d entries are more than the %d allowed", v.Len(), r.list))
	}
	switch kind {
	case reflect.Uint8:
	case reflect.String:
		w.texts(v, r)
	default:
		for i := range v.Len() {
			w.at(step{entry: v.Index(i), index: i}, v.Index(i), rule{keep: r.keep})
		}
	}
}

// texts replaces a list of texts if a text exceeds its bounds, or there are too many.
func (w *walker) texts(v reflect.Value, r rule) {
	same := v.Len() <= r.list
	kept := reflect.Zero(v.Type())
	for i := range v.Len() {
		s := v.Index(i).String()
		bounded := r.text(s, r.textLimit)
		keeps := bounded != "" || r.cuts
		same = same && s == bounded && keeps
		if keeps && kept.Len() < r.list {
			entry := reflect.New(v.Type().Elem()).Elem()
			entry.SetString(bounded)
			kept = reflect.Append(kept, entry)
		}
	}
	if same {
		return
	}
	w.report("an entry is too long or not plain text")
	if !r.keep {
		v.Set(kept)
	}
}
