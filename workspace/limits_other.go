//go:build unix && !linux

package workspace

const limitProcesses = 7 // RLIMIT_NPROC of the BSDs and macOS, which syscall does not name
