package text

import "testing"

func TestATailKeepsTheEnd(t *testing.T) {
	for _, c := range []struct {
		written  []string
		end      string
		cut      bool
		fromWord string
	}{
		{[]string{"a b", " c"}, "a b c", false, "a b c"},
		{[]string{"secret", " one"}, "ret one", true, "[...] one"},
		{[]string{"nothing but one word"}, "ne word", true, "[...] word"},
		{[]string{"inseparable"}, "parable", true, "[...]"},
	} {
		tail := Tail{Limit: 7}
		for _, part := range c.written {
			if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("Write of %q: %d, %v", part, n, err)
			}
		}
		if end, cut := tail.End(); string(end) != c.end || cut != c.cut {
			t.Errorf("%q: the end is %q, %v, want %q, %v", c.written, end, cut, c.end, c.cut)
		}
		if got := tail.FromWord(); got != c.fromWord {
			t.Errorf("%q: from a word it is %q, want %q", c.written, got, c.fromWord)
		}
	}
}

func TestATailKeepsNoMoreMemoryThanItNeeds(t *testing.T) {
	tail := Tail{Limit: 100}
	for range 3000 {
		_, _ = tail.Write([]byte("ten bytes\n"))
	}
	if c := cap(tail.kept); c > 400 {
		t.Errorf("%d bytes of memory for 100", c)
	}
}
