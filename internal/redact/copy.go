package redact

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Copy returns a deep copy of v without secrets in any text it holds. Data is
// redacted before it is rendered: rendering escapes, wraps and cuts, and a part of a
// secret is not found any more.
//
// Values of the type string and JSON are text. Strings of other types are not: those
// types are issue ids and the program's own enumerations. Neither are the keys of
// maps, and values of the types to keep.
func Copy[T any](v T, r *Redactor, keep ...reflect.Type) T {
	clean := v
	copier{r, keep}.value(reflect.ValueOf(&clean).Elem())
	return clean
}

// copier makes redacted copies of values.
type copier struct {
	*Redactor
	keep []reflect.Type
}

var textType = reflect.TypeFor[string]()

// value replaces the content of v by a redacted copy. v can be set.
func (c copier) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == textType {
			v.SetString(c.String(v.String()))
		}
	case reflect.Struct:
		if slices.Contains(c.keep, v.Type()) {
			return
		}
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() { // unexported fields stay
				c.value(field)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		clean := reflect.New(v.Elem().Type())
		clean.Elem().Set(v.Elem())
		c.value(clean.Elem())
		if v.Kind() == reflect.Interface {
			clean = clean.Elem()
		}
		v.Set(clean)
	case reflect.Slice:
		c.slice(v)
	case reflect.Array:
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		clean := reflect.MakeMapWithSize(v.Type(), v.Len())
		value := reflect.New(v.Type().Elem()).Elem()
		for entry := v.MapRange(); entry.Next(); {
			value.SetIterValue(entry)
			c.value(value)
			clean.SetMapIndex(entry.Key(), value)
		}
		v.Set(clean)
	}
}

// slice replaces a slice by a redacted copy. Bytes are JSON, which is left out
// altogether when it is not JSON any more without its secrets.
func (c copier) slice(v reflect.Value) {
	if v.IsNil() {
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		clean := c.Bytes(v.Bytes())
		if !json.Valid(clean) && json.Valid(v.Bytes()) {
			clean = nil
		}
		v.SetBytes(clean)
		return
	}
	clean := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(clean, v)
	for i := range clean.Len() {
		c.value(clean.Index(i))
	}
	v.Set(clean)
}
