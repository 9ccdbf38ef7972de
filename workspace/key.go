package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Limits of a key, in bytes. A longer identifier is cut to keptPart before its
// hash, so that the key and what we derive from it stay valid file names.
const (
	maxPlain = 100
	keptPart = 60
	hashSize = 16 // 128 bits: identifiers may be an attacker's choice
)

// Key is the name of an issue's folder under the root (SPEC §4.2): its
// identifier with every character outside [A-Za-z0-9._-] replaced by "_". When
// that, or what a file name needs, changes the identifier, a hash of the
// original follows, so two identifiers never have the same key. A key is never
// empty and never begins with a dot; those names are ours.
//
// Two keys may differ in case alone. Where the file system does not tell them
// apart, [Root.Prepare] refuses the second one.
func Key(identifier string) string {
	plain := strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, identifier)
	if plain == identifier && plain != "" && plain[0] != '.' && len(plain) <= maxPlain && !looksHashed(plain) {
		return plain
	}
	if strings.HasPrefix(plain, ".") {
		plain = "_" + plain[1:]
	}
	sum := sha256.Sum256([]byte(identifier))
	return plain[:min(len(plain), keptPart)] + "-" + hex.EncodeToString(sum[:hashSize])
}

// looksHashed reports whether an identifier ends like a key that carries a hash,
// in either case: left as it is, it could be the key of another identifier.
func looksHashed(s string) bool {
	i := strings.LastIndexByte(s, '-')
	if i < 0 || len(s)-i-1 != 2*hashSize {
		return false
	}
	_, err := hex.DecodeString(s[i+1:])
	return err == nil
}
