package ssh

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		Host
		text string // as it is written back; empty for text
	}{
		"build-1":                          {Host{Name: "build-1"}, ""},
		"me@build.example":                 {Host{User: "me", Name: "build.example"}, ""},
		"build:2222":                       {Host{Name: "build", Port: 2222}, ""},
		"me.too@corp.example@10.0.0.1:022": {Host{User: "me.too@corp.example", Name: "10.0.0.1", Port: 22}, "me.too@corp.example@10.0.0.1:22"},
		"me@[::1]:22":                      {Host{User: "me", Name: "::1", Port: 22}, ""},
		"[2001:DB8:0::1]":                  {Host{Name: "2001:db8::1"}, "[2001:db8::1]"},
		"ssh://me@build:2222/":             {Host{User: "me", Name: "build", Port: 2222}, "me@build:2222"},
	} {
		if want.text == "" {
			want.text = text
		}
		if got, err := Parse(text); got != want.Host || got.String() != want.text || err != nil {
			t.Errorf("%s: %#v, %s, %v", text, got, got, err)
		}
	}
}

func TestWhatIsNoHostIsRefusedWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "the host begins with", "-oProxyCommand=x": "the host begins with", "a b": "the host begins with", "a\n": "the host begins with",
		"a;b": "the host begins with", "'a'": "the host begins with", "$(a)": "the host begins with", "a/b": "the host begins with", "ä": "the host begins with",
		"me@": "the host begins with", "me@-a": "the host begins with", ":22": "the host begins with", strings.Repeat("a", 254): "the host begins with",
		"-me@a": "the user begins with", "@a": "the user begins with", "m e@a": "the user begins with",
		"me:s3cret@a": "without a password", "ssh://me:s3cret@a": "without a password", "ssh://": "the host begins with", "ssh://a/b": "the host begins with",
		"a:": "the port", "a:0": "the port", "a:65536": "the port", "a:+22": "the port", "a:22 ": "the port", "a:ssh": "the port", "[::1]22": "the port", "[::1]:": "the port",
		"::1": "in brackets", "a:1:2": "in brackets", "[::1": "in brackets", "[a]:22": "in brackets", "[1.2.3.4]:22": "in brackets", "[fe80::1%eth0]:22": "in brackets",
	} {
		h, err := Parse(text)
		if h != (Host{}) || !errors.Is(err, ErrHost) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, %v; want %q", text, h, err, says)
		}
	}
}

func FuzzNoHostIsAnOptionOrMoreThanAWord(f *testing.F) {
	for _, seed := range []string{"a", "me@a:22", "me@[::1]:22", "ssh://me@a:22/", "-oProxyCommand=x", "me@-a", "a b", "[::ffff:1.2.3.4]:1", "a@b@c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(h.String()); again != h || err != nil {
			t.Errorf("%q is %q, which is %q, %v", text, h, again, err)
		}
		args := h.arguments()
		if at := slices.Index(args, "--"); at != len(args)-2 {
			t.Errorf("%q: %q", text, args)
		}
		for _, arg := range []string{h.User, h.Name} {
			if strings.HasPrefix(arg, "-") || strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("'\"\\$`;&|<>(){}*?!#~=%", r) }) {
				t.Errorf("%q has the argument %q", text, arg)
			}
		}
	})
}
