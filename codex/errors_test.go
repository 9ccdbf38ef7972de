package codex_test

import (
	"testing"

	"github.com/symphony-runner/symphony/codex"
)

func TestARefusalWithoutWordsEndsWithItsCode(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":     "turn/start: response_error: Codex refused with -32000",
		" \n ": "turn/start: response_error: Codex refused with -32000",
		"busy": "turn/start: response_error: Codex refused with -32000: busy",
	} {
		if got := (&codex.ResponseError{Method: "turn/start", Code: -32000, Message: message}).Error(); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
