package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/internal/redact"
)

// encodings lists what programs do to a value before they write it.
var encodings = map[string]func(string) string{
	"plain":                 func(s string) string { return s },
	"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, no padding":    func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 URL":            func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 URL, no pad":    func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"query":                 url.QueryEscape,
	"query, small":          func(s string) string { return small(url.QueryEscape(s)) },
	"query, %20":            func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	"path segment":          url.PathEscape,
	"path segment, small":   func(s string) string { return small(url.PathEscape(s)) },
	"path":                  func(s string) string { return strings.ReplaceAll(url.PathEscape(s), "%2F", "/") },
	"JSON":                  marshal,
	"Go":                    strconv.Quote,
	"Go, ASCII":             strconv.QuoteToASCII,
	"hex":                   func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex, capitals":         func(s string) string { return fmt.Sprintf("%X", s) },
	"JSON, no HTML escapes": func(s string) string { return plainJSON(s) },
}

func marshal(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func plainJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

// small writes the hex digits of percent-encoding in lower case.
func small(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// genSecret makes secrets that the Redactor takes.
func genSecret() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9_-]{6,40}`),
			rapid.StringMatching(`[ab]{6,12}`),
			rapid.StringMatching(`[!-~]{6,30}`),
			rapid.StringMatching(`[ -~]{6,30}`),
			rapid.StringMatching(`[!-~]{4,9}(\r?\n[ -~]{3,12}){1,4}`),
			rapid.StringN(6, 20, -1),
			rapid.StringMatching(`[a*]{3,5}[bc*]{6,9}`),
		).Filter(func(s string) bool { return s == strings.TrimSpace(s) && redact.New().Add(s) == nil }).Draw(t, "secret")
	})
}

// genAround makes what a secret stands in.
func genAround() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[ab\n*]{0,12}`),
		rapid.StringMatching(`[A-Za-z0-9+/=_%"\\:@.-]{0,40}`),
		rapid.SampledFrom([]string{"", " ", "\n", "key=", `{"k":"`, "https://u:", "@host/", `\n`, "***", "sk-", "eyJ", "Bearer ", "://"}),
	)
}

func TestNoEncodingOfASecretIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(genSecret(), 1, 4).Draw(t, "secrets")
		text := genAround().Draw(t, "before")
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			how := rapid.SampledFrom(names()).Draw(t, "how")
			text += encodings[how](rapid.SampledFrom(secrets).Draw(t, "which")) + genAround().Draw(t, "after")
		}
		r := redact.New(secrets...)
		got := r.String(text)
		for _, secret := range secrets {
			for how, encode := range encodings {
				encoded := encode(secret)
				if strings.HasPrefix(encoded, `"`) {
					encoded = encoded[1 : len(encoded)-1]
				}
				if strings.Contains(got, encoded) {
					t.Fatalf("%q\nbecame %q\nwith %q, %s, in it", text, got, encoded, how)
				}
			}
		}
		if again := r.String(got); again != got {
			t.Fatalf("%q\nbecame %q\nand then %q", text, got, again)
		}
		if b := r.Bytes([]byte(text)); string(b) != got {
			t.Fatalf("as bytes %q\nbecame %q\ninstead of %q", text, b, got)
		}
	})
}

func names() []string { return slices.Sorted(maps.Keys(encodings)) }

func TestASecretIsFoundAnywhereInBase64(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ -~]{6,40}`).Filter(func(s string) bool {
			return s == strings.TrimSpace(s) && redact.New().Add(s) == nil
		}).Draw(t, "secret")
		before := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "before")
		after := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "after")
		encoding := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding}).Draw(t, "encoding")
		whole := append(append(append([]byte{}, before...), secret...), after...)
		got := redact.New(secret).String("x=" + encoding.EncodeToString(whole))

		// What is left on either side holds some bits of the secret's first and
		// last byte, no more.
		encoded := encoding.EncodeToString(whole)
		left, rest, ok := strings.Cut(strings.TrimPrefix(got, "x="), "***")
		right := rest[strings.LastIndex("***"+rest, "***"):]
		if !ok || len(left) > (8*len(before)+5)/6 || len(right) > len(encoded)-8*(len(before)+len(secret))/6 {
			t.Fatalf("%q became %q", encoded, got)
		}
	})
}

func TestEveryByteOfOverlappingSecretsIsHidden(t *testing.T) {
	t.Parallel()
	r := redact.New("abcdefgh", "efghijklmnop", "ab\ncdefgh12", "ABCDEF", "ABCDEFGHIJ")
	for text, want := range map[string]string{
		"<abcdefghijklmnop>":     "<***>",
		"<abcdefghabcdefgh>":     "<******>",
		"<abcdefgefghijklmnopq>": "<abcdefg***q>",
		"<cdefgh12>":             "<***>",
		"<ABCDEFGHIJ><ABCDEFG>":  "<***><***G>",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%s became %s instead of %s", text, got, want)
		}
	}
}

func TestTheMarkIsNeverAPartOfASecret(t *testing.T) {
	t.Parallel()
	secrets := []string{"hunter2hunter2", "*abcdefg", "**hijklmn", "opqrstu**", "a***vwxyz1"}
	r := redact.New(secrets...)
	for text, want := range map[string]string{
		"hunter2hunter2abcdefg":           "******",
		"hunter2hunter2hijklmn *abcdefg":  "****** ****",
		"opqrstuhunter2hunter2 opqrstu**": "****** *****",
		"a***vwxyz1":                      "a******",
	} {
		if got := r.String(text); got != want || r.String(got) != got {
			t.Errorf("%s became %s instead of %s, and then %s", text, got, want, r.String(got))
		}
	}
}

func TestEveryLineOfASecretIsASecret(t *testing.T) {
	t.Parallel()
	r := redact.New("  first line\r\n\tsecond line\nend\n")
	text := "1: first line\n2: second line\n3: end"
	if got, want := r.String(text), "1: ***\n2: ***\n3: end"; got != want {
		t.Errorf("%q became %q instead of %q", text, got, want)
	}
}

var known = []string{"abababab", "hunter2hunter2", "first line\nsecond line\nthird", "p*ss w/rd+1", "-----BEGIN"}

var hard = []string{
	"abababababababab", "hunter2hunter2", "aHVudGVyMmh1bnRlcjI=", "first line\nsecond li", "p%2Ass%20w", "\nthird",
	"sk-" + alnum36, "ghp_", "ghp_" + alnum36, header + ".", header + "." + payload + "." + sign, "xoxb-", "xoxb-xoxb-1",
	begin, begin + "\n" + body + "\n", "\nshort=\n" + end, "Proc-Type: 4", "Authorization: ", "Bearer ", alnum20, "://", "user:pass@", "@",
	"glpat-", "hf_", "SG.", ":AA", "-us1", "0123456789abcdef0123456789abcdef", ".atlasv1.", "8Q~", "machine x login y password ", "secret_key=", "_auth=", "Private-Lines: 1\n", "LS0tLS1CRUdJTi",
	"***", "*", " ", "\n", `\n`, `\`, "%2", "é", "\xff", "eyJ", "-", "_",
}

func FuzzNoKnownSecretIsLeftAndNothingChangesTwice(f *testing.F) {
	for _, text := range hard {
		f.Add("a" + text + text + "z")
		f.Add(text)
	}
	f.Add(strings.Join(hard, ""))
	f.Add(strings.Join(hard, " "))
	r := redact.New(known...)
	f.Fuzz(func(t *testing.T, text string) {
		got := r.String(text)
		if again := r.String(got); again != got {
			t.Fatalf("%q\nbecame %q\nand then %q", text, got, again)
		}
		for _, secret := range known {
			if strings.Contains(got, secret) {
				t.Fatalf("%q\nbecame %q", text, got)
			}
		}
	})
}

func TestAddSaysWhyASecretIsRefusedAndDoesNotShowIt(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"a", "abcde", " abcde \n", "******", "abc***def", strings.Repeat("x", 64<<10+1)} {
		r := redact.New(secret)
		err := r.Add(secret)
		if err == nil || strings.Contains(err.Error(), "abc") || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", secret, err)
		}
		if text := "before " + secret[:min(len(secret), 50)] + " after"; r.String(text) != text {
			t.Errorf("%q was changed", text)
		}
	}
	if err := redact.New().Add(" \n"); err != nil {
		t.Errorf("nothing to hide: %v", err)
	}
}

func TestSecretsAreAddedWhileOthersRedact(t *testing.T) {
	t.Parallel()
	r := redact.New("first-secret")
	var wg sync.WaitGroup
	for i := range 8 {
		secret := fmt.Sprintf("secret-number-%d", i)
		wg.Go(func() {
			if err := r.Add(secret); err != nil {
				t.Error(err)
			}
			if got := r.String("<first-secret " + secret + ">"); got != "<*** ***>" {
				t.Errorf("got %s", got)
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		if got := r.String(fmt.Sprintf("secret-number-%d", i)); got != "***" {
			t.Errorf("%d became %s", i, got)
		}
	}
}

func TestTextThatIsNotSecretIsNotCopied(t *testing.T) {
	r := redact.New("first-secret", "second\nsecret")
	line := `level=INFO msg=completed issue_identifier=GH-12 turns=3 tokens=1234 path=/home/runner/work`
	if n := testing.AllocsPerRun(100, func() { r.String(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFindTellsWhereSecretsStand(t *testing.T) {
	r := redact.New("hunter2-hunter2")
	text := "a hunter2-hunter2 b aHVudGVyMi1odW50ZXIy c ghp_0123456789abcdefghij d https://user:password@example.org"
	var got []string
	for _, s := range r.Find([]byte(text)) {
		got = append(got, fmt.Sprint(s.Known, " ", text[s.Start:s.End]))
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if len(got) == 0 || got[0] != "false ghp_0123456789abcdefghij" {
		t.Errorf("got %q", got)
	}
	for _, want := range []string{"true hunter2-hunter2", "true aHVudGVyMi1odW50ZXIy"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	for _, s := range got {
		if strings.Contains(s, "password") {
			t.Errorf("the example of a manual is found: %q", s)
		}
	}
}

// Otherwise every program that reads such files would seem to hold the secret.
func TestTheFirstLineOfAPrivateKeyIsNoSecret(t *testing.T) {
	t.Parallel()
	r := redact.New("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789\nabcdefgh+/==\n-----END RSA PRIVATE KEY-----\n")
	code := []byte(`const begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"`)
	if found := r.Find(code); len(found) > 0 {
		t.Errorf("found %v in %s", found, code)
	}
	for _, line := range []string{"MIIEowIBAAKCAQEA0123456789", "abcdefgh+/=="} {
		if got := r.String("x " + line + " y"); got != "x *** y" {
			t.Errorf("got %q", got)
		}
	}
}
