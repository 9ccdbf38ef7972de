package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// message is one line from the server: a request if it has a method and an id, a notification
// if it has only a method, a reply to a call of ours if it has only an id. Params and Result
// stay undecoded because most of them are never used.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// parseMessage decodes a line. It fails if the line is not a message.
func parseMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, err
	}
	if !present(m.ID) {
		m.ID = nil
	}
	switch {
	case m.Method == nil && m.ID == nil:
		return message{}, errors.New("neither a request, a notification nor a reply")
	case m.ID != nil && m.ID[0] != '"' && m.ID[0] != '-' && (m.ID[0] < '0' || m.ID[0] > '9'):
		return message{}, errors.New("an id is a number or a string")
	}
	return m, nil
}

// present reports whether raw is a value other than null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// request is a call of ours or, without an id, a notification.
type request struct {
	ID     int64  `json:"id,omitempty"` // ours start at 1
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// reply answers a request of the server. The id is returned byte for byte.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result,omitempty"`
	Error  *refusal        `json:"error,omitempty"`
}

// refusal is the error of a reply, in both directions.
type refusal struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

const (
	codeUnsupported = -32601 // the receiver does not have the method
	codeOverloaded  = -32001 // the server is busy: try again later
)

// encodeLine returns a message as a line. It fails if a part of the message is not
// valid JSON, such as the schema of a tool.
func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // an id must not change on its way back
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

const (
	maxLine  = 16 << 20 // the longest message, without its line ending
	readSize = 8 << 10  // lines up to this size are read without a copy
)

var errLineTooLong = errors.New("message longer than 16 MiB")

// lineReader splits a stream into lines (SPEC §10.1), which end with \n or \r\n.
// The last line needs no ending.
type lineReader struct {
	r    *bufio.Reader
	long []byte // a line longer than readSize; released by the next call of next
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, readSize)} }

// next returns the next line, which is valid until the following call. It fails
// with the error of the stream or with errLineTooLong; the stream cannot be read
// further then.
func (f *lineReader) next() ([]byte, error) {
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
