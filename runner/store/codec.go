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

// Encode is the state at rest, as generation: indented JSON that ends in a
// newline, the same bytes for the same state. Titles, reasons and other texts
// of strangers are cut to their limits; Self and Tick are left out. What Decode
// would refuse is an [ErrInvalid].
func Encode(s *schedule.State, generation int64) ([]byte, error) {
	r := newRecord(s, generation)
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("encode state: %w: %w: release that claim (or some, if they are too many), or report this as a defect", ErrInvalid, err)
	}
	r.Checksum = unsealed
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode state: %w: %w: report this as a defect", ErrInvalid, err)
	}
	if out.Len() > maxBytes {
		return nil, fmt.Errorf("encode state: %w: %d claims take %d bytes and %d are allowed: release some", ErrInvalid, len(r.Claims), out.Len(), maxBytes)
	}
	return seal(out.Bytes()), nil
}

// Decode is the state and the generation that data holds, with Self and Tick
// left to the caller. It is strict: whatever has a newer version is [ErrNewer],
// and whatever Encode cannot have made is [ErrUnreadable]. An older version may
// have the fields of this one.
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
	if err := json.Unmarshal(data, &head); err != nil { // also when something follows it
		return nil, 0, unreadable("not a state: %w", err)
	}
	switch {
	case head.Version > version:
		return nil, 0, fmt.Errorf("%w: it has version %d and this program reads versions up to %d: nothing was changed: upgrade symphony, or move the state away to begin with no claims",
			ErrNewer, head.Version, version)
	case head.Version < oldest:
		return nil, 0, unreadable("not a state: there is no version %d", head.Version)
	case !sealed(data, head.Checksum):
		return nil, 0, unreadable("it does not match its checksum: it was damaged, or edited by hand")
	}
	var r record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, 0, unreadable("%w", err)
	}
	if err := r.check(); err != nil {
		return nil, 0, unreadable("%w", err)
	}
	return r.state(), r.Generation, nil
}

// unsealed stands where the checksum will be.
const (
	sumPrefix = "sha256:"
	unsealed  = sumPrefix + "0000000000000000000000000000000000000000000000000000000000000000"
)

// seal puts the checksum in its place, which it does by itself: every byte
// counts, those of the checksum as zeros. It finds damage, not forgery.
func seal(data []byte) []byte {
	sum := sha256.Sum256(data)
	return bytes.Replace(data, []byte(unsealed), []byte(sumPrefix+hex.EncodeToString(sum[:])), 1)
}

// sealed reports whether data is what seal made, with this checksum in it.
func sealed(data []byte, checksum string) bool {
	if len(checksum) != len(unsealed) {
		return false
	}
	blank := bytes.Replace(data, []byte(checksum), []byte(unsealed), 1)
	return bytes.Equal(seal(blank), data)
}

// body is what an encoded state says: all that follows its head, which holds
// numbers and the checksum alone.
func body(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte(`"claims":`))
	return rest
}
