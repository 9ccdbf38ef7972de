package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SaveObjects writes the objects of Git LFS that were taken with the work, for
// [Incoming.TakeSaved] of the same work when the workspace no longer has them. Each stands
// behind a line with its id and its size.
func (t *takenObjects) SaveObjects(w io.Writer) error {
	for _, p := range t.taken {
		f, err := os.Open(filepath.Join(t.lfsFolder(), p.file()))
		if err != nil {
			return fmt.Errorf("save the objects of Git LFS: %w", err)
		}
		if _, err = fmt.Fprintf(w, "%s %d\n", p.OID, p.Size); err == nil {
			_, err = io.Copy(w, f)
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("save the objects of Git LFS: %w", err)
		}
	}
	return nil
}

// TakeSaved takes objects into the quarantine from the output of SaveObjects, and checks the
// SHA-256 of each. It skips other objects, and leaves out objects that were not saved. If the
// text has another form, the error is a [Refusal].
func (t *takenObjects) TakeSaved(r io.Reader, objects []NewObject) error {
	wanted := map[Pointer]NewObject{}
	for _, o := range objects {
		wanted[o.Pointer] = o
	}
	from := bufio.NewReader(r)
	for {
		line, err := from.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return unreadable(err)
		}
		oid, digits, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || size < 0 {
			return unreadable(errors.New("a line does not name an object"))
		}
		o, isWanted := wanted[Pointer{oid, size}]
		if !isWanted {
			if _, err := io.CopyN(io.Discard, from, size); err != nil {
				return unreadable(err)
			}
			continue
		}
		if err := t.takeObject(from, o); err != nil {
			return err
		}
	}
}
