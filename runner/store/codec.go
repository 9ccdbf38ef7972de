package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/symphony-runner/symphony/runner/schedule"
)

// Encode returns the stored form of the state, as this generation: indented JSON
// that ends in a newline, and always the same bytes for the same state. It cuts
// titles, reasons and other texts of strangers to their limits, and omits Self and
// Tick. It fails with [ErrInvalid] for a state that Decode would refuse.
func Encode(s *schedule.State, generation int64) ([]byte, error) {
	r := newRecord(s, generation)
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("encode state: %w: %w: release that claim (or some, if they are too many), or report this as a defect", ErrInvalid, err)
	}
	r.Checksum = blankChecksum
	var compact, out bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	out.Grow(2 * compact.Len())
	if err == nil {
		err = json.Indent(&out, compact.Bytes(), "", "  ") // an indenting encoder copies all of it several times
	}
	if err != nil {
		return nil, fmt.Errorf("encode state: %w: %w: report this as a defect", ErrInvalid, err)
	}
	if out.Len() > maxBytes {
		return nil, fmt.Errorf("encode state: %w: %d claims take %d bytes and %d are allowed: release some", ErrInvalid, len(r.Claims), out.Len(), maxBytes)
	}
	setChecksum(out.Bytes())
	return out.Bytes(), nil
}

// Decode returns the state and the generation in data. The caller sets Self and
// Tick. Decode is strict: it fails with [ErrNewer] for a newer version, and with
// [ErrUnreadable] for anything else that Encode cannot have written. It accepts an
// older version with fields of the current one.
func Decode(data []byte) (*schedule.State, int64, error) {
	switch {
	case len(data) == 0:
		return nil, 0, unreadable("it is empty")
	case len(data) > maxBytes:
		return nil, 0, unreadable("it is larger than the %d bytes allowed", maxBytes)
	case !utf8.Valid(data):
		return nil, 0, unreadable("it is not UTF-8 text")
	}
	var head struct {
		Version  int    `json:"version"`
		Checksum string `json:"checksum"`
	}
	if err := json.Unmarshal(data, &head); err != nil { // this also finds trailing data
		return nil, 0, unreadable("not a state: %w", err)
	}
	switch {
	case head.Version > version:
		return nil, 0, fmt.Errorf("%w: it has version %d and this program reads versions up to %d: nothing was changed: upgrade symphony, or end the runs that use the state and move it away to begin with no claims",
			ErrNewer, head.Version, version)
	case head.Version < oldest:
		return nil, 0, unreadable("not a state: there is no version %d", head.Version)
	case !checksumMatches(data, head.Checksum):
		return nil, 0, unreadable("it does not match its checksum: it was damaged, or edited by hand")
	}
	var r record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, 0, unreadable("%w", err)
	}
	if err := r.validate(); err != nil {
		return nil, 0, unreadable("%w", err)
	}
	return r.toState(), r.Generation, nil
}

const (
	checksumPrefix = "sha256:"
	// blankChecksum takes the place of the checksum while that is computed.
	blankChecksum = checksumPrefix + "0000000000000000000000000000000000000000000000000000000000000000"
)

// setChecksum writes the checksum of data in place of the blank one. The checksum
// covers every byte, its own as zeros. It detects damage, not forgery.
func setChecksum(data []byte) {
	sum := sha256.Sum256(data)
	if at := bytes.Index(data, []byte(blankChecksum)); at >= 0 {
		hex.Encode(data[at+len(checksumPrefix):], sum[:])
	}
}

func checksumMatches(data []byte, checksum string) bool {
	if len(checksum) != len(blankChecksum) {
		return false
	}
	again := bytes.Replace(data, []byte(checksum), []byte(blankChecksum), 1)
	setChecksum(again)
	return bytes.Equal(again, data)
}

// afterHead returns the rest of an encoded state after its first fields: the
// version, the generation and the checksum.
func afterHead(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte(`"claims":`))
	return rest
}
