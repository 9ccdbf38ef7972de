package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOneLineIsShortAndHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"  a \n\t b\r\n ":       "a b",
		"a\x00\x1b[0mb\u202ec":  "a[0mbc",
		"a\u2028b\u0085c\u200b": "a b c",
		"a\xff":                 "a\uFFFD",
		"abcdefghij":            "abcdefghij",
		"abcdefghijk":           "abcdefghi…",
		"abc def ghi jkl":       "abc def g…",
		"abcdefghi \n j":        "abcdefghi…",
		"éééééééééééé":          "ééééééééé…",
		"abcdefghij\n\x00":      "abcdefghij",
	} {
		if got := OneLine(in, 10); got != want {
			t.Errorf("OneLine(%q, 10) = %q, want %q", in, got, want)
		}
	}
}

func TestLinesKeepTheirEndsAndLoseWhatSteersATerminal(t *testing.T) {
	t.Parallel()
	if got, want := Lines("a\tb\r\n\x1b[31mc\u202ed\x00\xff\n"), "a\tb\n[31mcd\uFFFD\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// hiding are characters that show nothing, and of which at least one kind is in each text
// that hides something.
var hiding = []rune{
	0x00ad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180e, 0x180f, 0x200b, 0x200c, 0x200d, 0x200e, 0x2060, 0x2064, 0x2066, 0x206f,
	0x3164, 0xfe00, 0xfe0e, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfffb, 0x1bca0, 0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xe000, 0x1b, 0x9b,
}

func TestNothingInJSONSteersATerminalAndItMeansTheSame(t *testing.T) {
	t.Parallel()
	for _, indent := range []string{"", "\t"} {
		for _, value := range []string{"a\u009b31m\x7f\u202e \"b\" \\", string(hiding), "line\n\ttab \u2028"} {
			text, err := json.MarshalIndent(map[string]string{value: value}, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			shown := EscapeJSON(string(text))
			for _, r := range shown {
				if IsHidden(r) && r != '\n' && r != '\t' {
					t.Errorf("%q has %U", shown, r)
				}
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(shown), &got); err != nil || got[value] != value {
				t.Errorf("%q means %q: %v", shown, got, err)
			}
		}
	}
}

func TestNothingIsHiddenInAText(t *testing.T) {
	t.Parallel()
	for _, r := range hiding {
		in := "a" + strings.Repeat(string(r), 3) + "b"
		if line, lines := OneLine(in, 10), Lines(in); line != "ab" || lines != "ab" || !IsHidden(r) {
			t.Errorf("%U: OneLine gives %q, Lines gives %q", r, line, lines)
		}
	}
	for in, want := range map[string]string{
		"a\u2800\u2800b":        "a  b", // blank, with a width
		"♥\ufe0f ‼\ufe0f x":     "♥\ufe0f ‼\ufe0f x",
		"♥\ufe0f\ufe0f\ufe0f x": "♥\ufe0f x",
		"x\ufe0f.\ufe0f\ufe0f":  "x.",
		"☎\ufe0e x":             "☎ x",
		"한글 가나 हिन्दी ไทย é̂": "한글 가나 हिन्दी ไทย é̂",
	} {
		if got := Lines(in); got != want {
			t.Errorf("Lines(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestOfHiddenCharactersOnlyTheStyleOfAnEmojiStays is about any mix of what is shown and
// what is not.
func TestOfHiddenCharactersOnlyTheStyleOfAnEmojiStays(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(rapid.SampledFrom(hiding), rapid.SampledFrom([]rune("a ♥‼🧑\u2800\n")), rapid.Rune())
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(piece).Draw(t, "in"))
		for name, got := range map[string]string{"OneLine": OneLine(in, 1000), "Lines": Lines(in)} {
			before := rune(0)
			for _, r := range got {
				if IsHidden(r) && !IsEmojiStyle(before, r) && (name == "OneLine" || r != '\n' && r != '\t') || IsBlank(r) {
					t.Errorf("%s(%q) = %q, which has %U", name, in, got, r)
				}
				before = r
			}
		}
		if got := Lines(in); Lines(got) != got {
			t.Errorf("Lines(%q) = %q is not stable", in, got)
		}
	})
}

func TestOutputIsOneLineAndKeepsItsEnd(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		" one\ntwo\r\n\n":          "one | two",
		"10%\r20%\r\x1b[31mdone\n": "10% | 20% | [31mdone",
		"ok\n::error::x":           "ok | ::error::x",
		"a\u2028b\x00\n\x07\n":     "a b",
		strings.Repeat("é", 20):    "[...] " + strings.Repeat("é", 15),
	} {
		if got := Output(in, 31); got != want {
			t.Errorf("Output(%q, 31) = %q, want %q", in, got, want)
		}
	}
}

func TestOneLineOfAnyTextIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, n := rapid.String().Draw(t, "in"), rapid.IntRange(1, 20).Draw(t, "n")
		got := OneLine(in, n)
		forged := strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' })
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > n || forged {
			t.Errorf("OneLine(%q, %d) = %q", in, n, got)
		}
		if again := OneLine(got, n); again != got {
			t.Errorf("OneLine(%q, %d) = %q", got, n, again)
		}
	})
}

func TestTruncateKeepsWhatFits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "é\n é": "é\n é", "é\n éé": "é\n …", "abcdef": "abc…"} {
		if got := Truncate(in, 4); got != want {
			t.Errorf("Truncate(%q, 4) = %q, want %q", in, got, want)
		}
	}
	if got := Truncate("ab", 1); got != "…" {
		t.Errorf("Truncate(\"ab\", 1) = %q", got)
	}
}

func TestTextIsCutBetweenRunes(t *testing.T) {
	t.Parallel()
	const n = 1000
	for shift := range 4 {
		long := strings.Repeat("x", shift) + strings.Repeat("é€", n/4)
		got := Cut(long, n, "")
		shown, note, _ := strings.Cut(got, "\n[cut: ")
		if !utf8.ValidString(got) || !strings.HasPrefix(long, shown) || n-len(shown) >= utf8.UTFMax || note != fmt.Sprintf("%d of %d bytes]", len(shown), len(long)) {
			t.Errorf("shift %d: %d bytes, %q", shift, len(shown), note)
		}
		short := TruncateBytes(long, n)
		if !utf8.ValidString(short) || !strings.HasSuffix(short, ellipsis) || len(short) > n || n-len(short) >= utf8.UTFMax {
			t.Errorf("shift %d: %d bytes, %q", shift, len(short), short[len(short)-8:])
		}
	}
	whole := strings.Repeat("x", n)
	if Cut(whole, n, "") != whole || TruncateBytes(whole, n) != whole {
		t.Error("a text that fits was changed")
	}
	if got, want := Cut(whole+"x", n, "ask for less"), whole+"\n[cut: 1000 of 1001 bytes: ask for less]"; got != want {
		t.Errorf("ends with %q", got[n:])
	}
	if got, want := Cut("a\xff", n, ""), "a\uFFFD"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheShortWayForASCIISaysTheSame(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxASCII + 1) {
		if got := IsHidden(r); got != unicode.IsControl(r) {
			t.Errorf("%U: %t", r, got)
		}
	}
}
