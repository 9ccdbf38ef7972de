package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Lengths in a key, in bytes. Of an identifier that needs a hash only the first
// keptPart bytes stay, so that the key and the names made from it are valid file names.
const (
	maxPlain = 100 // bytes of a key without a hash
	keptPart = 60
	hashSize = 16 // 128 bits, because an attacker may choose identifiers
)

// Key returns the name of an issue's folder under the root (SPEC §4.2): its
// identifier with every character outside [A-Za-z0-9._-] replaced by "_". If that or
// the rules for file names change the identifier, a hash of the original follows, so
// that two identifiers never have the same key. A key is never empty and never begins
// with a dot; such names are reserved for this package.
//
// Two keys may differ only in case. On a file system that ignores case,
// [Root.Prepare] refuses the second one.
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

// looksHashed reports whether an identifier ends like a key with a hash, in upper or
// lower case. Without a hash of its own it could equal the key of another identifier.
func looksHashed(s string) bool {
	i := strings.LastIndexByte(s, '-')
	if i < 0 || len(s)-i-1 != 2*hashSize {
		return false
	}
	_, err := hex.DecodeString(s[i+1:])
	return err == nil
}
