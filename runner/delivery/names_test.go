package delivery

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/text"
)

func TestNamesThatSomeSystemMisreadsAreRefused(t *testing.T) {
	for _, path := range []string{
		".git/config", "a/.GIT/hooks/x", "a/.git", "git~1/x", "GIT~2", ".git./x", ".git /x", ".g\u200cit/x", ".ｇｉｔ/x", // full-width letters
		"..", "a/../b", "./a", "a//b", "/a", "", "...", "a/ ",
		`a\b`, "a:b", "x::$INDEX_ALLOCATION", "a\nb", "a\x00b", "a\x1b[31m", "a\u202eb", "a\u2028b", "a\u00a0b", "a\u2800b", "\xff",
		".g\u034fit/x", "a\u115fb", "a\u3164b", "a\U000e0fffb", // ext4 without case ignores these
		"con", "aux.txt", "COM1", "lpt9.log", "nul .txt", "a/PRN/b",
		"GITHUB~1/workflows/x.yml", "claude~1", "AGENTS~2.MD", "GI12AB~1/x", "a~1",
		"-rf", "a/--upload-pack=x", " a", "a.", "a ",
		strings.Repeat("a", maxName+1), strings.Repeat("a/", maxDepth) + "a", strings.Repeat(strings.Repeat("a", 200)+"/", 30) + "a",
	} {
		if nameProblem(path) == "" {
			t.Errorf("the path %q counts as an ordinary one", path)
		}
	}
}

func TestOrdinaryNamesAreTaken(t *testing.T) {
	for _, path := range []string{
		"a", "a/b.go", ".gitignore", ".gitattributes", "docs/Übersicht.md", "日本語/ファイル.txt", "app/[id]/(group)/page.tsx", "a b.txt", "_a", "a-b", "a~", "~1", "backup~1.orig", "version~12", "auxiliary.c",
		"console.go", "com10", "comment.txt", ".config/x", "a..b", "@scope/x", "😀.md", strings.Repeat("a", maxName),
	} {
		if problem := nameProblem(path); problem != "" {
			t.Errorf("the path %q is refused: %s", path, problem)
		}
	}
}

func TestSpellingsOfOneNameFoldAlike(t *testing.T) {
	for _, same := range [][]string{
		{".github/x", ".GitHub/x", ".GITHUB./x", ".github /X", ".git\u200bhub/x", ".ｇithub/x", ".gıthub/x", ".gİthub/x", ".gI\u0307thub/x", ".git\u034fhub/x", ".git\u3164hub/x"},
		{"é", "e\u0301", "É"},
		{"ﬁle", "file", "FILE"},
		{"straße", "STRASSE"},
		{"\u212a", "k"}, // the sign of kelvin
	} {
		for _, path := range same[1:] {
			if fold(path) != fold(same[0]) {
				t.Errorf("%q and %q fold to %q and %q", same[0], path, fold(same[0]), fold(path))
			}
		}
	}
}

// TestEachCharacterFoldsAsUnicodeSays compares with the tables of package cases, which
// would add 0.26 MB to the program.
func TestEachCharacterFoldsAsUnicodeSays(t *testing.T) {
	var names []string
	for r := rune(1); r < 0x20000; r++ { // above are Han characters
		switch name := string(r); {
		case !utf8.ValidRune(r), text.IsHidden(r), r == 'İ', unicode.In(r, unicode.Han, unicode.Hangul):
		case strings.ContainsAny(norm.NFKC.String(name), "/. "):
		default:
			names = append(names, name)
		}
	}
	path := strings.Join(names, "/")
	want := strings.Split(norm.NFKC.String(strings.ToLower(strings.ToUpper(cases.Fold().String(norm.NFKC.String(path))))), "/")
	for i, got := range strings.Split(fold(path), "/") {
		if got != want[i] {
			t.Errorf("%+q folds to %+q, and by the tables of Unicode to %+q", names[i], got, want[i])
		}
	}
}

func TestFoldingAgainChangesNothing(t *testing.T) {
	if once := fold("\U00011f48\u0300"); fold(once) != once {
		t.Errorf("%+q, and then %+q", once, fold(once))
	}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.String().Draw(t, "path")
		if once := fold(path); fold(once) != once {
			t.Errorf("%q folds to %q, and that to %q", path, once, fold(once))
		}
	})
}

func TestLinksStayInTheRepository(t *testing.T) {
	for _, test := range []struct {
		path, target string
		inside       bool
	}{
		{"a", "b", true},
		{"a/b", "../c", true},
		{"a/b/c", "../../d/e", true},
		{"a/b", "./c/", true},
		{"a", "../b", false},
		{"a/b", "../../c", false},
		{"a/b", "c/../../../d", false},
		{"a", "b/../c", false}, // b may be a link
		{"a", "/etc/passwd", false},
		{"a", "", false},
		{"a", ".git/config", false},
		{"a/b", "../.GIT/hooks", false},
		{"a", "b//c", false},
		{"a", "C:", false},
		{"a", "C:Windows/win.ini", false},
		{"a/b", "../c:/d", false},
		{"a", "GITHUB~1/workflows", false},
		{"a", "nul", false},
		{"a", `..\b`, false},
		{"a", "b\nc", false},
		{"a", "\xff", false},
	} {
		if problem := linkProblem(test.path, test.target); (problem == "") != test.inside {
			t.Errorf("the link %s -> %q: %q", test.path, test.target, problem)
		}
	}
}
