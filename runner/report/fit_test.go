package report_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/report"
	"github.com/symphony-runner/symphony/runner/schedule"
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
			if diff := cmp.Diff(test.want, report.Fit(test.text, test.columns)); diff != "" {
				t.Errorf("Fit(%q, %d) (-want +got):\n%s", test.text, test.columns, diff)
			}
		})
	}
}

// fragments generates hostile text.
func fragments() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom(nasty),
		rapid.SampledFrom([]string{"\x1b", "\x1b[", "\x1b]", "\u009b", "\x07", "\n", "::", "##[", "#", " ", "a", "\u0301", "修", "🚀", "\u202e", "\xff", "…"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 6), func(pieces []string) string { return strings.Join(pieces, "") })
}

func TestACauseHasNoCategories(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"turn: turn_failed: other: no such model: name another":                                                  "no such model: name another",
		"turn: turn_failed: no such model":                                                                       "no such model",
		"turn: turn_failed: limit (HTTP 429): wait":                                                              "limit (HTTP 429): wait",
		"workflow /a b/W.md: invalid_workflow_config:   line 2: tracker.kind: is missing":                        "line 2: tracker.kind: is missing",
		"5 failures in a row (budget.max_attempts_per_issue), the last: turn: turn_failed: other: no such model": "no such model",
		"1 failure in a row (budget.max_attempts_per_issue), the last: git: push failed":                         "git: push failed",
		"asks: 2 failures in a row (budget.max_attempts_per_issue), the last: x":                                 "asks: 2 failures in a row (budget.max_attempts_per_issue), the last: x",
		"workflow /a/W.md: the file is gone":                                                                     "the file is gone",
		"workflow: the file is gone":                                                                             "workflow: the file is gone",
		"asks: Which colour?":                                                                                    "asks: Which colour?",
		"stalled: silent for 5m":                                                                                 "stalled: silent for 5m",
		"make the folder: turn_failed: no":                                                                       "make the folder: no",
		"turn_failed: ":                                                                                          "turn_failed: ",
		"turn_failed":                                                                                            "turn_failed",
		": turn_failed: x":                                                                                       ": x",
		"":                                                                                                       "",
	} {
		if got := report.Cause(reason); got != want {
			t.Errorf("Cause(%q) = %q, want %q", reason, got, want)
		}
	}
}

func TestAReportShowsTheCauseWithoutTheCategoriesBeforeIt(t *testing.T) {
	t.Parallel()
	why := "turn: turn_failed: other: command \"cat license.key\" failed with exit code 1: see the log; another turn may succeed"
	of := report.Of(tick(func(t *report.Tick) {
		t.Rows = []report.Row{with(row("ABC-7", "Title", schedule.IssueFailed, waits("x", end)), func(r *report.Row) { r.Why = why })}
	}))
	for width, want := range map[int]string{40: `command "cat license.key" failed`, 60: `command "cat license.key" failed`, 200: `command "cat license.key" failed with exit code 1: see the log; another turn may succeed`} {
		if text := of.Text(width); !strings.Contains(text, "\n    "+want) {
			t.Errorf("%d columns do not begin with %q:\n%s", width, want, text)
		}
	}
}

func TestFitReturnsOneHarmlessLineForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkFit(t, fragments().Draw(t, "text"), rapid.IntRange(-1, 90).Draw(t, "columns"))
	})
}

func FuzzFit(f *testing.F) {
	for _, text := range nasty {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, columns int) { checkFit(t, text, columns) })
}

func checkFit(t interface{ Errorf(string, ...any) }, text string, columns int) {
	got := report.Fit(text, columns)
	if width := displayed(got); width > max(columns, 0) {
		t.Errorf("Fit(%q, %d) = %q takes %d columns", text, columns, got, width)
	}
	checkVisible(t, got)
	if again := report.Fit(got, columns); again != got {
		t.Errorf("Fit(%q, %d) = %q, and fitted again %q", text, columns, got, again)
	}
	if whole := report.Fit(text, 10*len(text)+1); columns > 0 && got != whole {
		kept, cut := strings.CutSuffix(got, "…")
		if !cut || !strings.HasPrefix(whole, kept) {
			t.Errorf("Fit(%q, %d) = %q is not a beginning of %q", text, columns, got, whole)
		}
	}
}

// checkVisible checks text by its own, simpler rules.
func checkVisible(t interface{ Errorf(string, ...any) }, text string) {
	if !utf8.ValidString(text) {
		t.Errorf("%q is not valid UTF-8", text)
	}
	for _, r := range text {
		if unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector) {
			t.Errorf("%q has %U", text, r)
		}
	}
}

// displayed returns the width of text by a rule that is simpler than the tested
// one and never counts more: Chinese, Japanese and Korean characters,
// full-width forms and the common emoji take two columns.
func displayed(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) && (r < 0xff61 || r > 0xffdc),
			r >= 0xac00 && r <= 0xd7a3, r >= 0xff01 && r <= 0xff60, r >= 0x1f600 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6c5:
			n += 2
		default:
			n++
		}
	}
	return n
}

func BenchmarkFit(b *testing.B) {
	for name, text := range map[string]string{
		"plain":       strings.Repeat("plain text ", 10_000),
		"openStrings": strings.Repeat("\x1b]0;", 25_000),
		"marks":       "a" + strings.Repeat("\u0301", 50_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				report.Fit(text, len(text))
			}
		})
	}
}

func TestWrappedTextHangsBelowItsLead(t *testing.T) {
	t.Parallel()
	got := report.Wrapped("problem   codex     ", "codex_not_found: install it with npm install @openai/codex", 40)
	want := "problem   codex     codex_not_found:\n" +
		"                    install it with npm\n" +
		"                    install\n" +
		"                    @openai/codex\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := report.Wrapped("problem   ", "the first\nthe second\n", 40), "problem   the first\n          the second\n"; got != want {
		t.Errorf("of two lines: %q, want %q", got, want)
	}
	long := strings.Repeat("word ", 1000)
	if got := strings.Count(report.Wrapped("- ", long, 40), "word"); got != 1000 {
		t.Errorf("%d words of 1000 are left", got)
	}
	if got := report.Wrapped("ok        prompt    ", "", 40); got != "ok        prompt\n" {
		t.Errorf("without text: %q", got)
	}
}
