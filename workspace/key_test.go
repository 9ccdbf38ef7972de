package workspace

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnIdentifierThatIsAFileNameIsItsOwnKey(t *testing.T) {
	for _, id := range []string{"ABC-123", "GH-7", "add-login", "v1.2_x", "a..b", "-x", strings.Repeat("x", 100)} {
		if diff := cmp.Diff(id, Key(id)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnIdentifierThatIsNotAFileNameGetsItsHash(t *testing.T) {
	hashed := Key("A/1")
	for id, want := range map[string]string{
		"A/1":                    "A_1-",
		"../../etc":              "_._.._etc-",
		"":                       "-",
		".":                      "_-",
		"..":                     "_.-",
		".symphony":              "_symphony-",
		"é\xff":                  "__-",
		"a\nb\x00":               "a_b_-",
		strings.Repeat("x", 101): strings.Repeat("x", 60) + "-",
		hashed:                   hashed + "-",
		strings.ToUpper(hashed):  strings.ToUpper(hashed) + "-",
	} {
		hash := regexp.MustCompile(`[0-9a-f]{32}$`)
		if diff := cmp.Diff(want, hash.ReplaceAllString(Key(id), "")); diff != "" {
			t.Errorf("%q: %s", id, diff)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, id := range []string{"ABC-1", "abc 1", "", ".", "..", "../x", ".symphony", "\xff", Key("a b"), strings.Repeat("é", 300)} {
		f.Add(id, Key(id))
		f.Add(id, strings.ToLower(id))
	}
	safe := regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		key := Key(a)
		if !safe.MatchString(key) || len(key) > maxPlain || !filepath.IsLocal(key) || filepath.Base(key) != key {
			t.Fatalf("unsafe key %q", key)
		}
		if a != b && key == Key(b) {
			t.Fatalf("%q and %q share %q", a, b, key)
		}
		if key != a && Key(key) == key {
			t.Fatalf("%q, the key of %q, is also its own", key, a)
		}
	})
}
