package wiring

import (
	"context"
	"math"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Interrupts counts the signals that end the program, and the key that does the same.
// The first one ends the run gracefully. The second one kills everything that the run
// started: then its claims are saved, which takes a moment. A run that does not end even
// then is given up.
type Interrupts struct {
	end    context.CancelFunc // ends the context of the program
	Killed chan struct{}      // closed by the second one

	mu                sync.Mutex
	count             int
	onEnd, onceKilled func()
	release           func() // gives the signals back to the system; nil while none is watched
	Quit              func() // ends the process at once; nil for never
	GiveUp            func() // ends the process of a killed run that has not ended after killTime; nil for never
}

// KillTime is more than a killed run takes to save its claims and to report. Only a call that
// nothing can interrupt takes longer, such as a read of a file system that does not answer.
const KillTime = 20 * time.Second

// NewInterrupts returns a context that the first interruption ends.
func NewInterrupts(parent context.Context) (context.Context, *Interrupts) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, &Interrupts{end: cancel, Killed: make(chan struct{})}
}

// Watch interrupts at each signal. The signal after the second one ends the process at
// once. SIGHUP, which says that the terminal is gone, ends the run, but never kills it:
// the kernel and the shell both send it. It stays ignored where nohup ignores it. SIGQUIT
// counts as two signals: otherwise Go would end the process and leave its children. With
// dumps it does that, and prints the goroutines.
func (i *Interrupts) Watch(dumps bool) {
	quits := make(chan os.Signal, 1)
	if !dumps {
		signal.Notify(quits, syscall.SIGQUIT)
	}
	go func() {
		for range quits {
			go i.kill()
		}
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	i.mu.Lock()
	i.release = func() { signal.Stop(signals) }
	i.mu.Unlock()
	go func() {
		for sig := range signals {
			if sig == syscall.SIGHUP {
				go i.hangUp()
			} else {
				go i.Interrupt() // a terminal that takes nothing may hold it up
			}
		}
	}()
}

// OnEach sets the functions that the first interruption calls before anything else, and the
// second one. They may block: then a further signal still ends the process.
func (i *Interrupts) OnEach(ended, killed func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.onEnd, i.onceKilled = ended, killed
}

// Interrupt ends or kills the run. It returns the number of interruptions so far.
func (i *Interrupts) Interrupt() int { return i.interruptUpTo(math.MaxInt) }

// kill kills the run. If that was done, it ends the process.
func (i *Interrupts) kill() {
	i.mu.Lock()
	count, quit := i.count, i.Quit
	i.mu.Unlock()
	if count >= 2 && quit != nil {
		quit()
	}
	i.interruptUpTo(1)
	i.interruptUpTo(2)
}

// hangUp ends the run, unless it is being ended.
func (i *Interrupts) hangUp() { i.interruptUpTo(1) }

// interruptUpTo interrupts, unless most interruptions were counted. It returns their number.
func (i *Interrupts) interruptUpTo(most int) int {
	i.mu.Lock()
	if i.count >= most {
		defer i.mu.Unlock()
		return i.count
	}
	i.count++
	count, onEnd, onceKilled, release, giveUp := i.count, i.onEnd, i.onceKilled, i.release, i.GiveUp
	i.mu.Unlock()
	call := func(f func()) {
		if f != nil {
			f()
		}
	}
	switch count {
	case 1:
		call(onEnd)
		i.end()
	case 2:
		call(release)
		if giveUp != nil {
			time.AfterFunc(KillTime, giveUp)
		}
		i.end() // the first one may be held up
		close(i.Killed)
		call(onceKilled)
	}
	return count
}
