package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/tracker"
)

const (
	extension = ".md"
	maxName   = 255     // bytes of a file name, everywhere
	maxSize   = 1 << 20 // bytes of an issue file
	// granularity is how coarse file times may be. A file changed this recently
	// can change again without a sign of it, so it is read again.
	granularity = 2 * time.Second
)

// record is what one version of an issue file holds.
type record struct {
	info      fs.FileInfo
	issue     tracker.Issue // zero when malformed; blockers have no state
	malformed error         // why it is no issue, and what to do
	settled   bool          // info tells this version from any later one
}

// spoilt returns the record as one that is malformed.
func (r *record) spoilt(id string) tracker.Malformed {
	return tracker.Malformed{
		ID: tracker.ID(id), Identifier: id, Why: fmt.Sprintf("the file %q: %v", fileName(id), r.malformed),
	}
}

// of tells whether the record is that of the file version that info describes.
func (r *record) of(info fs.FileInfo) bool {
	return os.SameFile(r.info, info) && r.info.Mode() == info.Mode() &&
		r.info.Size() == info.Size() && r.info.ModTime().Equal(info.ModTime())
}

func fileName(id string) string { return id + extension }

// visible tells whether a file of that identifier may be an issue at all.
func visible(id string) bool {
	return id != "" && id[0] != '.' && len(fileName(id)) <= maxName && !strings.ContainsAny(id, "/\x00")
}

// read reads the file of an issue. It gives nil for a file that is none, and an
// error only for one that cannot be read.
func read(root *os.Root, id string, info fs.FileInfo) (*record, error) {
	if !info.Mode().IsRegular() {
		return &record{info: info, malformed: fmt.Errorf("it is no regular file (%v): put the file itself here, or move this away", info.Mode())}, nil
	}
	if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return &record{info: info, malformed: errors.New("its name is not plain text: rename it")}, nil
	}
	info, content, err := readFile(root, fileName(id))
	if err != nil {
		return nil, err
	}
	issue, err := parse(id, content, info.ModTime())
	if errors.Is(err, errNoMatter) && strings.EqualFold(id, "readme") {
		return nil, nil
	}
	return &record{info: info, issue: issue, malformed: err}, nil
}

// readFile reads at most a little more than an issue may hold. What it opens
// may no longer be what was listed: it never waits for the other end of a pipe.
func readFile(root *os.Root, name string) (fs.FileInfo, []byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file any more", name)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	return info, content, err
}
