package text_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
	"github.com/symphony-runner/symphony/internal/texttest"
)

func TestFitShowsWhatIsMeantToBeSeen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		columns    int
		want       string
	}{
		{"fits", "plain", 5, "plain"},
		{"cut", "plain text", 6, "plain…"},
		{"no space before the ellipsis", "plain text", 7, "plain…"},
		{"one column", "plain", 1, "…"},
		{"no column", "plain", 0, ""},
		{"nothing", "", 5, ""},
		{"wide", "修正する", 8, "修正する"},
		{"half of a wide one does not fit", "修正する", 7, "修正す…"},
		{"wide before the ellipsis", "修正する", 6, "修正…"},
		{"emoji", "🚀🚀🚀", 5, "🚀🚀…"},
		{"combining", "e\u0301te\u0301", 3, "e\u0301te\u0301"},
		{"too many marks", "z\u0300\u0301\u0302\u0303\u0304!", 2, "z\u0300\u0301\u0302!"},
		{"a mark on nothing", "\u0301x \u0301y", 9, "x y"},
		{"line breaks", "a\r\nb\n\n\tc\u2028d\u0085e", 20, "a b c d e"},
		{"odd spaces", "a\u00a0b\u3000c\u2800d", 20, "a b c d"},
		{"columns of spaces stay", "a    b", 20, "a    b"},
		{"colors lose their escape character", "\x1b[1;31mred\x1b[0m", 20, "[1;31mred[0m"},
		{"cursor", "a\x1b[2J\x1b[10;10Hb", 20, "a[2J[10;10Hb"},
		{"title", "a\x1b]0;title\x07b\x1b]2;title\x1b\\c", 20, `a]0;titleb]2;title\c`},
		{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", 40, `]8;;http://x\text]8;;\`},
		{"escape at the end", "a\x1b", 20, "a"},
		{"escape before a control", "a\x1b\nb", 20, "a b"},
		{"C1 sequence", "a\u009b31mb\u009d0;x\u009cc", 20, "a31mb0;xc"},
		{"controls", "a\x00\x07\x08\x7fb", 20, "ab"},
		{"direction", "user\u202egnp.exe\u2066\u200f\u061c", 20, "usergnp.exe"},
		{"invisible", "a\u200b\u200d\ufeff\u00ad\u2060\u034f\u3164\ufe0f\U000e0041b", 20, "ab"},
		{"right to left letters stay", "שלום", 20, "שלום"},
		{"broken UTF-8", "a\xff\xc3b", 20, "a\ufffd\ufffdb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, text.Fit(test.text, test.columns)); diff != "" {
				t.Errorf("Fit(%q, %d) (-want +got):\n%s", test.text, test.columns, diff)
			}
		})
	}
}

func TestFitReturnsOneHarmlessLineForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkFit(t, texttest.Fragments().Draw(t, "text"), rapid.IntRange(-1, 90).Draw(t, "columns"))
	})
}

func FuzzFit(f *testing.F) {
	for _, s := range texttest.Nasty {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, columns int) { checkFit(t, s, columns) })
}

func checkFit(t interface{ Errorf(string, ...any) }, s string, columns int) {
	got := text.Fit(s, columns)
	if width := texttest.Width(got); width > max(columns, 0) {
		t.Errorf("Fit(%q, %d) = %q takes %d columns", s, columns, got, width)
	}
	texttest.CheckVisible(t, got)
	if again := text.Fit(got, columns); again != got {
		t.Errorf("Fit(%q, %d) = %q, and fitted again %q", s, columns, got, again)
	}
	if whole := text.Fit(s, 10*len(s)+1); columns > 0 && got != whole {
		kept, cut := strings.CutSuffix(got, "…")
		if !cut || !strings.HasPrefix(whole, kept) {
			t.Errorf("Fit(%q, %d) = %q is not a beginning of %q", s, columns, got, whole)
		}
	}
}

func TestASpaceBeforeAWordThatFillsTheLineMakesItNoWider(t *testing.T) {
	t.Parallel()
	for _, part := range text.Break(" aaaaaaaaaa", 10) {
		if n := text.Columns(part); n > 10 {
			t.Errorf("%d columns in %q", n, part)
		}
	}
}

func TestNoPartOfALineIsEmpty(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"-aaaaaaaaaa":                       {"-aaaaaaaaa", "a"},
		"aaaaaaaaaa ":                       {"aaaaaaaaaa"},
		"aaaaaaaaaa            ":            {"aaaaaaaaaa"},
		"            a":                     {"a"},
		"a" + strings.Repeat(" ", 30) + "b": {"a", "b"},
		"":                                  {""},
		strings.Repeat(" ", 30):             {""},
	} {
		if got := text.Break(line, 10); !slices.Equal(got, want) {
			t.Errorf("%q is broken into %q, want %q", line, got, want)
		}
	}
}

func TestALineIsBrokenWithoutLosingAWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-zé漢 ]{0,200}`).Draw(t, "line")
		width := rapid.IntRange(10, 60).Draw(t, "width")
		parts := text.Break(line, width)
		for _, part := range parts {
			if n := text.Columns(part); n > width {
				t.Errorf("%d columns in %q, want %d", n, part, width)
			}
		}
		if slices.Contains(parts, "") && len(parts) > 1 || len(parts) == 0 {
			t.Errorf("an empty part among %q", parts)
		}
		words := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := words(strings.Join(parts, "")); got != words(line) {
			t.Errorf("got %q, want %q", got, words(line))
		}
	})
}
