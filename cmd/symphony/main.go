package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// gcPercent is GOGC unless the environment sets it. The live heap has a few megabytes; 400 lets it
// reach 16 MB before a collection.
const gcPercent = 400

// wantsDumps reports whether a developer asks for the goroutines when Ctrl-\ ends the program.
// Go always prints them at a fatal error, such as no memory: nothing keeps it from that.
func wantsDumps(getenv func(string) string) bool { return getenv("GOTRACEBACK") != "" }

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, interrupts := newInterrupts(context.Background())
	interrupts.giveUp = func() {
		fmt.Fprintf(os.Stderr, "symphony: the run did not end within %v after it was killed: something that it waits for does not answer; the next run takes over its claims\n", killTime)
		os.Exit(exitInterrupted)
	}
	interrupts.quit = func() { os.Exit(exitInterrupted) }
	interrupts.watch(wantsDumps(os.Getenv))
	// This goroutine keeps the first thread, so that no session starts there: the kernel makes orphans
	// its children, and the end of each session looks for them.
	runtime.LockOSThread()
	status := make(chan int)
	go func() {
		status <- run(ctx, process{
			args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr, stdin: os.Stdin, interrupts: interrupts,
		})
	}()
	os.Exit(<-status)
}
