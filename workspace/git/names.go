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

// branchPrefix begins the full names of branches.
const branchPrefix = "refs/heads/"

// ref returns the full name in the remote.
func (b Branch) ref() string { return branchPrefix + b.name }

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

// ObjectID is the name of a git object in a SHA-1 repository. The zero value names no
// object: git writes it as forty zeros for "nothing here".
type ObjectID [20]byte

// ParseObjectID returns the id that 40 hexadecimal digits in lower case spell. The
// error for the 64 digits of a SHA-256 repository is [ErrUnsupported].
func ParseObjectID(s string) (ObjectID, error) {
	var id ObjectID
	switch {
	case len(s) == 64:
		return ObjectID{}, fmt.Errorf("parse object id %.12q…: %w: the repository uses SHA-256; only SHA-1 repositories can be delivered to", s, ErrUnsupported)
	case len(s) != 2*len(id) || strings.Trim(s, "0123456789abcdef") != "":
		return ObjectID{}, fmt.Errorf("parse object id %.50q: it is not 40 hexadecimal digits", s)
	}
	hex.Decode(id[:], []byte(s)) // cannot fail after the check above
	return id, nil
}

// String returns the id as 40 hexadecimal digits.
func (id ObjectID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether the id names no object.
func (id ObjectID) IsZero() bool { return id == ObjectID{} }

// MarshalText returns the 40 digits, or nothing for the zero id.
func (id ObjectID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads the output of MarshalText.
func (id *ObjectID) UnmarshalText(text []byte) (err error) {
	*id = ObjectID{}
	if len(text) > 0 {
		*id, err = ParseObjectID(string(text))
	}
	return err
}
