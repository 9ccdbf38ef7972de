//go:build unix && !linux

package git

import "context"

// ownMark returns a variable for the children of this process.
func (e *engine) ownMark() string { return "SYMPHONY_GIT=" + e.dir }

// endLeft does nothing: there is no /proc in which to find processes.
func (e *engine) endLeft(context.Context) {}
