package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts counts the signals that end the program, and the key that does the same.
// The first one ends the run gracefully. The second one kills everything that the run
// started: then its claims are saved, which takes a moment.
type interrupts struct {
	end    context.CancelFunc // of the context of the program
	killed chan struct{}      // closed by the second one

	mu                sync.Mutex
	count             int
	onEnd, onceKilled func()
}

// newInterrupts returns a context that the first interruption ends.
func newInterrupts(parent context.Context) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, &interrupts{end: cancel, killed: make(chan struct{})}
}

// watch interrupts at each signal. The signal after the second one ends the process at
// once.
func (i *interrupts) watch() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for range signals {
			if i.interrupt() > 1 {
				signal.Stop(signals)
				return
			}
		}
	}()
}

// onEach sets what is called, before anything else, by the first interruption and by the
// second one.
func (i *interrupts) onEach(ended, killed func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.onEnd, i.onceKilled = ended, killed
}

// interrupt ends or kills the run. It returns how often it was called.
func (i *interrupts) interrupt() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	call := func(f func()) {
		if f != nil {
			f()
		}
	}
	switch i.count++; i.count {
	case 1:
		call(i.onEnd)
		i.end()
	case 2:
		close(i.killed)
		call(i.onceKilled)
	}
	return i.count
}
