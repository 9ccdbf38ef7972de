package workflow

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Load reads and parses the workflow file at path. Its errors are those of [Parse],
// and [ErrMissingFile].
func Load(path string, env Env) (Workflow, error) {
	path, content, err := read(path)
	if err != nil {
		return Workflow{}, err
	}
	return Parse(path, content, env)
}

// Source is a workflow file that may change while the program runs (SPEC §6.2).
// It belongs to one goroutine.
type Source struct {
	path string
	env  Env

	content []byte   // that was parsed last; nil before the first time
	err     error    // of that parse
	good    Workflow // the last one that parsed without an error
}

// NewSource returns a Source for the workflow file at path, without reading it.
func NewSource(path string, env Env) *Source {
	return &Source{path: path, env: env}
}

// Current reads the file again. When it cannot be used, Current returns the error
// together with the last good workflow, or with the zero Workflow if there never was
// one. While there is an error the caller must not dispatch; with a good workflow it
// continues to reconcile running sessions (SPEC §6.3).
func (s *Source) Current() (Workflow, error) {
	path, content, err := read(s.path)
	if err != nil {
		return s.good, err
	}
	if s.content != nil && bytes.Equal(content, s.content) {
		return s.good, s.err
	}
	parsed, err := Parse(path, content, s.env)
	s.content, s.err = content, err
	if err == nil {
		s.good = parsed
	}
	return s.good, err
}

// read returns the absolute path of the file and its content, which is never nil. It
// reads at most one byte more than a workflow may have.
func read(path string) (string, []byte, error) {
	fail := func(err error) (string, []byte, error) {
		return "", nil, fmt.Errorf("read workflow: %w: %w; create the file, or name another one", ErrMissingFile, err)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fail(err)
	}
	return path, content, nil
}
