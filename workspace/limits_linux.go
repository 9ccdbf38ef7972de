package workspace

const limitProcesses = 6 // RLIMIT_NPROC, which syscall does not name
