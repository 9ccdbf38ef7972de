package setup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	maxWindow = 32 << 20 // bytes of memory that a pack may ask for; the packs of Save need less
	// maxStream bounds the stream of a pack, in bytes: the files, and three blocks about each.
	maxStream = MaxBytes + MaxFiles*4*512
)

// Extract writes the streams of a pack for a workspace in these places. A nil writer drops
// its stream. It fails with [ErrDamaged], and as the writers do.
func (p *Pack) Extract(to Places, work, home io.Writer) error {
	err := p.extract(to, work, home)
	if err != nil {
		return fmt.Errorf("unpack the preparation: %w", err)
	}
	return nil
}

func (p *Pack) extract(to Places, work, home io.Writer) (err error) {
	z, err := zstd.NewReader(io.NewSectionReader(p.file, p.begin, p.Size), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	outs := map[string]*tar.Writer{}
	for prefix, w := range map[string]io.Writer{workPrefix: work, homePrefix: home} {
		if w != nil {
			outs[prefix] = tar.NewWriter(w)
		}
	}
	in := tar.NewReader(io.LimitReader(z, maxStream))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if err := place(to, h, in, outs); err != nil {
			return err
		}
	}
	for _, out := range outs {
		err = errors.Join(err, out.Close())
	}
	return err
}

func place(to Places, h *tar.Header, content io.Reader, outs map[string]*tar.Writer) error {
	first, name, _ := strings.Cut(h.Name, "/")
	prefix := first + "/"
	out := outs[prefix]
	if out == nil {
		return nil
	}
	h.Name = name
	if h.Typeflag == tar.TypeLink {
		h.Linkname = strings.TrimPrefix(h.Linkname, prefix)
	}
	if h.PAXRecords[moved] != "" {
		h.PAXRecords = nil
		h.Linkname = string(unmark([]byte(h.Linkname), to))
		text, err := io.ReadAll(content)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		text = unmark(text, to)
		h.Size, content = int64(len(text)), bytes.NewReader(text)
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(out, content)
	return err
}

// unmark returns a text with folders in the place of the marks.
func unmark(text []byte, to Places) []byte {
	text = bytes.ReplaceAll(text, []byte(homeMark), []byte(to.Home))
	return bytes.ReplaceAll(text, []byte(workMark), []byte(to.Work))
}
