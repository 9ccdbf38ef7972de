package setup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/symphony-runner/symphony/internal/redact"
)

// The bounds of a pack. Each session copies all of it.
const (
	MaxFiles = 500_000
	MaxBytes = 4 << 30 // bytes of all files before compression
)

// maxText bounds the files in which the path of the folder is replaced, in bytes.
const maxText = 4 << 20

// ErrRefused says that a preparation made something that cannot be kept.
var ErrRefused = errors.New("setup_refused")

// Places are the folders of a preparation, or of a workspace that gets one: absolute paths.
type Places struct {
	Work string // path of the work tree
	Home string // path of the room's home
}

// Made is the result of a preparation, as it was found.
type Made struct {
	Places
	WorkTar, HomeTar io.Reader // archives with names relative to each place
	Secrets          []string  // values that only the script may know
}

// Content is a summary of a pack.
type Content struct {
	Files int
	Bytes int64 // bytes before compression
}

// Save makes the pack of a key. The errors are [ErrRefused] and [ErrFolder].
func (f Folder) Save(key Key, made Made) (Content, error) {
	if !key.isSound() {
		return Content{}, fmt.Errorf("keep the preparation: %q is no key", key)
	}
	s := saver{made: made, secrets: redact.NewSearch(made.Secrets...)}
	err := f.write(key, s.write)
	if err != nil && !errors.Is(err, ErrRefused) {
		err = fmt.Errorf("%w: %w", ErrFolder, err)
	}
	if err != nil {
		return Content{}, fmt.Errorf("keep the preparation: %w", err)
	}
	return s.Content, nil
}

// saver writes one pack.
type saver struct {
	made    Made
	secrets *redact.Search
	out     *tar.Writer
	Content
}

func (s *saver) write(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	s.out = tar.NewWriter(z)
	err = s.copy(workPrefix, s.made.WorkTar)
	if err == nil {
		err = s.copy(homePrefix, s.made.HomeTar)
	}
	return errors.Join(err, s.out.Close(), z.Close())
}

// The first element of the names in a pack.
const (
	workPrefix = "work/"
	homePrefix = "home/"
)

// moved is the record of an entry whose content has marks.
const moved = "SYMPHONY.moved"

// The marks in the place of a path. They are no text that a tool would write.
const (
	workMark = "\x1asymphony-work\x1a"
	homeMark = "\x1asymphony-home\x1a"
)

// copy checks the entries of a stream and writes them with a prefix.
func (s *saver) copy(prefix string, from io.Reader) error {
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: the list of its files cannot be read: %w", ErrRefused, err)
		}
		err = s.entry(prefix, h, in)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: the list of its files is cut off: %w", ErrRefused, err)
		}
		if err != nil {
			return err
		}
	}
}

func (s *saver) entry(prefix string, h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	if name == "." {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %q %s", ErrRefused, name, fmt.Sprintf(format, args...))
	}
	if err := checkName(prefix, name); err != nil {
		return refuse("%v", err)
	}
	clean := &tar.Header{Typeflag: h.Typeflag, Name: prefix + name, Mode: h.Mode&0o777 | 0o600, ModTime: h.ModTime, Size: h.Size, Format: tar.FormatPAX}
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeDir:
		clean.Name += "/"
		clean.Mode, clean.Size = clean.Mode|0o700, 0
	case tar.TypeSymlink:
		clean.Linkname, clean.Size = h.Linkname, 0
		if link := s.mark([]byte(h.Linkname)); link != nil {
			clean.Linkname, clean.PAXRecords = string(link), map[string]string{moved: "1"}
		}
		if strings.Contains(h.Linkname, "\x1a") {
			return refuse("is a link with a control character")
		}
	case tar.TypeLink:
		target := path.Clean(h.Linkname)
		if err := checkName(prefix, target); err != nil {
			return refuse("is a link to %q, which %v", target, err)
		}
		clean.Linkname, clean.Size = prefix+target, 0
	default: // sockets, pipes and devices mean nothing to another session
		return nil
	}
	if s.Files++; s.Files > MaxFiles {
		return fmt.Errorf("%w: it made more than %d files: keep fewer (setup.keep)", ErrRefused, MaxFiles)
	}
	if s.Bytes += clean.Size; s.Bytes > MaxBytes {
		return fmt.Errorf("%w: it made more than %d bytes: keep less (setup.keep)", ErrRefused, int64(MaxBytes))
	}
	return s.file(clean, content)
}

// checkName returns an error, to be put behind the name, unless a name stays below its folder
// and is no file of git's own.
func checkName(prefix, name string) error {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case path.IsAbs(name), first == "..":
		return errors.New("leads out of the folder")
	case strings.ContainsAny(name, "\x00\x1a"):
		return errors.New("has a control character in its name")
	case prefix == workPrefix && strings.EqualFold(first, ".git"):
		return errors.New("is a part of git's own folder")
	}
	return nil
}

func (s *saver) file(h *tar.Header, content io.Reader) error {
	body := content
	s.secrets.Reset()
	if h.Typeflag == tar.TypeReg && h.Size <= maxText {
		text, err := io.ReadAll(io.LimitReader(content, maxText+1))
		if err != nil {
			return err
		}
		if marked := s.mark(text); marked != nil {
			h.PAXRecords, text = map[string]string{moved: "1"}, marked
			h.Size = int64(len(text))
		}
		body = bytes.NewReader(text)
	}
	if err := s.out.WriteHeader(h); err != nil {
		return fmt.Errorf("%w: %q cannot be kept: %w", ErrRefused, h.Name, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if _, err := io.Copy(io.MultiWriter(s.out, s.secrets), body); err != nil {
		return err
	}
	if s.secrets.Found() {
		_, name, _ := strings.Cut(h.Name, "/")
		return fmt.Errorf("%w: %q holds the value of a variable of setup.env, which each agent would read: have the script remove it", ErrRefused, name)
	}
	return nil
}

// mark returns a text with marks in the place of the folders; nil if it names neither, or is no
// text.
func (s *saver) mark(text []byte) []byte {
	if !bytes.Contains(text, []byte(s.made.Work)) && !bytes.Contains(text, []byte(s.made.Home)) || bytes.ContainsAny(text, "\x00\x1a") {
		return nil
	}
	text = bytes.ReplaceAll(text, []byte(s.made.Home), []byte(homeMark)) // it may be below the other
	return bytes.ReplaceAll(text, []byte(s.made.Work), []byte(workMark))
}
