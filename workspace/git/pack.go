package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A pack says of each object how large it is before the object comes. git believes it:
// ten kilobytes of deltas make index-pack allocate 800 MB, and a megabyte of zeros costs
// it four seconds. So the pack is read here first, and git gets it only if every size
// is within the limits.

// Types of the objects in a pack that are not objects by themselves.
const (
	offsetDelta    = 6 // difference to an object of the same pack
	referenceDelta = 7 // difference to an object that is named
)

// copyPack copies a pack from r to w and returns the number of its objects. The error is a
// [Refusal] if the pack is larger than the limits or malformed, or an error of w. r must end
// with the pack; the error for a pack that ends early is io.ErrUnexpectedEOF too. git checks
// the checksums and the contents of the objects.
func copyPack(w io.Writer, r io.Reader, l limits) (objects int, err error) {
	p := packReader{limits: l, source: &packSource{r: r, w: w, left: l.pack}}
	p.in = bufio.NewReaderSize(p.source, 64<<10)
	if err := p.read(&objects); err != nil {
		return 0, p.explain(err)
	}
	return objects, nil
}

// packSource reads a pack, writes every byte on, and ends at a limit.
type packSource struct {
	r    io.Reader
	w    io.Writer
	left int64
	err  error // first error of r or w, other than io.EOF
}

func (s *packSource) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if s.left -= int64(n); s.left < 0 {
		s.err = refuse("the pack is larger than the limit; commit fewer or smaller files")
		return 0, s.err
	}
	if n > 0 {
		if _, failed := s.w.Write(b[:n]); failed != nil {
			s.err = fmt.Errorf("write the pack to its quarantine: %w", failed)
			return 0, s.err
		}
	}
	if err != nil && err != io.EOF {
		s.err = &Refusal{Reason: fmt.Sprintf("the harvest failed: %v", err), Err: err}
	}
	return n, err
}

// packReader walks through the objects of a pack.
type packReader struct {
	limits   limits
	source   *packSource
	in       *bufio.Reader
	inflate  io.ReadCloser
	contents int64 // bytes announced so far
}

var errPack = errors.New("the pack is malformed")

// explain returns the error to show: an error of the source counts more than the early end of
// the pack, which it causes.
func (p *packReader) explain(err error) error {
	var refusal *Refusal
	switch {
	case p.source.err != nil:
		return p.source.err
	case errors.As(err, &refusal):
		return err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &Refusal{Reason: "the pack ends early", Err: io.ErrUnexpectedEOF}
	}
	return refuse("%v", err)
}

func (p *packReader) read(objects *int) error {
	var header [12]byte
	if _, err := io.ReadFull(p.in, header[:]); err != nil {
		return err
	}
	if !bytes.Equal(header[:8], []byte("PACK\x00\x00\x00\x02")) {
		return errPack
	}
	count := binary.BigEndian.Uint32(header[8:])
	if int64(count) > int64(p.limits.objects) {
		return refuse("the pack has %d objects, the limit is %d; commit fewer files", count, p.limits.objects)
	}
	for range count {
		if err := p.object(); err != nil {
			return err
		}
	}
	var checksum [20]byte
	if _, err := io.ReadFull(p.in, checksum[:]); err != nil {
		return err
	}
	if _, err := p.in.ReadByte(); err != io.EOF {
		if err != nil {
			return err
		}
		return refuse("something follows the pack")
	}
	*objects = int(count)
	return nil
}

func (p *packReader) object() error {
	b, err := p.in.ReadByte()
	if err != nil {
		return err
	}
	kind := b >> 4 & 7
	size := int64(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = p.in.ReadByte(); err != nil {
			return err
		}
		if shift > 53 {
			return errPack
		}
		size |= int64(b&0x7f) << shift
	}
	switch kind {
	case 1, 2, 3, 4:
	case offsetDelta:
		for n := 0; ; n++ {
			if b, err = p.in.ReadByte(); err != nil {
				return err
			}
			if b&0x80 == 0 {
				break
			}
			if n > 9 {
				return errPack
			}
		}
	case referenceDelta:
		if _, err := p.in.Discard(20); err != nil {
			return err
		}
	default:
		return errPack
	}
	if err := p.announce(size); err != nil {
		return err
	}
	return p.data(size, kind == offsetDelta || kind == referenceDelta)
}

// announce counts the bytes that an object will need.
func (p *packReader) announce(size int64) error {
	if size > p.limits.object {
		return refuse("an object has %d bytes, the limit is %d; do not commit files as large as that", size, p.limits.object)
	}
	if p.contents += size; p.contents > p.limits.contents {
		return refuse("the objects of the pack have more than %d bytes together; commit fewer or smaller files", p.limits.contents)
	}
	return nil
}

// data reads the compressed data of an object, which has size bytes.
func (p *packReader) data(size int64, delta bool) error {
	var err error
	if p.inflate == nil {
		p.inflate, err = zlib.NewReader(p.in)
	} else {
		err = p.inflate.(zlib.Resetter).Reset(p.in, nil)
	}
	if err != nil {
		return err
	}
	start := make([]byte, min(size, 20))
	if _, err := io.ReadFull(p.inflate, start); err != nil {
		return fmt.Errorf("%w: %w", errPack, err)
	}
	if delta {
		// A delta begins with the sizes of the object it starts from and of the result.
		_, n := binary.Uvarint(start)
		if n <= 0 {
			return errPack
		}
		result, m := binary.Uvarint(start[n:])
		if m <= 0 || result > 1<<60 {
			return errPack
		}
		if err := p.announce(int64(result)); err != nil {
			return err
		}
	}
	n, err := io.Copy(io.Discard, io.LimitReader(p.inflate, size-int64(len(start))+1))
	if err != nil {
		return err
	}
	if n != size-int64(len(start)) {
		return errPack
	}
	return nil
}
