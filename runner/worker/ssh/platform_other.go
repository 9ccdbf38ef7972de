//go:build unix && !linux

package ssh

import "os"

// ownProgram returns the path of the executable of this process.
func ownProgram() (string, error) { return os.Executable() }
