package pictures

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// The bounds of a picture and of all pictures of a prompt.
const (
	maxPictures = 10
	MaxReads    = 50      // pictures that are asked for, also in vain
	MaxBytes    = 5 << 20 // bytes of one picture
	maxAllBytes = 20 << 20
	// maxPixels bounds what is decoded. A JPEG in many passes takes 15 bytes for each.
	maxPixels = 25_000_000
)

// format is a kind of file that is taken.
type format struct {
	name, magic string
	config      func(io.Reader) (image.Config, error)
	decode      func(io.Reader) (image.Image, error)
}

// formats returns all of them. SVG is none: it is a program.
func formats() []format {
	return []format{
		{"PNG", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
		{"JPEG", "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode},
		{"GIF", "GIF8", gif.DecodeConfig, gif.Decode},
	}
}

// Check decodes a picture once, and returns the name of its format and its size. It looks at the
// size first, since a small file can be a picture of any size.
func Check(content []byte) (name string, size image.Point, err error) {
	for _, f := range formats() {
		if !bytes.HasPrefix(content, []byte(f.magic)) {
			continue
		}
		head, err := f.config(bytes.NewReader(content))
		size := image.Pt(head.Width, head.Height)
		switch {
		case err != nil:
			return "", size, fmt.Errorf("it is damaged: %w", err)
		case size.X < 1 || size.Y < 1 || size.X > maxPixels/size.Y:
			return "", size, fmt.Errorf("it has %d × %d pixels: at most %d million are taken", size.X, size.Y, maxPixels/1_000_000)
		}
		if _, err := f.decode(bytes.NewReader(content)); err != nil {
			return "", size, fmt.Errorf("it is damaged: %w", err)
		}
		return f.name, size, nil
	}
	return "", image.Point{}, errors.New("it is not a PNG, JPEG or GIF")
}
