package runner

import "sync"

// tasks runs long work beside the loop. A task sends its result as a message.
type tasks struct {
	inbox chan message
	over  chan struct{} // closed when nobody reads the inbox any more
	wg    sync.WaitGroup
}

func newTasks() tasks { return tasks{inbox: make(chan message), over: make(chan struct{})} }

// message is the result of a session or of another task. The loop applies it by calling
// applyTo.
type message interface{ applyTo(*loop) }

// send passes a message to the loop. After the end of the run nobody learns of it.
func (t *tasks) send(m message) {
	select {
	case t.inbox <- m:
	case <-t.over:
	}
}
