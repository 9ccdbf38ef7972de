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

// sealing returns what seals threads with a key that is derived from a secret of the
// shards. The secret is long and random, so it cannot be guessed from what is sealed.
func sealing(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "symphony thread 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// context returns what a sealed thread is bound to: it opens for its issue only.
func (t thread) context() []byte { return fmt.Appendf(nil, "%s %s", t.name, t.issue) }

// pack returns a rollout, packed and sealed, in at most limit bytes.
func (t thread) pack(rollout io.Reader, secret string, limit int) ([]byte, error) {
	seal, err := sealing(secret)
	if err != nil {
		return nil, err
	}
	packed := &boundedBuffer{limit: limit - seal.Overhead()}
	packer := gzip.NewWriter(packed)
	_, err = io.Copy(packer, io.LimitReader(rollout, attempt.MaxRollout))
	if err = errors.Join(err, packer.Close()); err != nil {
		return nil, err
	}
	return seal.Seal(nil, nil, packed.Bytes(), t.context()), nil
}

// unpack returns a reader of the rollout in a packed and sealed thread. How much it
// reads is not bounded.
func (t thread) unpack(data []byte, secret string) (io.Reader, error) {
	seal, err := sealing(secret)
	if err != nil {
		return nil, err
	}
	packed, err := seal.Open(nil, nil, data, t.context())
	if err != nil {
		return nil, errors.New("it was not sealed for this issue with the key of this account")
	}
	return gzip.NewReader(bytes.NewReader(packed))
}

// boundedBuffer is a buffer that fails with what exceeds its limit.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("packed it is larger than %d bytes", b.limit)
	}
	return b.Buffer.Write(p)
}
