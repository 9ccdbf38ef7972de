package action_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestForeignTextStartsNoCommand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"a command", "::error::x", ": :error::x"},
		{"of the old kind", "##[error]x", "## [error]x"},
		{"of the old kind, later on", "a ###[group]x", "a ### [group]x"},
		{"behind spaces", " \t\u00a0\u3000::error::x", " \t\u00a0\u3000: :error::x"},
		{"behind a byte order mark", "\ufeff::error::x", "\ufeff: :error::x"},
		{"behind a soft hyphen", "\u00ad::error::x", "\u00ad: :error::x"},
		{"around a zero-width space", ":\u200b:error::x #\u200d#\u2060[x]", ":\u200b :error::x #\u200d#\u2060 [x]"},
		{"behind broken encoding", "\xff\xe2\x80::error::x", "\xff\xe2\x80: :error::x"},
		{"behind a color", "\x1b[31m::error::x", "␛[31m::error::x"},
		{"behind half a color", "\x1b[31::error::x", "␛[31::error::x"},
		{"behind a zero byte", "\x00::error::x\x7f", "␀::error::x␡"},
		{"behind a C1 control", "\u009b::error::x", "␦::error::x"},
		{"after a return", "a\r::error::x", "a\r: :error::x"},
		{"after a return and a line feed", "a\r\n::error::x", "a\r\n: :error::x"},
		{"after other line ends", "\v::a\f::b\u0085::c\u2028::d\u2029::e", "\v: :a\f: :b\u0085: :c\u2028: :d\u2029: :e"},
		{"three colons", ":::error::x", ": ::error::x"},
		{"cut off", "::", ": :"},
		{"ordinary text", "a::b std::string # ## [x] #[ : : http://x ::\n#!/bin/sh\n  key: value\n", "a::b std::string # ## [x] #[ : : http://x ::\n#!/bin/sh\n  key: value\n"},
		{"other scripts", "日本語 👩‍👩‍👧 e\u0301 \u200fעברית ⚠️\n", "日本語 👩‍👩‍👧 e\u0301 \u200fעברית ⚠️\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := logRunner()
			rt := r.runtime()
			say(t, rt.Writer(), row.text)
			if got := r.out.String(); got != row.want {
				t.Errorf("%q became %q instead of %q", row.text, got, row.want)
			}
			if commands, _ := r.read(); commands != nil {
				t.Errorf("%q: the runner saw %q", r.out.String(), commands)
			}
		})
	}
}

func say(t interface{ Fatal(...any) }, w io.Writer, text string) {
	if n, err := io.WriteString(w, text); err != nil || n != len(text) {
		t.Fatal(n, err)
	}
}

func TestJSONLinesStayJSON(t *testing.T) {
	t.Parallel()
	r := logRunner()
	line, err := json.Marshal(map[string]string{"text": "::error::x\n##[error]x\x1b[0m", "##[a": "::"})
	if err != nil {
		t.Fatal(err)
	}
	say(t, r.runtime().Writer(), string(line)+"\n")
	if commands, shown := r.read(); commands != nil || !json.Valid([]byte(shown[0])) {
		t.Errorf("commands %q in %q", commands, shown)
	}
}

func TestOutsideActionsTextStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := logRunner()
	delete(r.env, "GITHUB_ACTIONS")
	rt := r.runtime()
	const text = "\x1b[31m::error::x##[a]\xe2"
	say(t, rt.Writer(), text)
	if err := rt.Close(); err != nil || r.out.String() != text {
		t.Errorf("%q, %v", r.out.String(), err)
	}
}

var pieces = []string{
	":", "::", "##", "#", "[", "##[", "::error::", "::add-mask::", "::stop-commands::x", "]", "\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028",
	"\u2029", " ", "\t", "\u00a0", "\u200b", "\u200d", "\ufeff", "\u00ad", "\ufe0f", "\u2060", "\u180e", "\x00", "\b", "\x1b", "\x1b[", "\x1b[0m", "\x1b]0;",
	"\a", "\u009b", "\xe2", "\x80", "\xa8", "\xf0\x9f", "\xff", "a", "é", "％", "%0A", "%", "error", "\U000e0001", "\u034f", "\u3164", "\u2800", "\u0301",
}

// scenario writes text in pieces and issues commands in between; it returns the
// commands that were meant.
func scenario(t interface{ Fatal(...any) }, r *runner, texts []string, cuts []byte) (meant []string) {
	rt := r.runtime()
	for i, text := range texts {
		for j := 0; len(text) > 0; j++ {
			n := len(text)
			if len(cuts) > 0 {
				n = min(n, int(cuts[j%len(cuts)])%8+1)
			}
			say(t, rt.Writer(), text[:n])
			text = text[n:]
		}
		switch i % 5 {
		case 1:
			rt.Group(texts[i], texts[0])
			meant = append(meant, "group", "endgroup")
		case 2:
			rt.Error(texts[i], texts[0])
			meant = append(meant, "error")
		case 3:
			rt.Notice("", texts[i])
			meant = append(meant, "notice")
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	return meant
}

// unexpected compares what the runner did with what was meant.
func unexpected(r *runner, meant []string) string {
	var got []string
	commands, _ := r.read()
	for _, c := range commands {
		got = append(got, c.Name)
	}
	return cmp.Diff(meant, got)
}

func TestTheRunnerSeesOurCommandsOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 3, -1)), 0, 12), func(s []string) string { return strings.Join(s, "") })
		texts := rapid.SliceOfN(text, 1, 6).Draw(t, "texts")
		cuts := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "cuts")
		r := logRunner()
		meant := scenario(t, r, texts, cuts)
		if diff := unexpected(r, meant); diff != "" {
			t.Fatalf("%q: %s", r.out.String(), diff)
		}
		for _, c := range first(r.read()) {
			if more, _ := (&runner{out: *buffer(c.Data + "\n" + c.Title)}).read(); more != nil {
				t.Fatalf("%q is shown as %q", c, more)
			}
		}
	})
}

func FuzzForeignTextStartsNoCommand(f *testing.F) {
	f.Add(strings.Join(pieces, ""), strings.Join(pieces, "::"), []byte{0})
	for _, piece := range pieces {
		f.Add(piece+"::error::x", piece+"##[error]x", []byte{1, 2})
	}
	r := logRunner()
	f.Fuzz(func(t *testing.T, a, b string, cuts []byte) {
		r.out.Reset()
		meant := scenario(t, r, []string{a, b, a, b}, cuts)
		if diff := unexpected(r, meant); diff != "" {
			t.Fatalf("%q: %s", r.out.String(), diff)
		}
	})
}

func TestAnyPiecesAreGuardedAlikeAndOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "text"), "") + "\n"
		want := write(t, text, len(text))
		if got := write(t, text, rapid.IntRange(1, 5).Draw(t, "size")); got != want {
			t.Fatalf("%q became %q instead of %q", text, got, want)
		}
		if again := write(t, want, len(want)); again != want {
			t.Fatalf("%q became %q and then %q", text, want, again)
		}
	})
}

func write(t interface{ Fatal(...any) }, text string, size int) string {
	r := logRunner()
	w := r.runtime().Writer()
	for len(text) > 0 {
		n := min(size, len(text))
		say(t, w, text[:n])
		text = text[n:]
	}
	return r.out.String()
}
