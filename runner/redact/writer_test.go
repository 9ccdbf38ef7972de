package redact_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/symphony-runner/symphony/runner/redact"
)

// stream writes text in pieces whose sizes are the bytes of cuts, over and over.
func stream(t interface{ Fatal(...any) }, r *redact.Redactor, text string, cuts []byte) string {
	var out bytes.Buffer
	w := r.Writer(&out)
	for i, rest := 0, text; len(rest) > 0; i++ {
		size := 1
		if len(cuts) > 0 {
			size = min(int(cuts[i%len(cuts)])+1, len(rest))
		}
		if n, err := io.WriteString(w, rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
			t.Fatal(n, err)
		}
		rest = rest[min(size, len(rest)):]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var known = []string{"abababab", "hunter2hunter2", "first line\nsecond line\nthird", "p*ss w/rd+1", "-----BEGIN"}

var hard = []string{
	"abababababababab", "hunter2hunter2", "aHVudGVyMmh1bnRlcjI=", "first line\nsecond li", "p%2Ass%20w", "\nthird",
	"sk-" + alnum36, "ghp_", "ghp_" + alnum36, header + ".", header + "." + payload + "." + sign, "xoxb-", "xoxb-xoxb-1",
	begin, begin + "\n" + body + "\n", "\nshort=\n" + end, "Proc-Type: 4", "Authorization: ", "Bearer ", alnum20, "://", "user:pass@", "@",
	"***", "*", " ", "\n", `\n`, `\`, "%2", "é", "\xff", "eyJ", "-", "_",
}

func TestAnyPiecesGiveTheSameText(t *testing.T) {
	t.Parallel()
	r := redact.New(known...)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hard), rapid.StringN(0, 5, -1)), 0, 20).Draw(t, "text"), "")
		cuts := rapid.SliceOfN(rapid.ByteRange(0, 40), 0, 5).Draw(t, "cuts")
		want := r.String(text)
		if got := stream(t, r, text, cuts); got != want {
			t.Fatalf("%q\nbecame %q\ninstead of %q", text, got, want)
		}
		if again := r.String(want); again != want {
			t.Fatalf("%q\nbecame %q\nand then %q", text, want, again)
		}
	})
}

func FuzzAnyPiecesGiveTheSameText(f *testing.F) {
	for _, text := range hard {
		f.Add("a"+text+text+"z", []byte{0})
		f.Add(text, []byte{3, 5})
	}
	f.Add(strings.Join(hard, ""), []byte{6})
	f.Add(strings.Join(hard, " "), []byte{})
	r := redact.New(known...)
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		want := r.String(text)
		if got := stream(t, r, text, cuts); got != want {
			t.Fatalf("%q\nbecame %q\ninstead of %q", text, got, want)
		}
		if again := r.String(want); again != want {
			t.Fatalf("%q\nbecame %q\nand then %q", text, want, again)
		}
		for _, secret := range known {
			if strings.Contains(want, secret) {
				t.Fatalf("%q\nbecame %q", text, want)
			}
		}
	})
}

func TestALineIsNotHeldBackUnlessASecretMayBegin(t *testing.T) {
	t.Parallel()
	r := redact.New("hunter2hunter2", "dlroW-olleH")
	var out bytes.Buffer
	w := r.Writer(&out)
	for _, step := range []struct{ write, want string }{
		{"Hello, World!\n", "Hello, World!\n"},
		{"password: hunter", "Hello, World!\npassword: "},
		{"2", "Hello, World!\npassword: "},
		{"x\n", "Hello, World!\npassword: hunter2x\n"},
	} {
		if _, err := io.WriteString(w, step.write); err != nil {
			t.Fatal(err)
		}
		if out.String() != step.want {
			t.Errorf("after %q: %q instead of %q", step.write, out.String(), step.want)
		}
	}
}

func TestWhatIsHeldBackIsBounded(t *testing.T) {
	t.Parallel()
	r := redact.New("hunter2hunter2")
	for _, unit := range []string{"a", " ", "eyJ", "eyJa-", "ghp_", "://a:", begin, begin + "\n", begin + "Version: ", body, "Bearer ", "hunter2"} {
		var out bytes.Buffer
		w := r.Writer(&out)
		written := 0
		for range 64 {
			n, err := io.WriteString(w, begin+strings.Repeat(unit, 8<<10/len(unit)))
			if err != nil {
				t.Fatal(err)
			}
			written += n
		}
		before := out.Len()
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if held := out.Len() - before; held > 100<<10 {
			t.Errorf("%q: %d of %d bytes were held back", unit, held, written)
		}
	}
}

func TestFlushEndsTheText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := redact.New("hunter2hunter2").Writer(&out)
	for _, s := range []string{"hunter2", "hunter2hunter2"} {
		if _, err := io.WriteString(w, s); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "hunter2***"; got != want {
		t.Errorf("got %s instead of %s", got, want)
	}
}

func TestAWriterThatFailedStaysFailed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	w := redact.New().Writer(writerFunc(func([]byte) (int, error) { return 0, broken }))
	if _, err := io.WriteString(w, "text\n"); !errors.Is(err, broken) {
		t.Errorf("the write: %v", err)
	}
	if n, err := io.WriteString(w, "text\n"); n != 0 || !errors.Is(err, broken) {
		t.Errorf("the next: %d, %v", n, err)
	}
	if err := w.Close(); !errors.Is(err, broken) {
		t.Errorf("the end: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestALongTextPassesInAnyPieces(t *testing.T) {
	t.Parallel()
	r := redact.New(known...)
	text := strings.Repeat(strings.Join(hard, " ")+"\n", 500)
	for name, source := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(strings.NewReader(text)),
		"halves":   iotest.HalfReader(strings.NewReader(text)),
	} {
		var out bytes.Buffer
		w := r.Writer(&out)
		if _, err := io.Copy(w, source); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != r.String(text) {
			t.Errorf("%s: the text differs", name)
		}
	}
}
