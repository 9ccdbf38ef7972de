package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/symphony-runner/symphony/codex/endpoint"
	"github.com/symphony-runner/symphony/runner/attempt"
	"github.com/symphony-runner/symphony/runner/schedule"
	"github.com/symphony-runner/symphony/workspace/git"
)

// TestWhatIsSentArrives fills each field of the messages, so that a new field that JSON drops is noticed.
func TestWhatIsSentArrives(t *testing.T) {
	t.Parallel()
	branch, err := git.ParseBranch("main")
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []any{&order{}, &message{}, &deliverArguments{}, &deliverAnswer{}, &takenWork{}, &populateArguments{}, &treeAnswer{}, &issuesAnswer{}} {
		fill(reflect.ValueOf(sent).Elem(), branch)
		text, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(sent).Elem()).Interface()
		if err := json.Unmarshal(text, got); err != nil {
			t.Fatal(err)
		}
		ignore := cmp.FilterPath(func(p cmp.Path) bool {
			field, ok := p.Last().(cmp.StructField)
			if !ok {
				return false
			}
			parent := p.Index(-2).Type()
			f, _ := parent.FieldByName(field.Name())
			return f.Tag.Get("json") == "-" || !f.IsExported()
		}, cmp.Ignore())
		if d := cmp.Diff(sent, got, ignore, cmp.Comparer(func(a, b git.Branch) bool { return a == b }), cmpopts.IgnoreTypes(endpoint.Server{})); d != "" {
			t.Errorf("%T (-sent +received)\n%s", sent, d)
		}
	}
}

// fill sets each field of a value that JSON can have.
func fill(v reflect.Value, branch git.Branch) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":1}`)))
		return
	case git.Branch:
		v.Set(reflect.ValueOf(branch))
		return
	case *git.Objects, []git.Submodule, endpoint.Server: // refused with worker hosts
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i), branch)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), branch)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), branch)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), branch)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, branch)
		fill(value, branch)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(1.5)
	}
}

func TestErrorsKeepTheirMeaningOnTheWay(t *testing.T) {
	t.Parallel()
	for _, err := range append([]error{syscall.ENOSPC, errors.New("another")}, known...) {
		wrapped := fmt.Errorf("do something: %w", err)
		got := sent(t, wrapped)
		if got.Error() != wrapped.Error() {
			t.Errorf("%v became %v", wrapped, got)
		}
		for _, other := range append([]error{syscall.ENOSPC, syscall.EIO}, known...) {
			if errors.Is(got, other) != errors.Is(wrapped, other) {
				t.Errorf("%v is %v: %t", got, other, errors.Is(got, other))
			}
		}
	}
	texts := map[string]bool{}
	for _, err := range known {
		if texts[err.Error()] {
			t.Errorf("two known errors have the text %q", err)
		}
		texts[err.Error()] = true
	}
	if got, ok := errors.AsType[*git.NothingNewError](sent(t, &git.NothingNewError{Untaken: git.Untaken{Count: 3}})); !ok || got.Untaken.Count != 3 || !errors.Is(got, git.ErrNothingNew) {
		t.Errorf("%v", got)
	}
	if got, ok := errors.AsType[*git.Refusal](sent(t, &git.Refusal{Reason: "too much"})); !ok || got.Reason != "too much" {
		t.Errorf("%v", got)
	}
	if got, ok := errors.AsType[*git.RejectedError](sent(t, fmt.Errorf("push: %w", &git.RejectedError{Rule: "a rule"}))); !ok || got.Rule != "a rule" {
		t.Errorf("%v", got)
	}
	plain := sent(t, errors.New("plain"))
	for name, is := range map[string]bool{
		"refusal":  is[*git.Refusal](plain),
		"rejected": is[*git.RejectedError](plain),
		"nothing":  is[*git.NothingNewError](plain),
	} {
		if is {
			t.Errorf("a plain error is a %s", name)
		}
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func sent(t *testing.T, err error) error {
	t.Helper()
	text, encoding := json.Marshal(failureOf(err))
	var got failure
	if encoding == nil {
		encoding = json.Unmarshal(text, &got)
	}
	if encoding != nil {
		t.Fatal(encoding)
	}
	return &got
}

func TestMessagesAreReadOneByOne(t *testing.T) {
	t.Parallel()
	outcome := schedule.Outcome{Class: schedule.Done, Why: "two\nlines"}
	text := string(lineOf(message{Line: "a\n"})) + string(lineOf(message{Update: &attempt.Update{Doing: "b"}})) + string(lineOf(message{Outcome: &outcome}))
	var got []message
	if err := readMessages(strings.NewReader(text), func(m message) { got = append(got, m) }); err != nil || len(got) != 3 || got[2].Outcome.Why != outcome.Why {
		t.Errorf("%+v (%v)", got, err)
	}
	for name, text := range map[string]string{
		"no JSON":  "x\n",
		"too long": `{"Line":"` + strings.Repeat("x", maxMessage) + "\"}\n",
	} {
		if err := readMessages(strings.NewReader(text), func(message) { t.Errorf("%s was used", name) }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := readMessages(io.MultiReader(strings.NewReader(`{"Line"`), errorReader{}), func(message) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, context.Canceled }
