package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/workflow"
	"github.com/symphony-runner/symphony/tracker/github/client"
)

// secretWords are in the names that environment variables with secrets usually have.
var secretWords = []string{"token", "secret", "passwd", "password", "apikey", "api_key", "privatekey", "private_key", "credential"}

// namesSecret reports whether an environment variable of this name usually holds a
// secret.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// environmentSecrets returns a redactor of the values of the environment variables
// that are named like secrets.
func (a *app) environmentSecrets() *redact.Redactor {
	r := redact.New()
	for _, entry := range a.environ {
		if name, value, _ := strings.Cut(entry, "="); namesSecret(name) {
			a.addSecret(r, value)
		}
	}
	if key, ok := a.getenv(appKeyVariable); ok { // which need not have been pasted line by line
		for _, line := range client.KeyLines(key) {
			a.addSecret(r, line)
		}
	}
	return r
}

// addWorkflowSecrets adds the credentials of a workflow, which need not come from the
// environment.
func (a *app) addWorkflowSecrets(wf workflow.Workflow) {
	for _, secret := range wf.Settings.Credentials() {
		a.addSecret(a.redactor, secret)
	}
}

// addSecret hides a secret in what the program prints, and asks the runner of
// Actions to mask it.
func (a *app) addSecret(r *redact.Redactor, secret string) {
	if r.Add(secret) == nil { // an error means that it is too short to be a secret
		a.actions.Mask(secret)
	}
}

// redacted returns a deep copy of v without secrets in any text it holds. Data is
// redacted before it is rendered: rendering escapes, wraps and cuts, and a part of a
// secret is not found any more.
//
// Values of the type string and JSON are text. Strings of other types are not: those
// types are issue ids and the program's own enumerations. Neither are the keys of
// maps, nor an owner, which runs compare with their own.
func redacted[T any](v T, r *redact.Redactor) T {
	clean := v
	redactValue(reflect.ValueOf(&clean).Elem(), r)
	return clean
}

var (
	textType  = reflect.TypeFor[string]()
	ownerType = reflect.TypeFor[schedule.Owner]()
)

// redactValue replaces what v holds by a redacted copy. v can be set.
func redactValue(v reflect.Value, r *redact.Redactor) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == textType {
			v.SetString(r.String(v.String()))
		}
	case reflect.Struct:
		if v.Type() == ownerType {
			return
		}
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() { // not the unexported fields
				redactValue(field, r)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		clean := reflect.New(v.Elem().Type())
		clean.Elem().Set(v.Elem())
		redactValue(clean.Elem(), r)
		if v.Kind() == reflect.Interface {
			clean = clean.Elem()
		}
		v.Set(clean)
	case reflect.Slice:
		redactSlice(v, r)
	case reflect.Array:
		for i := range v.Len() {
			redactValue(v.Index(i), r)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		clean := reflect.MakeMapWithSize(v.Type(), v.Len())
		value := reflect.New(v.Type().Elem()).Elem()
		for entry := v.MapRange(); entry.Next(); {
			value.SetIterValue(entry)
			redactValue(value, r)
			clean.SetMapIndex(entry.Key(), value)
		}
		v.Set(clean)
	}
}

// redactSlice replaces a slice by a redacted copy. Bytes are JSON, which is left out
// altogether when it is not JSON any more without its secrets.
func redactSlice(v reflect.Value, r *redact.Redactor) {
	if v.IsNil() {
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		clean := r.Bytes(v.Bytes())
		if !json.Valid(clean) && json.Valid(v.Bytes()) {
			clean = nil
		}
		v.SetBytes(clean)
		return
	}
	clean := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(clean, v)
	for i := range clean.Len() {
		redactValue(clean.Index(i), r)
	}
	v.Set(clean)
}
