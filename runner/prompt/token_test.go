package prompt

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scanner is the grammar of the engine's scanner, as far as it is the same for all
// expressions.
var scanner = regexp.MustCompile(`(?s)[\s\v]+|"(?:[^"\\]|\\.)*"|'[^']*'|-?\d+(?:\.\d+)?|\.\.|` +
	`\.?[\pL_][\pL\pM\p{Nd}_-]*\??:?|[=!<>]=|.`)

func TestTokensAreThoseOfTheScanner(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		" ", "\n\v", "\u00a0", `"`, `\`, `'`, "-", ".", "..", "1", "23", "4.5", "_", "a", "Zb9", "é", "e\u0301", "٣", "日本", "?", ":", "=", "!", "<", ">", "|", ",", "(", "]", "\xff", "\ufffd",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Map(rapid.SliceOfN(pieces, 0, 12), func(all []string) string { return strings.Join(all, "") }), rapid.String()).Draw(t, "text")
		var want []token
		for _, at := range scanner.FindAllStringIndex(text, -1) {
			if found := text[at[0]:at[1]]; strings.TrimSpace(found) != "" {
				want = append(want, token{found, at[0]})
			}
		}
		if diff := cmp.Diff(want, tokenize(text), cmp.AllowUnexported(token{})); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
	})
}
