package codex

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	maxLine  = 16 << 20 // the longest message, without the end of its line
	readSize = 32 << 10 // lines up to here are read without a copy
)

var errLineTooLong = errors.New("message longer than 16 MiB")

// frames cuts a stream into lines (SPEC §10.1). Ends of lines are \n or \r\n;
// a last line without one counts.
type frames struct {
	r    *bufio.Reader
	long []byte // a line longer than readSize; given back at the next one
}

func newFrames(r io.Reader) *frames { return &frames{r: bufio.NewReaderSize(r, readSize)} }

// next returns the next line, valid until the following call. It fails with
// errLineTooLong, after which the stream is of no more use, or as the stream does.
func (f *frames) next() ([]byte, error) {
	f.long = nil
	for {
		part, err := f.r.ReadSlice('\n')
		if err == nil && f.long == nil {
			return trimEnd(part), nil
		}
		f.long = append(f.long, part...)
		if len(f.long) > maxLine+len("\r\n") {
			return nil, errLineTooLong
		}
		switch {
		case err == nil, err == io.EOF && len(f.long) > 0:
			if line := trimEnd(f.long); len(line) <= maxLine {
				return line, nil
			}
			return nil, errLineTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func trimEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
