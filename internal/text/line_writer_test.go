package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALineWriterWritesWholeLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &LineWriter{To: &out, Safe: func(line string) string { return "<" + line + ">" }}
	for _, part := range []string{"a", "b\nc\n\nd", strings.Repeat("x", maxPart)} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = w.Write([]byte("e"))
	w.End()
	want := "<ab>\n<c>\n<>\n<d" + strings.Repeat("x", maxPart) + ">\n<e>\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
