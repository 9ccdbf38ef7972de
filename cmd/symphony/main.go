package main

import (
	"context"
	"os"
	"runtime/debug"
)

// gcPercent is GOGC unless the environment sets it. What the program holds is a few
// megabytes, which the default would collect at every four: with this, garbage grows
// to 16 MB.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, interrupts := newInterrupts(context.Background())
	interrupts.watch()
	os.Exit(run(ctx, process{
		args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr, stdin: os.Stdin, interrupts: interrupts,
	}))
}
