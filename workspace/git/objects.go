package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Object is an object of a repository.
type Object struct {
	ID   ObjectID
	Type string // "blob", "tree", "commit" or "tag"
	Size int64
}

// objectReader is a running git cat-file.
type objectReader struct {
	p    *process
	in   *os.File // requests; nil if they are already given
	pipe *os.File
	out  *bufio.Reader
}

// readTrees calls read with a reader of the trees of a repository.
func (e *engine) readTrees(ctx context.Context, c command, read func(*treeWalk) error) error {
	objects, err := e.openObjects(ctx, c, nil)
	if err != nil {
		return err
	}
	return objects.close(read(&treeWalk{objects: objects, limits: e.limits}))
}

// openObjects starts git cat-file. If requests is nil, they are made one by one.
func (e *engine) openObjects(ctx context.Context, c command, requests io.Reader) (*objectReader, error) {
	pipe, childOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	defer childOut.Close()
	o := &objectReader{pipe: pipe, out: bufio.NewReaderSize(pipe, 64<<10)}
	c.stdin, c.stdout = requests, childOut
	c.args = []string{"cat-file", "--batch"}
	if requests != nil {
		c.args = append(c.args, "--buffer")
	} else {
		childIn, in, err := os.Pipe()
		if err != nil {
			pipe.Close()
			return nil, fmt.Errorf("read objects: %w", err)
		}
		defer childIn.Close()
		o.in, c.stdin = in, childIn
	}
	if o.p, err = e.start(ctx, c); err != nil {
		o.closeFiles()
		return nil, err
	}
	return o, nil
}

func (o *objectReader) closeFiles() {
	if o.in != nil {
		o.in.Close()
	}
	o.pipe.Close()
}

// close ends git and returns the error with which it ended, if err is one that its end
// explains.
func (o *objectReader) close(err error) error {
	if err != nil {
		o.p.cancel() // it may be writing
	}
	cause := context.Cause(o.p.ctx)
	o.closeFiles()
	failed := o.p.wait()
	switch {
	case err == nil:
		return failed
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		if cause != nil && !errors.Is(cause, context.Canceled) {
			return cause
		}
		return errors.Join(errors.New("git cat-file ended early"), err)
	}
	return err
}

func (o *objectReader) ask(request string) (Object, error) {
	if _, err := o.in.WriteString(request + "\n"); err != nil {
		return Object{}, fmt.Errorf("git cat-file: %w", io.ErrUnexpectedEOF)
	}
	return o.header()
}

func (o *objectReader) header() (Object, error) {
	line, err := o.out.ReadSlice('\n')
	if err != nil {
		return Object{}, err
	}
	return parseObjectLine(string(line[:len(line)-1]))
}

// parseObjectLine reads a line of git cat-file: an id, a type and a size.
func parseObjectLine(line string) (Object, error) {
	fields := strings.Split(line, " ")
	if len(fields) == 2 && fields[1] == "missing" {
		return Object{}, refuse("the object %s is missing", sanitize(fields[0]))
	}
	if len(fields) != 3 || !slices.Contains([]string{"blob", "tree", "commit", "tag"}, fields[1]) {
		return Object{}, notAnObject(line)
	}
	id, err := ParseObjectID(fields[0])
	if err != nil {
		return Object{}, err
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, notAnObject(line)
	}
	return Object{ID: id, Type: fields[1], Size: size}, nil
}

func notAnObject(line string) error {
	return fmt.Errorf("git cat-file: the line %q is not an object", sanitize(line))
}

// contents reads an object of at most limit bytes.
func (o *objectReader) contents(object Object, limit int64) ([]byte, error) {
	if object.Size > limit {
		return nil, refuse("the %s %s has %d bytes, the limit is %d", object.Type, object.ID, object.Size, limit)
	}
	b := make([]byte, object.Size+1)
	if _, err := io.ReadFull(o.out, b); err != nil {
		return nil, err
	}
	if b[object.Size] != '\n' {
		return nil, errors.New("git cat-file: an object is longer than its size")
	}
	return b[:object.Size], nil
}
