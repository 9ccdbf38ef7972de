//go:build !linux

package workspace

// Programs returns nothing: this system has no list of what a process runs.
func (p *Process) Programs() []string { return nil }
