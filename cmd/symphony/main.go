package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // a second signal ends the process at once
	os.Exit(run(ctx, process{
		args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr, stdin: os.Stdin,
	}))
}
