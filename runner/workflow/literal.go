package workflow

import (
	"bytes"
	"slices"
	"sync"

	"github.com/symphony-runner/symphony/runner/redact"
)

// tokens finds the usual shapes of tokens.
var tokens = sync.OnceValue(func() *redact.Redactor { return redact.New() })

// warnOfLiterals warns of credentials that stand in the file itself, where
// everybody who can read the repository has them (SPEC §15.3). No warning shows
// one.
func (d *draft) warnOfLiterals(content []byte) {
	const limit = 5
	var lines []int
	for _, v := range []value{d.written["tracker."+secret], d.provider[secret]} {
		if _, isReference := reference(v.raw); v.raw != nil && v.raw != "" && !isReference {
			lines = append(lines, v.line)
			d.warn("%s on line %d is the credential itself: set an environment variable to it, write $NAME here, and replace the credential, which everybody who reads the file has", v.key, v.line)
		}
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if text := string(line); slices.Contains(lines, number) || tokens().String(text) == text {
			continue
		}
		lines = append(lines, number)
		if len(lines) > limit {
			return
		}
		d.warn("line %d looks as if it held a credential: pass it in an environment variable, and replace it if it is one", number)
	}
}
