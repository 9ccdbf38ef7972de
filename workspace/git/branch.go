package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxBranch = 200 // bytes; a file name for each part must be possible

// Branch is the name of a branch, without "refs/heads/", that git accepts and that cannot
// be taken for an option, a pattern or another kind of reference. The zero value stands
// for no branch.
type Branch struct{ name string }

// ParseBranch returns the branch of that name.
func ParseBranch(name string) (Branch, error) {
	if err := checkBranch(name); err != nil {
		return Branch{}, fmt.Errorf("branch %.100q: %w; choose another name", name, err)
	}
	return Branch{name}, nil
}

// BranchFor returns the branch of an issue: the prefix and the key of its workspace. A
// key that git does not take, because of two dots in a row for example, is replaced by
// its hash.
func BranchFor(prefix, key string) (Branch, error) {
	if checkBranch(prefix+key) != nil || strings.ContainsAny(key, "/") {
		sum := sha256.Sum256([]byte(key))
		key = "issue-" + hex.EncodeToString(sum[:16])
	}
	return ParseBranch(prefix + key)
}

// checkBranch returns the reason why a name is not the name of a branch.
func checkBranch(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > maxBranch:
		return fmt.Errorf("it is longer than %d bytes", maxBranch)
	case !utf8.ValidString(name):
		return errors.New("it is not valid UTF-8")
	case name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/"):
		return errors.New("it means something else to git")
	case strings.HasPrefix(name, "-"):
		return errors.New("it begins like an option")
	case strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, "."):
		return errors.New(`git does not take "..", "@{" or a dot at the end`)
	}
	for _, c := range name {
		if strings.ContainsRune(" ~^:?*[\\", c) || !unicode.IsPrint(c) {
			return fmt.Errorf("git does not take the character %q in it", c)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return errors.New(`a part between slashes is empty, begins with a dot or ends with ".lock"`)
		}
	}
	return nil
}

// String returns the name, without "refs/heads/".
func (b Branch) String() string { return b.name }

// IsZero reports whether b is the zero value.
func (b Branch) IsZero() bool { return b == Branch{} }

// ref returns the full name in the remote.
func (b Branch) ref() string { return "refs/heads/" + b.name }

// tracking returns the full name of the store's copy.
func (b Branch) tracking() string { return trackingPrefix + b.name }

// MarshalText returns the name.
func (b Branch) MarshalText() ([]byte, error) { return []byte(b.name), nil }

// UnmarshalText reads the output of MarshalText.
func (b *Branch) UnmarshalText(text []byte) (err error) {
	*b = Branch{}
	if len(text) > 0 {
		*b, err = ParseBranch(string(text))
	}
	return err
}
