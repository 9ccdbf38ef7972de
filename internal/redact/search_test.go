package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/redact"
)

// TestASearchFindsEveryEncodingOfASecret writes texts in pieces.
func TestASearchFindsEveryEncodingOfASecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := genSecret().Draw(t, "secret")
		how := rapid.SampledFrom(names()).Draw(t, "how")
		text := genAround().Draw(t, "before") + encodings[how](secret) + genAround().Draw(t, "after")
		if !writes(t, redact.NewSearch("another secret", secret), text) {
			t.Fatalf("%s of %q is not found in %q", how, secret, text)
		}
	})
}

// TestASearchFindsASecretBehindAUserName is what docker, npm and git write.
func TestASearchFindsASecretBehindAUserName(t *testing.T) {
	t.Parallel()
	const secret = "npm_0123456789abcdef"
	for _, user := range []string{"", "u:", "me:", "kim:"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			search := redact.NewSearch(secret)
			_, _ = search.Write([]byte(`"auth": "` + encoding.EncodeToString([]byte(user+secret+"@host")) + `"`))
			if !search.Found() {
				t.Errorf("not found behind %q", user)
			}
		}
	}
}

// TestASearchFindsNothingElse writes pieces of secrets, lines of one, and nothing of another file.
func TestASearchFindsNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab]{0,40}`).Draw(t, "text")
		search := redact.NewSearch("abbabba", "babbaab")
		if want := strings.Contains(text, "abbabba") || strings.Contains(text, "babbaab"); writes(t, search, text) != want {
			t.Fatalf("%q: %v", text, !want)
		}
	})
	search := redact.NewSearch("{\n  \"type\": \"service_account\",\n  \"key\": \"0123456789\"\n}\n", "short", "")
	for _, text := range []string{"  \"type\": \"service_account\",\n", "short"} {
		if _, _ = search.Write([]byte(text)); search.Found() {
			t.Errorf("%q is found", text)
		}
	}
	_, _ = search.Write([]byte("{\n  \"type\": \"service_account\",\n  \"key\""))
	search.Reset()
	if _, _ = search.Write([]byte(": \"0123456789\"\n}\n")); search.Found() {
		t.Error("a secret of two files is found")
	}
}

// writes writes a text in pieces, and reports whether the search has found a secret.
func writes(t *rapid.T, search *redact.Search, text string) bool {
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "piece")
		_, _ = search.Write([]byte(text[:n]))
		text = text[n:]
	}
	return search.Found()
}
