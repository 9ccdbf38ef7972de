package action

import "strings"

// minMask is the shortest text, in bytes, that is worth masking: less would be
// found, and masked, all over the log.
const minMask = 6

// Mask asks the runner to hide a secret in the log, before anything that may
// hold it is printed. The runner hides within lines, so each line of the secret
// is masked by itself; those shorter than 6 bytes are not. Asking again prints
// nothing. Outside Actions nothing is printed at all.
func (r *Runtime) Mask(secret string) {
	if !r.inActions {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range strings.FieldsFunc(secret, isLineEnd) {
		line = strings.TrimSpace(line)
		if len(line) < minMask || r.masked[line] {
			continue
		}
		r.masked[line] = true
		r.command(func() { r.lib.AddMask(line) })
	}
}
