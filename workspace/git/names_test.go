package git

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestAnObjectIDHoldsOnlyFortyHexDigits(t *testing.T) {
	t.Parallel()
	const valid = "0123456789abcdef0123456789abcdef01234567"
	if got := id(t, valid); got.String() != valid {
		t.Errorf("%s became %s", valid, got)
	}
	for _, s := range []string{"", "main", valid[1:], valid + "0", strings.ToUpper(valid), "-" + valid[1:], valid[:39] + "\n", "refs/heads/" + valid[11:]} {
		if got, err := ParseObjectID(s); err == nil || !got.IsZero() {
			t.Errorf("%q became %s", s, got)
		}
	}
	if _, err := ParseObjectID(strings.Repeat("a", 64)); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("an id of a SHA-256 repository: %v", err)
	}
}

func TestBranchesAndObjectIDsSurviveJSON(t *testing.T) {
	t.Parallel()
	type record struct {
		Head   ObjectID
		None   ObjectID
		Branch Branch
		No     Branch
	}
	want := record{Head: id(t, strings.Repeat("ab", 20)), Branch: branch(t, "symphony/GH-1")}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got record
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%s became %+v, %v", text, got, err)
	}
	for _, bad := range []string{`{"Head":"HEAD"}`, `{"Branch":"--force"}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// Everything that a branch may be called here is a branch name for git too.
func TestABranchIsANameThatGitTakes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	names := []string{
		"main", "symphony/GH-1", "a/b/c", "größe", "x@y", "@/a", "a@", "a.b", "v1.0", "a-", "refs", "refs/heads/main",
		"", "@", "HEAD", "-x", "--force", "a..b", "a.", ".a", "a/.b", "a.lock", "a.lock/b", "a//b", "/a", "a/", "a b", "a\tb",
		"a\x00b", "a\nb", "a~1", "a^", "a:b", "a?b", "a*b", "a[b", `a\b`, "a@{1}", "a\x7fb", "a\u202eb", "\xff", strings.Repeat("a", 201),
	}
	refused := 0
	for _, name := range names {
		if _, err := ParseBranch(name); err != nil {
			refused++
			continue
		}
		if out, err := plain(t, m.dir, "", "check-ref-format", "--branch", name); err != nil || out != name {
			t.Errorf("git does not take %q: %s", name, out)
		}
	}
	if refused != len(names)-11 {
		t.Errorf("%d of %d names were refused", refused, len(names))
	}
}

func TestEachIssueHasABranchOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range []string{"GH-1", "ABC-12", "a..b", "a.b", "x.lock", "x", ".hidden", "a.", "a"} {
		b, err := BranchFor("symphony/", key)
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if other, taken := seen[b.String()]; taken || !strings.HasPrefix(b.String(), "symphony/") {
			t.Errorf("%q and %q have the branch %s", key, other, b)
		}
		seen[b.String()] = key
	}
	if _, taken := seen["symphony/GH-1"]; !taken {
		t.Errorf("an ordinary key is not the name: %v", seen)
	}
	if _, err := BranchFor("--mirror", "x"); err == nil {
		t.Error("a prefix that is an option was taken")
	}
}

func TestOnlySafeAddressesOfRemotesAreParsed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://github.com/acme/shop":      "https://github.com/acme/shop",
		"https://github.com/acme/shop.git/": "https://github.com/acme/shop.git",
		"http://127.0.0.1:8080/x.git":       "http://127.0.0.1:8080/x.git",
		"http://[::1]:80/x.git":             "http://[::1]:80/x.git",
		"/srv/my repo%20.git":               "file:///srv/my%20repo%2520.git",
		"file:///srv/a.git":                 "file:///srv/a.git",
	} {
		if r, err := ParseRemote(address, "secret-token"); err != nil || r.URL() != want {
			t.Errorf("%q is %q, %v; want %q", address, r.URL(), err, want)
		}
	}
	for _, address := range []string{
		"", "acme/shop", "git@github.com:acme/shop.git", "ssh://git@github.com/acme/shop", "git://github.com/acme/shop",
		"http://github.com/acme/shop", "http://127.0.0.1.example.com/x", "https://github.com", "https:///acme", "https://github.com/a?b=c", "https://github.com/a#b",
		"ext::sh -c 'touch /tmp/x'", "--upload-pack=/bin/sh", "-x", "https://a/b\nc", "https://a/b c", "file://host/srv/a.git", "file:a.git", "relative/path", "../x",
		"https://x-access-token:secret-token@github.com/acme/shop", "https://secret-token@github.com/acme/shop",
	} {
		r, err := ParseRemote(address, "secret-token")
		if !errors.Is(err, ErrRemote) {
			t.Errorf("%q became %q, %v", address, r.URL(), err)
		} else if strings.Contains(err.Error(), "secret-token") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestATokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	r, err := ParseRemote("https://github.com/acme/shop", "secret-token")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", r.token, "remote", r)
	text, _ := json.Marshal(r.token)
	for _, s := range []string{fmt.Sprint(r, r.token), fmt.Sprintf("%v %+v %#v %s %q", r.token, r.token, r.token, r.token, r.token), log.String(), string(text)} {
		if strings.Contains(s, "secret-token") {
			t.Errorf("the token is in %s", s)
		}
	}
	if got := r.mask("a secret-token b " + r.header()); strings.Contains(got, "secret-token") || strings.Contains(got, "c2Vjc") || strings.Contains(got, "eC1hY2Nlc3M") {
		t.Errorf("the token is in %s", got)
	}
}

func FuzzNamesNeverLookLikeOptionsOrPaths(f *testing.F) {
	f.Add("symphony/GH-1")
	f.Add("--force")
	f.Add("a..b")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseObjectID(s); err == nil && (len(s) != 40 || id.String() != s) {
			t.Errorf("%q is the id %s", s, id)
		}
		b, err := ParseBranch(s)
		if err != nil {
			return
		}
		if b.String() != s || s[0] == '-' || strings.Contains(s, "..") || strings.ContainsAny(s, " \n*:^~?[\\\x00") {
			t.Errorf("%q is a branch", s)
		}
	})
}
