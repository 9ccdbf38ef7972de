package tracker

import (
	"encoding/json"
	"testing"
)

func TestArgumentsAreRefusedInPlainWords(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"state":"Done"}`:      "",
		`{"state":7}`:           "state cannot be a JSON number: give a state",
		`{"state":{"a":1}}`:     "state cannot be a JSON object: give a state",
		`[]`:                    "the arguments are a JSON array and not an object: give a state",
		`{"status":"Done"}`:     `there is no field "status": give a state`,
		`{"state":`:             "the arguments are not JSON: give a state",
		`state: Done`:           "the arguments are not JSON: give a state",
		`{"state":"Done"} null`: "there is more than one value: give one object",
	} {
		var fields struct {
			State string `json:"state"`
		}
		got := ""
		if err := DecodeArguments(json.RawMessage(arguments), &fields, "give a state"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}
