package action

import (
	"io"
	"sync"
)

// stdout is standard output: text from outside by Write, commands by command,
// never on one line.
type stdout struct {
	w       io.Writer
	escaped bool // outside Actions text stays unchanged

	mu      sync.Mutex // guards the fields below, and writing to w
	escaper escaper
	open    bool // the last line has no end yet
	err     error
	scratch []byte
}

// Write prints text from outside.
func (s *stdout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.escaped {
		s.scratch = s.escaper.pass(s.scratch[:0], p)
		s.writeLocked(s.scratch)
	} else {
		s.writeLocked(p)
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// command lets issue write through the raw side, from the beginning of a line.
func (s *stdout) command(issue func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLineLocked()
	issue()
}

func (s *stdout) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.escaped {
		s.endLineLocked()
	}
	return s.err
}

func (s *stdout) endLineLocked() {
	s.writeLocked(s.escaper.held)
	s.escaper = escaper{}
	if s.open {
		s.writeLocked([]byte{'\n'})
	}
}

func (s *stdout) writeLocked(p []byte) {
	if len(p) == 0 || s.err != nil {
		return
	}
	s.open = p[len(p)-1] != '\n'
	_, s.err = s.w.Write(p)
}

// rawSide is the writer for commands, inside of stdout.command.
type rawSide struct{ s *stdout }

func (r rawSide) Write(p []byte) (int, error) {
	r.s.writeLocked(p)
	return len(p), r.s.err
}
