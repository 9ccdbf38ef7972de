package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
)

// Key identifies a pack: 64 hexadecimal digits.
type Key string

// Recipe is everything that decides the content of a pack.
type Recipe struct {
	Script  string
	Hosts   []string          // hosts that the script reaches
	Env     []string          // names of the variables that the script sees
	Keep    []string          // setup.keep
	Inputs  map[string]string // the objects of the files of the base that count, by their paths
	Tools   []string          // the programs of the machine: path, size and time of each
	Private bool              // setup.network_private
	Full    bool              // setup.network_mode
}

// format is the version of the packs and of how they are made. Another one is another key.
const format = 1

// Key returns the key of the packs of the recipe on this system.
func (r Recipe) Key() Key {
	text, _ := json.Marshal([]any{format, runtime.GOOS, runtime.GOARCH, r}) // strings and maps of them always marshal
	sum := sha256.Sum256(text)
	return Key(hex.EncodeToString(sum[:]))
}

// isSound reports whether a key can be the name of a file.
func (k Key) isSound() bool {
	raw, err := hex.DecodeString(string(k))
	return err == nil && len(raw) == sha256.Size
}
