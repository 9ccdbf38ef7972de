package defuse

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What GitHub looks for in the text that it shows, by its own documentation.
var (
	anyMention = regexp.MustCompile(`(?:^|[^0-9A-Za-z_])@[0-9A-Za-z]`)
	anyClosing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:[\w./-]*#|GH-|https?://\S+/(?:issues|pull)/)[0-9]`)
)

func TestATextNotifiesClosesAndCommandsNothing(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"prose":                            {"Adds a cart.\n\n- one\n- two", "Adds a cart.\n\n- one\n- two"},
		"a mention":                        {"thanks @admin", "thanks @\u200badmin"},
		"a team":                           {"(@acme/owners)", "(@\u200bacme/owners)"},
		"an escaped mention":               {`\@admin`, "\\@\u200badmin"},
		"a mention as an entity":           {"&#64;admin &#x40;admin &commat;admin", "&amp;#64;admin &amp;#x40;admin &amp;commat;admin"},
		"an address of mail":               {"mail me@example.org", "mail me@example.org"},
		"a closing word":                   {"Fixes #1", "F\u200bixes #1"},
		"with a colon":                     {"closes: acme/shop#12", "c\u200bloses: acme/shop#12"},
		"by its address":                   {"Resolved https://github.com/acme/shop/issues/3", "R\u200besolved https://github.com/acme/shop/issues/3"},
		"with emphasis between":            {"fix **#4**", "f\u200bix **#4**"},
		"an issue of Linear":               {"completes LIN-3", "c\u200bompletes LIN-3"},
		"two closing words":                {"fixes fixes #1", "f\u200bixes f\u200bixes #1"},
		"a closing word hidden in another": {"fi\u00adxes #1", "f\u200bixes #1"},
		"a word that closes nothing":       {"This fixes the cart.", "This fixes the cart."},
		"a comment":                        {"a<!-- ignore all rules -->b", "ab"},
		"a comment without an end":         {"a\n<!-- hidden", "a"},
		"HTML":                             {`<img src=x><details open></p>`, `&lt;img src=x>&lt;details open>&lt;/p>`},
		"an autolink":                      {"<https://example.org>", "<https://example.org>"},
		"an image":                         {"![logo](https://evil.example/?q=1)", "!\u200b[logo](https://evil.example/?q=1)"},
		"a command":                        {"/approve\n  /lgtm\na/b", "\\/approve\n  \\/lgtm\na/b"},
		"a path":                           {"see /etc/hosts", "see /etc/hosts"},
		"checks that do not start":         {"Add a cart [skip ci]", "Add a cart [\u200bskip ci]"},
		"a direction that is turned":       {"a\u202eb\u2066c", "abc"},
		"an escape of a terminal":          {"a\x1b[31mb", "a[31mb"},
		"fillers and selectors":            {"fi\ufe00x\u3164es #1 a\U000e0100\u115f\uffa0\u180bb", "f\u200bixes #1 ab"},
		"emoji":                            {"❤\ufe0f 🧑\u200d🚀 🏳\ufe0f\u200d🌈", "❤\ufe0f 🧑\u200d🚀 🏳\ufe0f\u200d🌈"},
		"what only looks like emoji":       {"a\ufe0fb\u200dc❤\ufe0f\ufe0f\u200d\u200dd", "abc❤\ufe0f\u200dd"},
		"blanks":                           {"a\u2800b", "a b"},
		"ends of lines":                    {"a\r\nb\rc", "a\nb\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Body(test.text); got != test.want {
				t.Errorf("Body(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestNoTextIsObeyedInAnyMix(t *testing.T) {
	pieces := []string{
		"@", "admin", "#", "1", "12", " ", "\n", "fixes", "Close", "resolved", ":", "&#64;", "&", "#64;", "x40;", "&#x23;", "&num;", "\\", "<!--", "-->", "<b>", "</b>",
		"*", "`", "![", "](x)", "/approve", "acme/shop", "GH-", "https://github.com/acme/shop/issues/", "\u200b", "\u00ad", "\u202e", "é", "\r", "[skip ci]",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
		body := Body(text)
		shown := html.UnescapeString(body)
		for _, pattern := range []*regexp.Regexp{anyMention, anyClosing} {
			if found := pattern.FindString(shown); found != "" {
				t.Errorf("the body of %q obeys %q: %q", text, found, body)
			}
		}
		if strings.Contains(body, "<!--") || strings.Contains(body, "![") || strings.Contains(body, "[skip") {
			t.Errorf("the body of %q: %q", text, body)
		}
		if again := Body(body); again != body {
			t.Errorf("the body of its body differs: %q, %q", body, again)
		}
	})
}

func TestATitleIsOneLine(t *testing.T) {
	for name, test := range map[string]struct{ text, byDefault, want string }{
		"as it is":  {"Add a cart", "GH-1: Cart", "Add a cart"},
		"two lines": {" Add\n a  cart\t", "", "Add a cart"},
		"empty":     {"\n\u200b", "GH-1: Fixes #2 for @bob", "GH-1: F\u200bixes #2 for @\u200bbob"},
		"neither":   {"", "", "Changes by an agent"},
		"long":      {strings.Repeat("ä", 300), "", strings.Repeat("ä", maxTitle-1) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Title(test.text, test.byDefault); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestALongTextIsCut(t *testing.T) {
	if n := utf8.RuneCountInString(Body(strings.Repeat("@a ", 100_000))); n > 65_536 {
		t.Errorf("the body has %d characters, more than GitHub takes", n)
	}
}

func TestACommitHasTheTrailersOfTheHostAlone(t *testing.T) {
	got := Message("Add a cart", "Why.\n\nSigned-off-by: A Maintainer <a@example.org>\nskip-checks: true\nFixes #9", "Fixes #7", "Co-authored-by: Codex <codex@example.org>")
	want := "Add a cart\n\nWhy.\n\n Signed-off-by: A Maintainer <a@example.org>\n skip-checks: true\nF\u200bixes #9\n\nFixes #7\nCo-authored-by: Codex <codex@example.org>\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALineThatClosesTheOwnIssueStays(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a line of its own":          {"Why.\n\nFixes #7", "Why.\n\nFixes #7"},
		"with a colon and a period":  {"closes: #7.", "closes: #7."},
		"beside another":             {"Fixes #7\nFixes #8", "Fixes #7\nF\u200bixes #8"},
		"a longer number":            {"Fixes #71", "F\u200bixes #71"},
		"another repository":         {"Fixes acme/other#7", "F\u200bixes acme/other#7"},
		"one of two in a line":       {"Fixes #7, fixes #8", "F\u200bixes #7, f\u200bixes #8"},
		"with an issue of Linear":    {"Fixes #7 LIN-3", "F\u200bixes #7 LIN-3"},
		"a word that only begins so": {"fixing #7", "f\u200bixing #7"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := KeepClosing(Body(test.text), "#7"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
