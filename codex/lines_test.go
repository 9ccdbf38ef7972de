package codex

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readAll(f *lineReader) (texts []string, err error) {
	for {
		text, err := f.next()
		if err != nil {
			return texts, err
		}
		texts = append(texts, string(text))
	}
}

func TestLinesAreCutAtTheirEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*readSize)
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":             {"", nil},
		"two lines":           {"a\nb\n", []string{"a", "b"}},
		"CRLF":                {"a\r\nb\r\n", []string{"a", "b"}},
		"a CR inside":         {"a\rb\n", []string{"a\rb"}},
		"blank lines":         {"\n\r\na\n", []string{"", "", "a"}},
		"no end at the end":   {"a\nb", []string{"a", "b"}},
		"longer than a read":  {long + "\nb\n" + long, []string{long, "b", long}},
		"exactly one read":    {long[:readSize] + "\nb\n", []string{long[:readSize], "b"}},
		"one less and its CR": {long[:readSize-1] + "\r\nb\n", []string{long[:readSize-1], "b"}},
	} {
		for way, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "bytes": iotest.OneByteReader,
		} {
			texts, err := readAll(newLineReader(reader(strings.NewReader(test.in))))
			if err != io.EOF {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			if diff := cmp.Diff(test.want, texts); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, way, diff)
			}
		}
	}
}

func TestSixteenMiBIsTheLongestLine(t *testing.T) {
	t.Parallel()
	longest := bytes.Repeat([]byte("x"), maxLine)
	for _, end := range []string{"\n", "\r\n", ""} {
		texts, err := readAll(newLineReader(io.MultiReader(bytes.NewReader(longest), strings.NewReader(end))))
		if err != io.EOF || len(texts) != 1 || len(texts[0]) != maxLine {
			t.Errorf("16 MiB ending in %q: %d lines, %v", end, len(texts), err)
		}
		texts, err = readAll(newLineReader(io.MultiReader(strings.NewReader("x"), bytes.NewReader(longest), strings.NewReader(end))))
		if err != errLineTooLong || len(texts) != 0 {
			t.Errorf("16 MiB and a byte ending in %q: %d lines, %v", end, len(texts), err)
		}
	}
}

func TestAnEndlessLineIsGivenUpInBoundedMemory(t *testing.T) {
	t.Parallel()
	counted := &countingReader{r: endless{}}
	if _, err := readAll(newLineReader(counted)); err != errLineTooLong {
		t.Fatal(err)
	}
	if counted.n > maxLine+2*readSize {
		t.Errorf("read %d bytes of a line that is too long after %d", counted.n, maxLine)
	}
}

func TestTheMemoryOfAHugeLineIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newLineReader(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("x"), maxLine)), strings.NewReader("\nnext\n")))
	if text, err := f.next(); err != nil || len(text) != maxLine {
		t.Fatal(len(text), err)
	}
	if text, err := f.next(); err != nil || string(text) != "next" {
		t.Fatal(string(text), err)
	}
	if f.long != nil {
		t.Errorf("%d bytes are still held", cap(f.long))
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("a\nb\r\n\n\r\r\nc"))
	f.Add([]byte("\n"))
	f.Add([]byte("longer than one read, \r longer than two reads\r\nx"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var want []string
		for text := range strings.Lines(string(in)) {
			want = append(want, strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"))
		}
		for _, r := range []io.Reader{bytes.NewReader(in), iotest.HalfReader(bytes.NewReader(in))} {
			texts, err := readAll(&lineReader{r: bufio.NewReaderSize(r, 16)}) // small, so that most lines are long
			if err != io.EOF {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, texts); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}
