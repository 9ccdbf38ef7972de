package git

import (
	"encoding/hex"
	"fmt"
)

// ObjectID is the name of a git object in a SHA-1 repository. The zero value names no
// object: git writes it as forty zeros for "nothing here".
type ObjectID [20]byte

// ParseObjectID returns the id that 40 hexadecimal digits in lower case spell. The
// error for the 64 digits of a SHA-256 repository is [ErrUnsupported].
func ParseObjectID(s string) (ObjectID, error) {
	var id ObjectID
	switch len(s) {
	case 2 * len(id):
		for _, c := range []byte(s) {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return ObjectID{}, fmt.Errorf("parse object id %.50q: it is not 40 hexadecimal digits", s)
			}
		}
		hex.Decode(id[:], []byte(s)) // cannot fail after the check above
		return id, nil
	case 64:
		return ObjectID{}, fmt.Errorf("parse object id %.12q…: %w: the repository uses SHA-256; only SHA-1 repositories can be delivered to", s, ErrUnsupported)
	}
	return ObjectID{}, fmt.Errorf("parse object id %.50q: it is not 40 hexadecimal digits", s)
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
func (id *ObjectID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ObjectID{}
		return nil
	}
	parsed, err := ParseObjectID(string(text))
	*id = parsed
	return err
}
