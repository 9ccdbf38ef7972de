package main

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symphony-runner/symphony/cmd/symphony/wiring"
	"github.com/symphony-runner/symphony/internal/redact"
	"github.com/symphony-runner/symphony/runner"
	"github.com/symphony-runner/symphony/runner/progress"
	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/runner/store"
)

const hiddenText = "correct-horse-battery-staple"

// Every field is found by reflection: a new one is covered, or this test asks whether
// its type is text.
func TestNoTextLeavesWithASecret(t *testing.T) {
	t.Parallel()
	r := redact.New()
	if err := r.Add(hiddenText); err != nil {
		t.Fatal(err)
	}
	var others []string // types of strings that are not text
	checkRedacted[report.Tick](t, r, &others)
	checkRedacted[schedule.State](t, r, &others)
	checkRedacted[schedule.Verdict](t, r, &others)
	checkRedacted[progress.Progress](t, r, &others)
	slices.Sort(others)
	want := []string{"progress.Source", "schedule.Action", "schedule.AttemptStatus", "schedule.Cause", "schedule.Checks", "schedule.Class", "schedule.Command", "schedule.End", "schedule.Phase", "schedule.Reason", "tracker.ID"}
	if diff := cmp.Diff(want, slices.Compact(others)); diff != "" {
		t.Errorf("types of strings that are not redacted, ids and enumerations only (-want +got):\n%s", diff)
	}
}

func TestTheValuesOfAMapAreRedactedOneByOne(t *testing.T) {
	t.Parallel()
	type row struct {
		Text  string
		More  []string
		Owner *string
	}
	name := "kim of " + hiddenText
	rows := map[int]row{1: {"one", []string{hiddenText}, &name}, 2: {"two " + hiddenText, nil, nil}, 3: {"three", []string{"a", "b"}, nil}}
	clean := "kim of ***"
	want := map[int]row{1: {"one", []string{"***"}, &clean}, 2: {"two ***", nil, nil}, 3: {"three", []string{"a", "b"}, nil}}
	if diff := cmp.Diff(want, wiring.Redacted(rows, redact.New(hiddenText))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// checkRedacted redacts a T that has the secret in every text.
func checkRedacted[T any](t *testing.T, r *redact.Redactor, others *[]string) {
	t.Helper()
	var v T
	filled := fill(reflect.ValueOf(&v).Elem(), others)
	if filled == 0 {
		t.Errorf("%T has no text", v)
	}
	clean := wiring.Redacted(&v, r)
	for path := range texts(reflect.ValueOf(clean), "") {
		t.Errorf("%T%s still holds the secret", v, path)
	}
	if left := len(texts(reflect.ValueOf(&v), "")); left != filled {
		t.Errorf("%T itself was changed: %d texts of %d are left", v, left, filled)
	}
}

// fill puts the secret into every text of v, with one element in every collection,
// and returns how many texts there are.
func fill(v reflect.Value, others *[]string) (filled int) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() {
			*others = append(*others, v.Type().String())
			v.SetString("x")
			return 0
		}
		v.SetString("a " + hiddenText + " b")
		return 1
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[schedule.Owner]() {
			return 0
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				filled += fill(v.Field(i), others)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), others)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"text":"` + hiddenText + `"}`))
			return 1
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), others)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String { // an Owner is not text
			key.SetString("key")
		}
		filled = fill(value, others)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
	return filled
}

// texts returns the paths at which v holds the secret.
func texts(v reflect.Value, path string) map[string]bool {
	found := map[string]bool{}
	add := func(v reflect.Value, path string) {
		for p := range texts(v, path) {
			found[p] = true
		}
	}
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), hiddenText) {
			found[path] = true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			add(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			add(v.Elem(), path)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if strings.Contains(string(v.Bytes()), hiddenText) {
				found[path] = true
			}
			break
		}
		for i := range v.Len() {
			add(v.Index(i), path+"[]")
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			add(entry.Value(), path+"[]")
		}
	}
	return found
}

func TestJSONStaysJSONWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for _, secret := range []string{hiddenText, `":{"used` + hiddenText} {
		if err := r.Add(secret); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{
		`{"a":{"b":["` + hiddenText + `"]}}`,
		`{"a":{"used` + hiddenText + `":1}}`, // a secret with quotation marks in it
	} {
		clean := wiring.Redacted(json.RawMessage(text), r)
		if strings.Contains(string(clean), hiddenText) || clean != nil && !json.Valid(clean) {
			t.Errorf("%s became %s", text, clean)
		}
	}
}

// savedState keeps what is saved.
type savedState struct {
	runner.Store
	state *schedule.State
}

func (s *savedState) Load(context.Context) (*schedule.State, store.Revision, error) {
	return s.state, "", nil
}

func (s *savedState) Save(_ context.Context, state *schedule.State, _ store.Revision) (store.Revision, error) {
	s.state = state
	return "", nil
}

func TestASavedStateHoldsNoSecret(t *testing.T) {
	t.Parallel()
	r := redact.New()
	if err := r.Add(hiddenText); err != nil {
		t.Fatal(err)
	}
	saved := &savedState{}
	s := &wiring.StateStore{Redactor: r, Open: func(context.Context) (runner.Store, error) { return saved, nil }}
	if _, _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var state schedule.State
	fill(reflect.ValueOf(&state).Elem(), new([]string))
	if _, err := s.Save(t.Context(), &state, ""); err != nil {
		t.Fatal(err)
	}
	for path := range texts(reflect.ValueOf(saved.state), "") {
		t.Errorf("%s still holds the secret", path)
	}
}
