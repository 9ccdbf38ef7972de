package workspace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTailIsTheMarkedEndOfTheOutput(t *testing.T) {
	var out tail
	out.write([]byte("first\n"))
	out.write([]byte(strings.Repeat("é", tailSize)))
	got := out.String()
	if !strings.HasPrefix(got, "[...] é") || len(got) != len("[...] ")+tailSize {
		t.Errorf("%d bytes, begins %.20q", len(got), got)
	}
}

func TestOutputCannotForgeLogLines(t *testing.T) {
	for in, want := range map[string]string{
		" one\ntwo\r\n":                 "one | two",
		"one\r\ntwo":                    "one | two",
		"a\tb":                          "a b",
		"\x1b[31mred\x07\x00":           "[31mred",
		"bad \xff\xfe utf":              "bad \uFFFD\uFFFD utf",
		"a\u2028b\u202ec\u0085d\ufeffe": "a bc de",
		"ok\n::error::x":                "ok | ::error::x",
	} {
		if diff := cmp.Diff(want, sanitizeLine([]byte(in))); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}
