package transcript

import (
	"bytes"
	"context"
	"io"
	"os"
)

const (
	// maxSummarized bounds the bytes read of all logs for their summaries: an artifact that is
	// small can unpack to more than anybody waits for.
	maxSummarized = 1 << 30
	// maxLogRead bounds the bytes read of one log. The logs of this program are shorter.
	maxLogRead = 128 << 20
	// maxEnd bounds how much of an end of a log is read for its summary, in bytes.
	maxEnd = 64 << 10
)

// Summaries reads the summaries of logs, within a bound of bytes for all of them.
type Summaries struct {
	Redact func(string) string

	read int // bytes of the logs
}

// Summary holds the session, the length and the outcome of a log.
type Summary struct {
	Session     Session // zero if the log cannot be read
	Took, Ended string
}

// Of returns the summary of a log, which it opens. It reads nothing if ctx has ended.
func (s *Summaries) Of(ctx context.Context, open func() (io.ReadCloser, error)) Summary {
	if s.read >= maxSummarized || ctx.Err() != nil {
		return Summary{Ended: "its log was not read: there is too much of all"}
	}
	log, err := open()
	if err != nil {
		return Summary{Ended: "its log cannot be read"}
	}
	defer log.Close()
	reader := &Reader{Redact: s.Redact}
	head, tail := s.ends(ctx, log)
	entries := append(reader.Feed(head), reader.Feed(tail)...)
	sum := Summary{Session: reader.Session(), Ended: "it was killed"}
	file, isFile := log.(*os.File)
	switch {
	case reader.Outcome() != nil && len(entries) > 0:
		last := entries[len(entries)-1]
		sum.Took, sum.Ended = last.Details(), last.Title
	case isFile && IsBeingWritten(file):
		sum.Ended = "it is running"
	}
	return sum
}

// ends returns the first line of a log and its last lines, and skips the rest.
func (s *Summaries) ends(ctx context.Context, log io.Reader) (head, tail []byte) {
	head, err := io.ReadAll(io.LimitReader(log, maxEnd))
	if s.read += len(head); err != nil {
		return nil, nil
	}
	if seeker, ok := log.(io.Seeker); ok && len(head) == maxEnd {
		if end, err := seeker.Seek(0, io.SeekEnd); err == nil {
			_, _ = seeker.Seek(max(end-maxEnd, maxEnd), io.SeekStart)
		}
	}
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	tail = bytes.Clone(rest)
	part := make([]byte, maxEnd)
	for total := 0; total < maxLogRead && s.read < maxSummarized && ctx.Err() == nil; {
		n, err := log.Read(part)
		total, s.read = total+n, s.read+n
		tail = append(tail, part[:n]...)
		tail = tail[max(0, len(tail)-maxEnd):]
		if err != nil {
			break
		}
	}
	if at := bytes.LastIndexByte(bytes.TrimRight(tail, "\n"), '\n'); at >= 0 {
		tail = tail[at+1:] // the last line alone
	}
	return append(first, '\n'), tail
}
