package fleet

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/symphony-runner/symphony/runner/attempt"
)

// threadCipher returns the cipher that seals threads, with a key that is derived from a
// secret of the shards. The secret has to be long and random: otherwise somebody could guess
// it and test the guess on a sealed thread.
func threadCipher(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "symphony thread 2", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// binding returns the additional data that a sealed thread is authenticated with. The thread
// can be opened for its own issue only, and as the one of its own session: the next one
// cannot leave an old thread in its place.
func (t thread) binding() []byte { return fmt.Appendf(nil, "%s %d %s", t.name, t.sessions, t.issue) }

// pack returns the rollout of the thread compressed and sealed. It fails if that takes more
// than limit bytes.
func (t thread) pack(rollout io.Reader, secret string, limit int) ([]byte, error) {
	seal, err := threadCipher(secret)
	if err != nil {
		return nil, err
	}
	packed := &boundedBuffer{limit: limit - seal.Overhead()}
	packer := gzip.NewWriter(packed)
	_, err = io.Copy(packer, io.LimitReader(rollout, attempt.MaxRollout))
	if err = errors.Join(err, packer.Close()); err != nil {
		return nil, err
	}
	return seal.Seal(nil, nil, packed.Bytes(), t.binding()), nil
}

// unpack opens a packed thread and returns a reader of its rollout. The caller has to bound
// how much it reads.
func (t thread) unpack(data []byte, secret string) (io.Reader, error) {
	seal, err := threadCipher(secret)
	if err != nil {
		return nil, err
	}
	packed, err := seal.Open(nil, nil, data, t.binding())
	if err != nil {
		return nil, errors.New("it was not sealed for this session of this issue with the same secret")
	}
	return gzip.NewReader(bytes.NewReader(packed))
}

// boundedBuffer is a buffer that refuses a write which would exceed its limit in bytes.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("it is larger than %d bytes when packed", b.limit)
	}
	return b.Buffer.Write(p)
}
