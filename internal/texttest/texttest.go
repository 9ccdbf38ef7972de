// Package texttest has hostile texts for tests, and checks their display. The texts move
// cursors, write from right to left, hide, or read as Markdown, HTML or a command of a workflow
// run. The checks use rules of their own, which are simpler than the rules of package text.
package texttest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Nasty holds texts that try to break out of their place.
var Nasty = []string{
	"\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x9b31m\u009b2Jcleared",
	"first\nsecond\r\nthird\tfourth\v\f\u2028fifth",
	"user\u202egnp.exe\u202c \u2066isolated\u2069 \u200fmark",
	"zero\u200bwidth\u200d\ufeff\u00ad\u2060\U000e0041\ufe0f z\u0300\u0301\u0302\u0303\u0304\u0305algo",
	strings.Repeat("long ", 100),
	strings.Repeat("unbroken", 70),
	"修正ログイン画面の表示が崩れる問題を直してください、お願いします",
	"👩‍💻 ship it 🚀🚀🚀 ❤️ 🇩🇪 👍🏽",
	"::error::file=x,line=1::pwned",
	"ok ##[error]pwned ##[[x",
	"\x00\x01\x7f\xff\xfe broken utf-8 \xc3",
	"   ",
	"",
	"| a | b |\n|---|---|\n| [x](javascript:alert(1)) | ![y](https://evil.example/y.png) | $x^2$ `z` \\| w \\",
	"# heading <script>alert(1)</script><!-- </details></td></tr></table> &lt;b&gt; &#60;i>",
	"@acme/everyone see www.evil.example, WWW.evil.example, HTTPS://evil.example/?a=1&b=2 or mail a@evil.example",
	"```\nfence\n```\n~~~\n***bold*** __under__ ~~gone~~ [ref]: https://evil.example\n===\n---",
	"- [ ] item", "1. first", "2) second", "+ third", "> quote", "--- |:-:|", "\\", "`", "[", "](x)", "!",
}

// Fragments returns a generator of hostile text.
func Fragments() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom(Nasty),
		rapid.SampledFrom([]string{"\x1b", "\x1b[", "\x1b]", "\u009b", "\x07", "\n", "::", "##[", "#", " ", "a", "\u0301", "修", "🚀", "\u202e", "\xff", "…"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 6), func(pieces []string) string { return strings.Join(pieces, "") })
}

// CheckVisible fails a test for text that has what a terminal does not show as it is, by its
// own, simpler rules.
func CheckVisible(t interface{ Errorf(string, ...any) }, text string) {
	if !utf8.ValidString(text) {
		t.Errorf("%q is not valid UTF-8", text)
	}
	for _, r := range text {
		if unicode.Is(unicode.C, r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector) {
			t.Errorf("%q has %U", text, r)
		}
	}
}

// Width returns the width of text by a rule that is simpler than the tested
// one and never counts more: Chinese, Japanese and Korean characters,
// full-width forms and the common emoji take two columns.
func Width(text string) int {
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
