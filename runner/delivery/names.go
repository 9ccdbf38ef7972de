package delivery

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/symphony-runner/symphony/internal/text"
)

// The bounds of a path, in bytes and in folders. Common file systems have no longer
// names.
const (
	maxName  = 255
	maxPath  = 4096
	maxDepth = 100
)

// fold returns the path as the least careful file system would compare it: without
// case, in one Unicode form, without the characters that such systems ignore, and
// without the dots and spaces at the end of a name that Windows drops. Two paths with
// the same fold may be one file somewhere.
func fold(path string) string {
	path = strings.Map(func(r rune) rune {
		if text.IsHidden(r) { // ext4 ignores every character that Unicode marks as default-ignorable
			return -1
		}
		return r
	}, path)
	// NFKD replaces compatibility forms that HFS+ and some tools do not distinguish, such
	// as the ligature "ﬁ". After it ß is the only letter that is equal to two others.
	path = strings.ToLower(strings.ToUpper(norm.NFKD.String(path))) // some letters have several lower cases
	path = norm.NFKC.String(withoutDotOfI(strings.ReplaceAll(path, "ß", "ss")))
	path = strings.ToLower(path) // NFKC takes a letter beyond U+FFFF for one of Greek, which may be a capital
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i] = strings.TrimRight(name, ". ")
	}
	return strings.Join(names, "/")
}

// withoutDotOfI returns text without the combining dots above an i. The Turkish İ becomes
// an i with such a dot when Unicode folds its case, and a plain i when a program converts
// each letter by itself.
func withoutDotOfI(text string) string {
	before := rune(0)
	return strings.Map(func(r rune) rune {
		if r == '\u0307' && before == 'i' {
			return -1
		}
		before = r
		return r
	}, text)
}

// nameProblem returns the reason for which no system should be asked to store a path; empty
// when it is an ordinary one.
func nameProblem(path string) string {
	if len(path) > maxPath {
		return fmt.Sprintf("the path has more than %d bytes", maxPath)
	}
	if !utf8.ValidString(path) {
		return "the path is not valid UTF-8"
	}
	names := strings.Split(path, "/")
	if len(names) > maxDepth {
		return fmt.Sprintf("the path has more than %d folders", maxDepth)
	}
	for _, name := range names {
		if problem := partProblem(name); problem != "" {
			return problem
		}
	}
	return ""
}

// partProblem returns the fault of one name of a path; empty for none.
func partProblem(name string) string {
	folded := fold(name)
	switch {
	case name == "", name == ".", name == "..", folded == "":
		return "a name in the path is empty or consists of dots and spaces"
	case len(name) > maxName:
		return fmt.Sprintf("a name in the path has more than %d bytes", maxName)
	case strings.ContainsFunc(name, unprintable):
		return "a name in the path has an invisible or control character"
	case strings.ContainsAny(name, `\:*?"<>|`):
		return `a name in the path has one of \ : * ? " < > |, which Windows does not store`
	case strings.HasSuffix(name, "."), strings.HasSuffix(name, " "):
		return "a name in the path ends with a dot or a space, which Windows drops"
	case strings.HasPrefix(name, " "), strings.HasPrefix(name, "-"):
		return "a name in the path begins with a space or a dash, which programs take for an option"
	case isGitFolder(folded):
		return "a name in the path is a spelling of .git"
	case isDeviceName(folded):
		return "a name in the path is a device of Windows"
	case isShortName(name):
		return "a name in the path is one that Windows may give a longer name, as GITHUB~1 for .github"
	}
	return ""
}

// isShortName reports whether Windows may have made up a name for another one: eight
// characters and three, with a tilde and a number.
func isShortName(name string) bool {
	stem, extension, _ := strings.Cut(name, ".")
	at := strings.LastIndexByte(stem, '~')
	return at > 0 && len(stem) <= 8 && len(extension) <= 3 && at < len(stem)-1 && strings.Trim(stem[at+1:], "0123456789") == ""
}

// unprintable reports whether a person would not see a character of a name.
func unprintable(r rune) bool {
	return text.IsHidden(r) || text.IsBlank(r) || r != ' ' && unicode.Is(unicode.Zs, r)
}

// isGitFolder reports whether some file system takes a folded name for .git; git~1 is its short
// name on Windows.
func isGitFolder(folded string) bool {
	return folded == ".git" || strings.HasPrefix(folded, "git~")
}

// isDeviceName reports whether Windows takes a folded name for a device, with any
// extension.
func isDeviceName(folded string) bool {
	stem, _, _ := strings.Cut(folded, ".")
	stem = strings.TrimRight(stem, " ")
	if slices.Contains([]string{"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}, stem) {
		return true
	}
	number, ok := strings.CutPrefix(stem, "com")
	if !ok {
		number, ok = strings.CutPrefix(stem, "lpt")
	}
	return ok && len(number) == 1 && number >= "0" && number <= "9"
}

// linkProblem returns the reason for which a symbolic link may leave the repository or hide where it
// leads; empty when it stays inside. The path names the link.
//
// A target climbs first and then descends. Each ".." at its beginning is one folder
// up from the place of the link in the tree, which counts; one after a name could
// climb out of a folder that is a link itself.
func linkProblem(path, target string) string {
	if target == "" || strings.HasPrefix(target, "/") {
		return "the symbolic link is absolute or empty"
	}
	if !utf8.ValidString(target) || strings.ContainsFunc(target, unprintable) || strings.Contains(target, `\`) {
		return "the target of the symbolic link has an unusual character"
	}
	depth := strings.Count(path, "/")
	descended := false
	for _, name := range strings.Split(strings.TrimSuffix(target, "/"), "/") {
		switch {
		case name == "..":
			if depth--; depth < 0 || descended {
				return "the symbolic link leaves the repository, or climbs after a name"
			}
		case name == ".":
		case name == "", isGitFolder(fold(name)):
			return "the symbolic link leads into .git, or has an empty name"
		case partProblem(name) != "": // such as C:, which is another disk
			return "the target of the symbolic link has a name that other systems read otherwise"
		default:
			descended = true
		}
	}
	return ""
}
